"""A text by someone else against documents: `citeproof check`."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from citeproof import CheckReport, check
from citeproof.console.check import show
from citeproof.console.page import render_check
from citeproof.errors import DocumentError
from citeproof.memory.index import Index
from citeproof.settings import Settings
from citeproof.testing import TableEntailment, passage
from citeproof.tools.citations.passage_numbers import read_numbered
from citeproof.tools.entailment import Score
from citeproof.types import CheckCounts, CheckedSentence, Passage, QuotedPassage
from tests.command import run
from tests.console.test_page import EVIL, SEEN, Page, assert_harmless
from tests.memory.fakes import WordEmbeddings

BUILT = "Ann Lee built the tower in 1871."
KEPT = "Bo Ray kept the light for thirty years."


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verify_with: Any) -> TableEntailment:
    """What says that a premise entails the sentences that it holds, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    model = TableEntailment(lambda premise, claim: 0.97 if claim in premise else 0.02)
    verify_with(model)
    return model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(f"# Tower\n\n{BUILT} It is white.\n", "utf-8")
    (docs / "b.txt").write_text("")
    (docs / "c.txt").write_text(KEPT, "utf-8")
    (docs / "d.xyz").write_bytes(b"x")
    return docs


def jsonl(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_a_folder_gives_each_file_a_number(folder: Path) -> None:
    Path("t.md").write_text(f"{BUILT} [1] {KEPT} [1] Geese fly [7].\n", "utf-8")
    result = run(["check", "t.md", "--docs", str(folder)], code=1)
    assert result.stdout.splitlines() == [
        f"✓ {BUILT} [1]",
        "    supported by what it cites, score 0.97",
        f"    [1] Tower ({folder / 'a.md'})",
        f"        “{BUILT}”",
        f"≠ {KEPT} [1]",
        "    supported, but not by what it cites, score 0.97",
        f"    [3] c ({folder / 'c.txt'})",
        f"        “{KEPT}”",
        "✗ Geese fly. [7]",
        "    not supported by anything found",
        "    invalid citations: [7]",
        "",
        "invalid citations: [7]",
        "1 of 3 sentences supported by what they cite (citation recall 33%) · 1 supported · "
        "1 misattributed · 0 uncited · 0 contradicted · 1 unsupported · 0 unchecked",
    ]
    assert "b.txt is empty" in result.stderr
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (f"{BUILT} [1]", [], 0),
        (f"# Tower\n\n{BUILT} [1] Who was she?", [], 0),
        (BUILT, [], 1),
        (BUILT, ["--no-fail"], 0),
        (f"{BUILT} [3]", [], 1),
        ("Geese fly.", [], 1),
        ("Geese fly.", ["--no-fail", "--json"], 0),
        ("# Nothing but a heading", [], 0),
    ],
)
def test_the_exit_code_says_whether_all_is_supported(
    folder: Path, text: str, options: list[str], code: int
) -> None:
    result = run(["check", "-", "--docs", str(folder), *options], input=text)
    assert result.exit_code == code, result.output


def test_json_is_the_report_and_nothing_else(folder: Path) -> None:
    (folder / "b.txt").unlink()
    arguments = ["check", "-", "--docs", str(folder), "--json", "--html", "r.html"]
    result = run(arguments, input=f"{BUILT} [1] {KEPT}")
    report = CheckReport.model_validate_json(result.stdout)
    assert [one.verdict for one in report.sentences] == ["supported", "uncited"]
    assert report.sentences[1].support[0].number == 2
    assert report.citation_recall == 0.5
    assert result.stderr == ""
    assert BUILT in Path("r.html").read_text("utf-8")


def test_documents_in_several_places_are_numbered_on(folder: Path) -> None:
    other = str(jsonl(Path("d.jsonl"), {"text": "Geese fly."}, {"text": "Rams swim."}))
    text = f"{BUILT} [1] {KEPT} [3] Geese fly [4]. Rams swim [5]."
    arguments = ["check", "-", "--docs", str(folder), "--docs", other]
    run(arguments, input=text, code=0)
    Path("d.jsonl").rename(folder / "a.jsonl")
    run(arguments[:4], input=text, code=1)  # there it is the first file


