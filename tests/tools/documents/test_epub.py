"""Books, zipped in the test."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from citeproof.errors import DocumentError
from citeproof.tools.documents.files import parse
from citeproof.tools.documents.passages import cut

PATH = Path("/docs/book.epub")
STORY = " ".join(f"Sentence number {n} tells of the lighthouse." for n in range(20))


def book(chapters: dict[str, str], spine: list[str]) -> bytes:
    items = "".join(f'<item id="{name}" href="{name}"/>' for name in chapters)
    order = "".join(f'<itemref idref="{name}"/>' for name in spine)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata>'
        '<title xmlns="http://purl.org/dc/elements/1.1/">The Lamp</title></metadata>'
        f"<manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="in/a.opf"/></rootfiles></container>',
        )
        archive.writestr("in/a.opf", package)
        for name, content in chapters.items():
            if content:
                archive.writestr(f"in/{name}", content)
    return out.getvalue()


def test_chapters_are_read_in_the_order_of_the_spine() -> None:
    chapters = {
        "b.xhtml": f"<html><body><h1>Oil</h1><p>{STORY}</p></body></html>",
        "a.xhtml": f"<body><h1>Wick</h1><p>{STORY}</p><h2>Length</h2><p>{STORY}</p></body>",
    }
    found = cut(parse(book(chapters, ["a.xhtml", "b.xhtml"]), PATH))
    places = dict.fromkeys((p.title, p.location) for p in found)
    assert list(places) == [
        ("The Lamp – Wick", "chapter Wick"),
        ("The Lamp – Wick – Length", "chapter Wick"),
        ("The Lamp – Oil", "chapter Oil"),
    ]


def test_a_chapter_that_is_missing_is_told() -> None:
    document = parse(
        book({"a.xhtml": "<html>It burns.</html>", "b.xhtml": ""}, ["a.xhtml", "b.xhtml"]), PATH
    )
    assert "chapter 2 (in/b.xhtml) was left out" in document.problems[0]


def test_a_book_without_text_is_refused() -> None:
    with pytest.raises(DocumentError, match="no chapter holds any text"):
        parse(book({}, []), PATH)


def test_a_chapter_that_breaks_off_or_has_problems_is_told() -> None:
    chapters = {
        "a.xhtml": "<html><body><p>It burns.</p></body></html>",
        "b.xhtml": f"<html><body><p>{STORY}",
        "c.xhtml": f"<html><body><p>{STORY}</p><!-- <p>{STORY}</p></body></html>",
    }
    assert parse(book(chapters, list(chapters)), PATH).problems == (
        "chapter 2 (in/b.xhtml) breaks off: it does not end as XHTML does",
        "chapter 3 (in/c.xhtml): a comment in it is not closed, so what follows it was left out",
    )
