from __future__ import annotations

from pathlib import Path

import pytest

from citeproof.paths import exists, expand, is_file, is_folder
from citeproof.settings import ChromaSettings, EntailmentSettings, ModelSettings
from citeproof.tools.documents.files import find, find_gone
from tests.command import run
from tests.tools.documents.reading import read_file

NOBODY = Path("~nosuchuser/docs")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ann")
    return tmp_path


def test_what_is_nobodys_home_is_a_name_like_others(folder: Path) -> None:
    for path in (NOBODY, Path("~$report.docx")):
        assert expand(path) == path
        assert ChromaSettings(path=path).path == path
        assert ModelSettings(cache=path).cache == path
        assert EntailmentSettings(model=str(path)).model == str(path)
    Path("~$a.txt").write_text("Ann built the tower.")
    assert find([Path("~$a.txt")]).files == [folder / "~$a.txt"]
    assert read_file(Path("~$a.txt"))[0].text == "Ann built the tower."
    mark = str(folder / "~$b.txt")
    assert list(find_gone([mark], find([Path("~$b.txt")]))) == [mark]


LONG = "x" * 300


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["index", "--list", "--store"], 2),
        (["bank", "stats", "--store"], 2),
        (["bank", "export", "--store"], 2),
        (["models", "list", "--set", "models.cache="], 0),
    ],
)
def test_a_folder_that_may_not_be_looked_at_is_no_crash(arguments: list[str], code: int) -> None:
    *others, last = arguments
    arguments = [*others, f"{last}{LONG}"] if last.endswith("=") else [*arguments, LONG]
    run(arguments, code)


@pytest.mark.parametrize("name", [str(NOBODY), LONG])
@pytest.mark.parametrize(
    "arguments",
    [
        ["index", "--rebuild", "NAME"],
        ["ask", "Who?", "--docs", "NAME"],
        ["ask", "Who?", "--docs", "t.txt", "--html", "NAME/a.html"],
        ["check", "NAME", "--docs", "t.txt"],
        ["check", "t.txt", "--docs", "NAME"],
        ["check", "t.txt", "--docs", "t.txt", "--html", "NAME/a.html"],
        ["entail", "NAME"],
        ["entail", "p.jsonl", "--out", "NAME/o.jsonl"],
        ["eval", "--data", "NAME", "--out", "o"],
        ["eval", "--sweep", "NAME", "--out", "o"],
        ["score", "NAME"],
        ["report", "NAME"],
        ["trace", "NAME"],
        ["graph", "vtg", "-o", "NAME/a.svg"],
        ["bank", "import", "NAME"],
    ],
)
def test_a_name_that_leads_nowhere_is_told(name: str, arguments: list[str]) -> None:
    Path("t.txt").write_text("Ann built the tower.")
    Path("p.jsonl").write_text('{"premise": "a", "hypothesis": "b"}\n')
    result = run([own.replace("NAME", name) for own in arguments], code=2)
    assert isinstance(result.exception, SystemExit)


def test_what_may_not_be_looked_at_is_not_there(folder: Path) -> None:
    for path in (Path(LONG), Path(LONG, "a")):
        assert not any(look(path) for look in (exists, is_file, is_folder))
    assert exists(folder)
    assert is_folder(folder)
    assert not is_file(folder)
