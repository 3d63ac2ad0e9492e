"""The page of a PDF within the pages of answers and of checked texts."""

from __future__ import annotations

from pathlib import Path

from citeproof.console.page import render_check, render_page
from citeproof.testing import TableEntailment
from citeproof.tools.checking.check import check
from citeproof.tools.citations.marks import cite
from citeproof.types import Answer, Claim, Passage, Verdict
from tests.console.test_page import Page
from tests.pdfs import Sheet, lines, make
from tests.tools.documents.reading import read_file

RAINED, SNOWED = "It rained all day in May.", "It snowed all night in June."


def answer(*passages: Passage, claims: tuple[str, ...] = (RAINED, SNOWED)) -> Answer:
    """One whose claims cite all passages."""
    numbered = dict(enumerate(passages, start=1))
    return Answer(
        question="How was the weather?",
        method="vtg",
        status="answered",
        claims=tuple(
            Claim(text=text, citations=cite(numbered, text), verdict=Verdict(status="supported"))
            for text in claims
        ),
        passages=passages,
    )


def almanac(folder: Path) -> Path:
    path = folder / "almanac.pdf"
    path.write_bytes(make([Sheet(lines(RAINED, "", SNOWED)), Sheet(lines("It was fair."))]))
    return path


def views(page: Page) -> list[str | None]:
    return [own["aria-label"] for own in page.all("svg") if "sheet" in (own.get("class") or "")]


def test_the_page_of_a_pdf_is_shown_once_with_what_is_quoted(tmp_path: Path) -> None:
    [passage, _] = read_file(almanac(tmp_path))
    page = Page(render_page(answer(passage)))
    [image] = page.all("image")
    assert (image["href"] or "").startswith("data:image/webp;base64,")
    both = f"{RAINED} {SNOWED}"
    # Around the sentences for wide screens and for small ones, and the whole page.
    assert views(page) == [both, both, f"Page 1: {both}"]
    assert {own["href"] for own in page.all("use")} == {f"#{image['id']}"}
    cuts = [own["viewbox"] or "" for own in page.all("svg", role="img")[1:]]
    wide, narrow, whole = [[int(number) for number in cut.split()] for cut in cuts]
    assert (wide[0], wide[2], wide[1::2]) == (0, 1000, narrow[1::2])
    assert narrow[2] == 450
    assert whole == [0, 0, int(image["width"] or 0), int(image["height"] or 0)]
    assert wide[3] < 0.3 * whole[3]
    assert "Show the whole of page 1" in page.text
    [policy] = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert "img-src data:; " in (policy["content"] or "")


def test_two_passages_of_one_page_share_its_picture(tmp_path: Path) -> None:
    [passage, _] = read_file(almanac(tmp_path))
    other = passage.model_copy(update={"id": "other"})
    page = Page(render_page(answer(passage, other)))
    assert len(page.all("image")) == 1
    assert len(views(page)) == 6


def test_a_page_that_cannot_be_shown_says_why(tmp_path: Path) -> None:
    path = almanac(tmp_path)
    [passage, fair] = read_file(path)
    path.write_bytes(make([Sheet(lines("Quite another text."))]))
    page = Page(render_page(answer(passage)))
    assert views(page) == []
    assert "Page 1 is not shown: the file has changed since." in page.text
    path.unlink()
    gone = "Page 1 is not shown: the file is not there any more."
    assert gone in Page(render_page(answer(passage))).text
    unquoted = "Page 2 is not shown: no sentence of the passage shares a word with the claim."
    assert unquoted in Page(render_page(answer(fair, claims=("Goats graze.",)))).text


def test_other_sources_have_no_picture_and_no_word_about_it() -> None:
    passage = Passage(id="a", text=RAINED, title="Weather", source="/home/ada/w.md", page=2)
    page = Page(render_page(answer(passage)))
    assert views(page) == []
    assert "not shown" not in page.text


def test_a_folder_of_the_author_is_nowhere_on_the_page(tmp_path: Path) -> None:
    [passage, _] = read_file(almanac(tmp_path))
    untitled = Passage(id="b", text=SNOWED, source=str(tmp_path / "untitled.txt"))
    html = render_page(answer(passage, untitled))
    assert str(tmp_path) not in html
    assert "almanac.pdf" in html
    assert "untitled.txt" in html


async def test_a_check_shows_the_page_as_well(tmp_path: Path) -> None:
    passages = read_file(almanac(tmp_path))
    report = await check(f"{RAINED} [1]", passages, TableEntailment(lambda text, _: RAINED in text))
    [support] = report.sentences[0].support
    assert (support.page, support.sentence, len(support.boxes)) == (1, RAINED, 1)
    html = render_check(report, "A letter")
    assert views(Page(html)) == [RAINED, RAINED, f"Page 1: {RAINED}"]
    assert str(tmp_path) not in html
