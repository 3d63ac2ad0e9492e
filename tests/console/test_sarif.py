"""`citeproof check --sarif` and `--fail-on`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console
from typer.testing import CliRunner

from citeproof import cli
from citeproof.settings import Settings
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Score

run = CliRunner().invoke

BUILT = "Ann Lee built the tower in 1871."
KEPT = "Bo Ray kept the light for thirty years."
LETTER = f"""# Dear reader

{BUILT[:-1]} [1].
It says: {KEPT[:-1]} [1]. Geese
fly over it [7].

Ann Lee built the tower in 1999. {KEPT}
"""


def an_object(*required: str, others: bool = False, **properties: Any) -> dict[str, Any]:
    """The schema of an object; `others` says whether it may have further properties."""
    return {
        "type": "object",
        "required": [*required],
        "properties": properties,
        "additionalProperties": others,
    }


def a_list(items: Any, *, unique: bool = False) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items, "uniqueItems": unique}


LEVEL: Any = {"enum": ["none", "note", "warning", "error"]}
POSITIVE: Any = {"type": "integer", "minimum": 1}
TEXT = an_object("text", others=True, text={"minLength": 1})
LOCATION = an_object(
    "physicalLocation",
    id={"type": "integer", "minimum": 0},
    message=TEXT,
    physicalLocation=an_object(
        "artifactLocation",
        artifactLocation=an_object("uri", uri={"type": "string", "pattern": r"^[^\s\\]+$"}),
        region=an_object(
            "startLine",
            **dict.fromkeys(["startLine", "startColumn", "endLine", "endColumn"], POSITIVE),
        ),
    ),
)
RULE = an_object(
    "id",
    others=True,
    shortDescription=TEXT,
    defaultConfiguration={"properties": {"level": LEVEL}},
)
RESULT = an_object(
    "message",
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=TEXT,
    locations=a_list(LOCATION),
    relatedLocations=a_list(LOCATION, unique=True),
)
DRIVER = an_object("name", others=True, rules=a_list(RULE, unique=True))
RUN = an_object(
    "tool",
    tool=an_object("driver", others=True, driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=a_list(RESULT),
    properties={"type": "object"},
)
FILE: Any = {
    "version": {"const": "2.1.0"},
    "runs": a_list(RUN),
    "$schema": {"type": "string", "format": "uri"},
}
SARIF = an_object("version", "runs", **FILE)
"""What the published schema of SARIF 2.1.0 says of the properties that are written."""


@pytest.fixture(autouse=True)
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter, documents, and an entailment model that goes by the words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a b.md").write_text(f"{BUILT}\n", "utf-8")
    (tmp_path / "docs/c.txt").write_text(KEPT, "utf-8")
    (tmp_path / "letter.md").write_text(LETTER, "utf-8")

    def score(premise: str, claim: str) -> float:
        if "1999" in claim:
            return Score(0.01, contradiction=0.98) if "1871" in premise else 0.1
        return 0.97 if claim.removeprefix("It says: ") in premise else 0.1

    @contextmanager
    def verifier(settings: Settings, console: Console) -> Iterator[TableEntailment]:
        yield TableEntailment(score)

    monkeypatch.setattr("citeproof.console.verifier.open_verifier", verifier)


def sarif(*more: str) -> Any:
    result = run(cli.app, ["check", "letter.md", "--docs", "docs", "--sarif", "out.sarif", *more])
    assert "SARIF: out.sarif" in result.stdout
    found = json.loads(Path("out.sarif").read_text("utf-8"))
    jsonschema.validate(found, SARIF, format_checker=jsonschema.FormatChecker())
    return found


def test_each_sentence_that_fails_is_a_result_at_its_place() -> None:
    [own] = sarif()["runs"]
    rules = [rule["id"] for rule in own["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    lines = LETTER.split("\n")
    seen = []
    for result in own["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        [location] = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "letter.md"}
        at = place["region"]
        part = "\n".join(lines[at["startLine"] - 1 : at["endLine"]])
        last = len(part) - len(lines[at["endLine"] - 1]) + at["endColumn"] - 1
        seen.append((result["ruleId"], result["level"], part[at["startColumn"] - 1 : last]))
    assert seen == [
        ("misattributed", "warning", f"It says: {KEPT[:-1]} [1]."),
        ("unsupported", "warning", "Geese\nfly over it [7]."),
        ("invalid-citation", "error", "Geese\nfly over it [7]."),
        ("contradicted", "error", "Ann Lee built the tower in 1999."),
        ("uncited", "note", KEPT),
    ]


def test_what_the_documents_say_is_told_with_its_file() -> None:
    results = {one["ruleId"]: one for one in sarif()["runs"][0]["results"]}
    [against] = results["contradicted"]["relatedLocations"]
    assert against["physicalLocation"]["artifactLocation"]["uri"] == "docs/a%20b.md"
    assert BUILT in against["message"]["text"]
    [support] = results["misattributed"]["relatedLocations"]
    assert support["physicalLocation"]["artifactLocation"]["uri"] == "docs/c.txt"
    assert "relatedLocations" not in results["unsupported"]
    assert results["unsupported"]["message"]["text"].startswith("Not supported by anything found")


def test_a_file_that_is_elsewhere_has_an_address(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    run(cli.app, ["check", "../letter.md", "--docs", "../docs", "--sarif", "x.sarif"])
    [own] = json.loads(Path("x.sarif").read_text("utf-8"))["runs"]
    place = own["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("file:///")


def test_a_text_without_faults_has_no_results() -> None:
    Path("letter.md").write_text(f"{BUILT[:-1]} [1].", "utf-8")
    assert sarif()["runs"][0]["results"] == []


@pytest.mark.parametrize(
    ("text", "fail_on", "code"),
    [
        (f"{BUILT[:-1]} [1].", "unsupported", 0),
        (KEPT, "unsupported", 0),
        (f"{KEPT[:-1]} [1].", "unsupported", 0),
        ("Geese fly.", "unsupported", 1),
        ("Geese fly.", "contradicted", 0),
        ("Ann Lee built the tower in 1999.", "contradicted", 1),
        ("Ann Lee built the tower in 1999.", "unsupported", 1),
    ],
)
def test_the_exit_code_is_that_of_the_verdict_that_is_named(
    text: str, fail_on: str, code: int
) -> None:
    Path("letter.md").write_text(text, "utf-8")
    options = ["--docs", "docs", "--fail-on", fail_on]
    assert run(cli.app, ["check", "letter.md", *options]).exit_code == code
    assert run(cli.app, ["check", "letter.md", *options, "--no-fail"]).exit_code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["letter.md", "--fail-on", "wrong"], "--fail-on cannot be 'wrong'"),
        (["-", "--sarif", "x.sarif"], "--sarif needs a file to check"),
        (["letter.md", "--sarif", "letter.md"], "would be lost"),
        (["letter.md", "--sarif", "docs/c.txt"], "would be lost"),
        (["letter.md", "--sarif", "nowhere/x.sarif"], "there is no folder"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_read(options: list[str], said: str) -> None:
    result = run(cli.app, ["check", *options, "--docs", "docs"], input=KEPT)
    assert result.exit_code == 2
    assert said in result.stderr
    assert Path("letter.md").read_text("utf-8") == LETTER
