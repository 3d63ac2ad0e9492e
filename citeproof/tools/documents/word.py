"""Reads Word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import Document, Part, sections
from citeproof.tools.documents.pieces import Pieces
from citeproof.tools.documents.tables import Grid, looks_like_header
from citeproof.tools.documents.titles import usable_title
from citeproof.tools.documents.word_text import (
    NAMES,
    Notes,
    W,
    heading_levels,
    number,
    say,
    text_boxes,
)

_FIX = "Open it in Word or LibreOffice and save it as .docx anew."
_MAIN = "word/document.xml"
_LEFT_OUT = {
    "pictures": "//*[local-name()='blip' or local-name()='imagedata']",
    "charts": "//*[local-name()='chart' and namespace-uri()!='']",
    "diagrams (SmartArt)": "//*[local-name()='relIds']",
    "embedded files": "//*[local-name()='OLEObject']",
}
_SKIPPED = "ancestor::w:del or ancestor::w:moveFrom or ancestor::mc:Fallback"


def read_docx(data: bytes, path: Path) -> Document:
    """Word: paragraphs and table rows in order, parted by the heading styles.

    Footnotes, endnotes, comments and text boxes follow the paragraph to which they belong; the
    texts at the top and bottom of the pages are parts of their own.

    Raises:
        DocumentError: The file is not a sound Word document.
    """
    archive = Archive(data, path, _FIX)
    related = archive.related("")
    main = related.get("officeDocument", _MAIN)
    root = archive.xml(main)
    kinds = archive.related(main)
    levels = heading_levels(archive.xml(kinds["styles"])) if "styles" in kinds else {}
    notes = Notes.of({kind: archive.xml(kinds[kind]) for kind in Notes.KINDS if kind in kinds})
    pieces = Pieces()
    for element in _blocks(root.find(W + "body")):
        if element.tag == W + "p":
            _paragraph(pieces, element, levels, notes)
        else:
            _table(pieces, element, levels, notes)
    notes.write_rest(pieces)
    core = related.get("core-properties", "")
    named = archive.xml(core).findtext("{http://purl.org/dc/elements/1.1/}title") if core else ""
    text, headings, kept = pieces.result()
    title = usable_title(named or "") or next((name for *_, name in headings if name), path.stem)
    parts = [*sections(text, headings, title, kept=kept), *_margins(archive, title)]
    parts = [part for part in parts if part.text[part.start : part.end].strip()] or parts
    return Document(str(path), title, tuple(parts), tuple(_problems(root)))


def _blocks(body: Any) -> Iterator[Any]:
    """Paragraphs and tables in order, those in content controls too; no table of contents."""
    waiting = [body] if body is not None else []
    while waiting:
        for_later: list[Any] = []
        element = waiting.pop()
        if element.tag in {W + "p", W + "tbl"}:
            yield element
        elif element.find(f"{W}sdtPr/{W}docPartObj") is None:
            for_later = [one for one in element if isinstance(one.tag, str)]
        waiting += reversed(for_later)


def _paragraph(pieces: Pieces, paragraph: Any, levels: dict[str, int], notes: Notes) -> None:
    style = paragraph.find(f"{W}pPr/{W}pStyle")
    name = style.get(W + "val", "") if style is not None else ""
    outline = paragraph.find(f"{W}pPr/{W}outlineLvl")
    level = number(outline) + 1 if outline is not None else levels.get(name, 0)
    listed = paragraph.find(f"{W}pPr/{W}numPr") is not None or name.startswith("List")
    pieces.end_line("\n" if listed else "\n\n")
    start, said = pieces.place, say(paragraph)
    if listed and said.strip():
        pieces.mark("- ")
    pieces.add(said)
    pieces.mark("")
    if said.strip() and 0 < level <= 6:
        pieces.heading(start, level)
    pieces.end_line("\n" if listed else "\n\n")
    notes.write(pieces, paragraph)
    for box in text_boxes(paragraph):
        pieces.line(box, "\n\n")


def _table(pieces: Pieces, table: Any, levels: dict[str, int], notes: Notes) -> None:
    """Rows, each cell with its column's name; a table that lays out a page as paragraphs."""
    grid, header = Grid(), 0
    rows = table.xpath("./w:tr | ./w:sdt/w:sdtContent/w:tr", namespaces=NAMES)
    if table.find(f".//{W}tbl") is not None or len(rows) == 1 == len(rows[0].findall(W + "tc")):
        for cell in table.xpath("./w:tr/w:tc", namespaces=NAMES):
            for element in _blocks(cell):
                if element.tag == W + "p":
                    _paragraph(pieces, element, levels, notes)
                else:
                    _table(pieces, element, levels, notes)
        return
    above: dict[int, str] = {}
    for row in rows:
        grid.start_row()
        column = 0
        if row.find(f"{W}trPr/{W}tblHeader") is not None and header == len(grid.rows) - 1:
            header += 1
        for cell in row.xpath("./w:tc | ./w:sdt/w:sdtContent/w:tc", namespaces=NAMES):
            span = cell.find(f"{W}tcPr/{W}gridSpan")
            merged = cell.find(f"{W}tcPr/{W}vMerge")
            said = " ".join(filter(None, map(say, cell.iter(W + "p"))))
            if merged is not None and merged.get(W + "val") != "restart" and not said.strip():
                said = above.get(column, "")
            above[column] = said
            across = max(1, min(number(span), 100)) if span is not None else 1
            grid.add(said, across=across)
            column += across
    cells = [[cell.text for cell in row] for row in grid.rows]
    pieces.end_line("\n\n")
    pieces.rows(grid.lines(header or int(looks_like_header(cells))))
    pieces.end_line("\n\n")
    notes.write(pieces, table)
    for box in text_boxes(table):
        pieces.line(box, "\n\n")


def _margins(archive: Archive, title: str) -> Iterator[Part]:
    """The text at the top and bottom of the pages, each once."""
    seen: set[str] = set()
    for kind in ("header", "footer"):
        for name in sorted(archive.names):
            if name.startswith(f"word/{kind}") and name.endswith(".xml"):
                root = archive.xml(name)
                text = "\n".join(filter(str.strip, map(say, root.iter(W + "p"))))
                if any(char.isalpha() for char in text) and text not in seen:
                    seen.add(text)
                    yield Part(text, 0, 0, len(text), title, location=f"{kind} of the pages")


def _problems(root: Any) -> Iterator[str]:
    found: Counter[str] = Counter()
    for name, query in _LEFT_OUT.items():
        found[name] = int(root.xpath(f"count({query}[not({_SKIPPED})])", namespaces=NAMES))
    if told := [f"{name} ({count})" for name, count in found.items() if count]:
        yield f"left out, since they cannot be read as text: {', '.join(told)}"