@pytest.fixture
def indexed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(
        "citeproof.models.embedder.load_embedder", lambda *_, **__: WordEmbeddings()
    )
    settings = Settings()
    index = Index.open(settings.chroma, settings.retriever, WordEmbeddings())
    index.update([folder])
    index.close()
    return folder


@pytest.mark.usefixtures("indexed")
def test_without_documents_the_index_proves() -> None:
    result = run(["check", "-"], input=f"{BUILT} [1] {KEPT}", code=0)
    assert result.stdout.splitlines()[:2] == [
        f"+ {BUILT}",
        "    supported, but cites nothing, score 0.97",
    ]
    assert "2 of 2 sentences supported by what was found" in result.stdout
    assert "The citations are not checked: indexed documents have no numbers." in result.stderr
    run(["check", "-"], input=f"{BUILT} Geese fly.", code=1)


@pytest.mark.usefixtures("indexed")
def test_a_text_too_long_for_a_server_is_checked_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeproof.console.checking._LONGEST", 20)
    monkeypatch.setattr("citeproof.console.checking.find_server", lambda _: pytest.fail("sent"))
    run(["check", "-"], input=BUILT, code=0)


@pytest.mark.usefixtures("indexed")
def test_documents_and_the_index_prove_together() -> None:
    other = str(jsonl(Path("d.jsonl"), {"text": "Geese fly."}))
    text = f"Geese fly [1]. {BUILT} [1]"
    arguments = ["check", "-", "--docs", other, "--json"]
    alone = CheckReport.model_validate_json(run(arguments, input=text).stdout)
    assert [one.verdict for one in alone.sentences] == ["supported", "unsupported"]
    result = run([*arguments, "--store", ".citeproof"], input=text)
    both = CheckReport.model_validate_json(result.stdout)
    assert [one.verdict for one in both.sentences] == ["supported", "misattributed"]


def test_without_documents_and_index_there_is_nothing_to_prove_with() -> None:
    result = run(["check", "-"], input=BUILT, code=2)
    assert "There are no documents in the index .citeproof" in result.stderr
    assert not Path(".citeproof").exists()


def test_what_is_contradicted_looks_other_than_what_is_unknown() -> None:
    said = (
        CheckedSentence(text="It is black.", paragraph=1, verdict="contradicted", score=0.1),
        CheckedSentence(text="Geese fly.", paragraph=1, verdict="unsupported", score=0.1),
    )
    counts = CheckCounts(contradicted=1, unsupported=1)
    report = CheckReport(
        sentences=said, counts=counts, citation_recall=0.0, model="m", threshold=0.5
    )
    written = io.StringIO()
    show(report, Console(file=written, force_terminal=True, width=80, color_system="standard"))
    lines = written.getvalue().splitlines()
    assert "\x1b[1;31m⊘" in lines[0]
    assert "contradicted by what was found" in lines[1]
    assert "\x1b[1;33m✗" in lines[2]
    assert "not supported by anything found" in lines[3]


def test_lines_of_passages_keep_their_numbers() -> None:
    docs = jsonl(
        Path("d.jsonl"),
        {"text": BUILT, "title": "Tower", "source": "https://example.org/t"},
        {"text": " "},
        {"text": KEPT, "id": "bo"},
        {"text": KEPT, "id": "bo"},
    )
    docs.write_text(docs.read_text().replace("\n", "\n\n", 1))
    for number, code in ((3, 0), (4, 0), (2, 1), (5, 1)):
        result = run(["check", "-", "--docs", "d.jsonl"], input=f"{KEPT} [{number}]")
        assert result.exit_code == code, number
        assert ("invalid citations: [5]" in result.stdout) == (number == 5)
    result = run(["check", "-", "--docs", "d.jsonl"], input=f"{BUILT} [1]")
    assert "    [1] Tower (https://example.org/t)\n" in result.stdout


def test_k_is_how_many_others_are_tried(table: TableEntailment) -> None:
    jsonl(Path("d.jsonl"), *({"text": f"Geese fly, says {n}."} for n in range(9)))
    for k in ("1", "4"):
        table.pairs.clear()
        run(["check", "-", "--docs", "d.jsonl", "--k", k], input="Geese fly.")
        assert len(table.pairs) == int(k)


@pytest.mark.parametrize(
    ("text", "docs", "message"),
    [
        ("t.md", "docs", "t.md cannot be read: there is no such file."),
        ("docs/b.txt", "docs", "docs/b.txt is empty."),
        (b"", "docs", "The text holds no sentence. "),
        (b" [1]\n***", "docs", "The text holds no sentence. "),
        (b"a\x00b", "docs", "The standard input cannot be read as text: it holds NUL bytes"),
        (b"caf\xe9", "docs", "The standard input cannot be read as text: it is not valid utf-8 at"),
        (b"It is old.", "nowhere", "nowhere cannot be read: there is no such file."),
        (b"It is old.", "docs/d.xyz", "d.xyz cannot be read: its format is unknown."),
        (b"It is old.", "docs/b.txt", "b.txt is empty."),
        (b"It is old.", "bad.jsonl", "bad.jsonl, line 2, is not JSON: "),
        (b"It is old.", "blank.jsonl", "blank.jsonl holds no text: line 1 has an empty text"),
        (b"It is old.", "empty", "empty holds no document that can be read."),
    ],
)
def test_what_cannot_be_checked_is_one_line_and_exit_code_2(
    table: TableEntailment, folder: Path, text: bytes | str, docs: str, message: str
) -> None:
    Path("bad.jsonl").write_text('{"text": "a"}\nnope\n')
    Path("blank.jsonl").write_text('{"text": " "}\n')
    Path("empty").mkdir()
    file, typed = ("-", text) if isinstance(text, bytes) else (text, None)
    result = run(["check", file, "--docs", docs], input=typed, code=2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert table.batches == []


def test_a_text_among_the_documents_would_prove_itself(folder: Path) -> None:
    result = run(["check", "docs/a.md", "--docs", str(folder)], code=2)
    assert "docs/a.md is one of the documents: it would support itself." in result.stderr


@pytest.mark.parametrize("page", ["t.md", "link.html", "docs/a.md", "docs/b.txt", "d.jsonl"])
def test_a_page_replaces_nothing_that_is_read(
    table: TableEntailment, folder: Path, page: str
) -> None:
    Path("t.md").write_text(f"{BUILT} [1]", "utf-8")
    Path("link.html").symlink_to("t.md")
    docs = str(jsonl(Path("d.jsonl"), {"text": BUILT})) if page == "d.jsonl" else str(folder)
    before = Path(page).read_bytes()
    result = run(["check", "t.md", "--docs", docs, "--html", page], code=2)
    assert f"{page} cannot be written: what is read from it would be lost" in result.stderr
    assert Path(page).read_bytes() == before
    assert table.batches == []


def test_long_objects_are_cut_and_keep_their_number() -> None:
    long = " ".join(f"Goose {n} flew over the tower." for n in range(100))
    read = read_numbered(jsonl(Path("d.jsonl"), {"text": long}, {"text": KEPT}))
    assert len(read.passages[1]) > 1
    assert [passage.id for passage in read.passages[2]] == ["d.jsonl:2"]


def test_a_file_of_lines_in_a_folder_is_one_number(folder: Path) -> None:
    jsonl(folder / "e.jsonl", {"text": "One.", "id": "x"}, {"text": "Two.", "id": "y"})
    jsonl(folder / "f.jsonl", {"text": "Three.", "id": "x"})
    read = read_numbered(folder)
    assert [passage.text for passage in read.passages[4]] == ["One.", "Two."]
    ids = [passage.id for own in read.passages.values() for passage in own]
    assert len(ids) == len(set(ids))


def test_two_texts_with_one_id_are_refused() -> None:
    with pytest.raises(DocumentError, match="an earlier line has the same id 'x'"):
        read_numbered(jsonl(Path("d.jsonl"), {"text": "a", "id": "x"}, {"text": "b", "id": "x"}))


def test_the_page_is_written_and_named(folder: Path) -> None:
    Path("~$t <b>.md").write_text(f"{BUILT} [1]", "utf-8")  # nobody's home folder
    result = run(["check", "~$t <b>.md", "--docs", str(folder), "--html", "r.html"])
    assert result.stdout.endswith("Page: r.html\n")
    page = Path("r.html").read_text("utf-8")
    assert "<h1>~$t &lt;b&gt;.md</h1>" in page
    assert "Every sentence supported" in page


def hostile(evil: str = EVIL) -> CheckReport:
    passage = Passage(id=evil, title=evil, source=f"javascript:{evil}", text=f"{evil}. More.")
    support = QuotedPassage(number=1, passage=passage, sentence=f"{evil}.")
    sentence = CheckedSentence(
        text=evil,
        paragraph=1,
        citations=(1, 9),
        invalid=(9,),
        verdict="supported",
        score=0.9,
        support=(support,),
        against=(support.model_copy(update={"passage": passage.model_copy(update={"id": "p"})}),),
    )
    return CheckReport(
        sentences=(sentence,),
        counts=CheckCounts(supported=1),
        citation_recall=1.0,
        invalid_citations=(9,),
        model=evil,
        threshold=0.5,
    )


def test_whatever_strangers_wrote_stays_text_on_the_page() -> None:
    text = render_check(hostile(), EVIL)
    page = assert_harmless(text, render_check(hostile("peace"), "peace"))
    assert text.count("<template") == 1
    # A source, in the card and below, is shown from its last slash on.
    assert page.text.count(SEEN) == 12


def test_whatever_strangers_wrote_stays_text_in_the_terminal() -> None:
    for terminal in (True, False):
        out = io.StringIO()
        show(hostile(), Console(file=out, force_terminal=terminal, color_system=None, width=200))
        assert "\x1b[2J" not in out.getvalue()
        assert "\u202e" not in out.getvalue()
        assert '<script>alert("1")</script>' in out.getvalue()


def test_every_link_and_card_of_the_page_has_its_target(folder: Path) -> None:
    text = f"{BUILT} [1] {KEPT} [1][9]\n\nGeese fly. {KEPT}"
    result = run(["check", "-", "--docs", str(folder), "--json"], input=text)
    page = Page(render_check(CheckReport.model_validate_json(result.stdout), "A text"))
    ids = [own["id"] for _, own in page.tags if own.get("id")]
    assert len(ids) == len(set(ids))
    links = [(own["href"] or "")[1:] for own in page.all("a")]
    cards = [own["data-card"] for _, own in page.tags if own.get("data-card")]
    assert {*links, *cards} <= set(ids)
    assert len(cards) == 4
    shown = [own.get("class") for own in page.all("span") if "claim " in (own.get("class") or "")]
    assert shown == [
        "claim supported",
        "claim misattributed",
        "claim unsupported",
        "claim uncited",
    ]
    [chip] = page.all("a", **{"class": "chip"})
    assert chip["href"] == "#source-1"
    [invalid] = page.all("span", **{"class": "chip invalid"})
    assert invalid["aria-label"] == "Citation 9, which does not exist"
    assert [own["data-number"] for own in page.all("li") if own.get("data-number")] == ["1", "3"]
    assert len(page.all("p", **{"class": "prose"})) == 2


async def test_what_says_otherwise_is_a_source_too() -> None:
    model = TableEntailment(lambda *_: Score(0.0, contradiction=0.9))
    page = Page(
        render_check(await check("Ann built it [1].", [passage("Bo built it.")], model), "t")
    )
    [chip] = page.all("a", **{"class": "chip"})
    assert chip["href"] == "#source-1"
    # In the card, and among the sources.
    assert page.all("mark") == [{"class": "opposing"}] * 2
    assert "Contradicts sentence 1" in " ".join(page.text.split())


@pytest.mark.parametrize(
    ("text", "score", "shown"),
    [
        ("Ann built it.", 0.9, "Every sentence supported"),
        ("Ann built it.", 0, "Not proved"),
        ("Who built it?", 0.9, "Nothing to check"),
    ],
)
async def test_a_text_without_citations_is_supported_by_what_was_found(
    text: str, score: float, shown: str
) -> None:
    report = await check(text, [passage("Ann.")], TableEntailment(lambda *_: score))
    assert re.findall('class="status.*?">(.*?)<', render_check(report, "t")) == [shown]
