"""Reads Word documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import Document, Part, left_out, number, outlined, usable_title
from citeproof.tools.documents.letters import raised, symbol
from citeproof.tools.documents.pieces import Pieces
from citeproof.tools.documents.tables import Grid
from citeproof.tools.documents.word_numbers import Numbers, by_id, style_chain

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_NAMES = {"w": _W[1:-1], "m": _M[1:-1], "mc": _MC[1:-1]}
_SPACES = {_W + "tab": " ", _W + "br": "\n", _W + "cr": "\n", _W + "noBreakHyphen": "-"}
_UNSAID = {
    *(_W + name for name in ("del", "moveFrom", "txbxContent", "pPr", "rPr")),
    _MC + "Fallback",
}
"""Elements without text once tracked changes are accepted; text boxes are read separately."""
_OFF = {"0", "false", "off"}
_LEFT_OUT_RUNS = ("vanish", "strike", "dstrike")
"""Properties of hidden and of struck-out text."""
_MATH = {_M + "den": "/", _M + "sup": "^"}
"""Parts of a formula → the sign before them."""
_NOTES = {"footnotes": "footnote", "endnotes": "endnote", "comments": "comment"}
"""Type of relationship → name of the element."""
_FIX = "Open it in Word or LibreOffice and save it as .docx again."
_MAIN = "word/document.xml"
_LEFT_OUT = {
    "pictures": "//*[local-name()='blip' or local-name()='imagedata']",
    "charts": "//*[local-name()='chart' and namespace-uri()!='']",
    "diagrams (SmartArt)": "//*[local-name()='relIds']",
    "embedded files": "//*[local-name()='OLEObject']",
}
_SKIPPED = "ancestor::w:del or ancestor::w:moveFrom or ancestor::mc:Fallback"


def _say(paragraph: Any) -> str:
    """Return the text of a paragraph as a reader of the document sees it."""
    said: list[str] = []
    waiting = [*reversed(paragraph)]
    while waiting:
        element = waiting.pop()
        tag = element.tag
        if tag == _W + "t":
            said.append(raised(element.text or "") if _is_raised(element) else element.text or "")
        elif tag == _M + "t":
            said.append(element.text or "")
        elif tag == _W + "sym":
            said.append(symbol(element.get(_W + "font", ""), element.get(_W + "char", "")))
        elif tag in {_W + "checkBox", _W + "ddList"}:
            said.append(_chosen(element))
        elif tag in _SPACES:
            said.append(_SPACES[tag])
        elif tag in _UNSAID or not isinstance(tag, str):
            continue
        elif tag != _W + "r" or not any(_is_set(element, name) for name in _LEFT_OUT_RUNS):
            said.append(_MATH.get(tag, ""))
            waiting += reversed(element)
    return "".join(said)


def _chosen(field: Any) -> str:
    """Return what a form field of Word 97 shows: a box, or the chosen item of its list."""
    if field.tag == _W + "ddList":
        items = [entry.get(_W + "val", "") for entry in field.iter(_W + "listEntry")]
        return "".join(items[number(_value(field.find(_W + "result")), 0) :][:1])
    checked = field.find(_W + "checked")
    checked = field.find(_W + "default") if checked is None else checked
    is_on = checked is not None and checked.get(_W + "val", "1") not in _OFF
    return "☒" if is_on else "☐"


def _text_boxes(element: Any) -> Iterator[str]:
    """Yield the texts of the boxes in a paragraph or table, each once."""
    for box in element.iter(_W + "txbxContent"):
        text = "\n".join(filter(str.strip, map(_say, box.iter(_W + "p"))))
        if text and next(box.iterancestors(_MC + "Fallback", _W + "txbxContent"), None) is None:
            yield text


def _heading_levels(styles: Any) -> dict[str, int]:
    """Return the heading styles with their levels."""
    known = by_id(styles, "style", "styleId")
    levels: dict[str, int] = {}
    for key, style in known.items():
        name = _value(style.find(_W + "name")).lower()
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        if name == "title":
            levels[key] = 1
        elif name.startswith("heading ") and name[8:].isdigit() and len(name) == 9:
            levels[key] = int(name[8:])
        elif outline is not None:
            levels[key] = number(_value(outline), 0) + 1
    for key in known:
        if above := next((one for one in style_chain(known, key) if one in levels), ""):
            levels[key] = levels[above]
    return levels


def _read_notes(archive: Archive, kinds: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the footnotes, endnotes and comments: (tag of the reference, id) → text."""
    texts: dict[tuple[str, str], str] = {}
    for kind, tag in _NOTES.items():
        for note in archive.xml(kinds[kind]).iter(_W + tag) if kind in kinds else ():
            author = note.get(_W + "author", "")
            by = f" by {author}" if author else ""
            text = " ".join(" ".join(map(_say, note.iter(_W + "p"))).split())
            if text and note.get(_W + "type", "normal") == "normal":
                key = f"{_W}{tag}Reference", note.get(_W + "id", "")
                texts[key] = f"{tag.capitalize()}{by}: {text}"
    return texts


def _is_set(run: Any, name: str) -> bool:
    """Return whether a run has a property, such as being hidden."""
    found = run.find(f"{_W}rPr/{_W}{name}")
    return found is not None and found.get(_W + "val", "1") not in _OFF


def _is_bold(paragraph: Any) -> bool:
    """Return whether all words of a paragraph are in bold."""
    runs = [run for run in paragraph.iter(_W + "r") if (run.findtext(_W + "t") or "").strip()]
    return bool(runs) and all(_is_set(run, "b") for run in runs)


def _is_raised(text: Any) -> bool:
    return _value(text.getparent().find(f"{_W}rPr/{_W}vertAlign")) == "superscript"


def _value(element: Any) -> str:
    return str(element.get(_W + "val", "")) if element is not None else ""


def read_docx(data: bytes, path: Path) -> Document:
    """Read a Word document: paragraphs and table rows in order, split at heading styles.

    Footnotes, endnotes, comments and text boxes follow the paragraph to which they belong. Page
    headers and footers are separate parts.
    """
    archive = Archive(data, path, _FIX)
    related = archive.related("")
    main = related.get("officeDocument", _MAIN)
    root = archive.xml(main)
    kinds = archive.related(main)
    styles, numbering = (
        archive.xml(kinds[kind]) if kind in kinds else None for kind in ("styles", "numbering")
    )
    writer = _Writer(
        _heading_levels(styles), _read_notes(archive, kinds), Numbers(numbering, styles)
    )
    writer.write(root.find(_W + "body"))
    for note in writer.notes.values():  # those that nothing refers to
        writer.pieces.line(note)
    core = related.get("core-properties", "")
    named = archive.xml(core).findtext("{http://purl.org/dc/elements/1.1/}title") if core else ""
    text, headings, kept = writer.pieces.result()
    problems = left_out(_count_objects(root))
    title = usable_title(named or "")
    document = outlined(path, text, headings, kept, title=title, problems=problems)
    parts = [*document.parts, *_margins(archive, document.title)]
    parts = [part for part in parts if part.text[part.start : part.end].strip()] or parts
    return replace(document, parts=tuple(parts))


def _blocks(body: Any) -> Iterator[Any]:
    """Yield paragraphs and tables in order, also from content controls; no table of contents."""
    waiting = [body] if body is not None else []
    while waiting:
        for_later: list[Any] = []
        element = waiting.pop()
        if element.tag in {_W + "p", _W + "tbl"}:
            yield element
        elif element.find(f"{_W}sdtPr/{_W}docPartObj") is None:
            for_later = [one for one in element if isinstance(one.tag, str)]
        waiting += reversed(for_later)


class _Writer:
    """Writes paragraphs and tables, each with its text boxes and its `notes`, which it removes."""

    def __init__(
        self, levels: Mapping[str, int], notes: dict[tuple[str, str], str], numbers: Numbers
    ) -> None:
        self.pieces = Pieces()
        self.notes = notes
        self._numbers = numbers
        self._levels = levels

    def write(self, body: Any) -> None:
        """Add the blocks of the body or a cell."""
        for element in _blocks(body):
            if element.tag == _W + "p":
                self._paragraph(element)
            else:
                self._table(element)

    def _paragraph(self, paragraph: Any) -> None:
        pieces = self.pieces
        name = _value(paragraph.find(f"{_W}pPr/{_W}pStyle"))
        outline = paragraph.find(f"{_W}pPr/{_W}outlineLvl")
        level = self._levels.get(name, 0) if outline is None else number(_value(outline), 0) + 1
        said, label = _say(paragraph), self._label(paragraph)
        is_heading = bool(said.strip()) and 0 < level <= 6
        listed = not is_heading and (label is not None or name.startswith("List"))
        pieces.end_line("\n" if listed else "\n\n")
        start = pieces.place
        if label or (listed and label is None):
            pieces.mark(f"{label or '-'} ")
        pieces.add(said)
        pieces.mark("")
        if is_heading:
            pieces.heading(start, level)
        elif not listed and not label and _is_bold(paragraph):
            pieces.bold_line(start)
        pieces.end_line("\n" if listed else "\n\n")
        self._aside(paragraph)

    def _say(self, paragraph: Any) -> str:
        label = self._label(paragraph)
        return " ".join(filter(None, ("" if label == "-" else label, _say(paragraph))))

    def _label(self, paragraph: Any) -> str | None:
        """Return the number of a paragraph; one that was deleted is not counted."""
        if paragraph.find(f"{_W}pPr/{_W}rPr/{_W}del") is not None and not _say(paragraph).strip():
            return None
        name = _value(paragraph.find(f"{_W}pPr/{_W}pStyle"))
        return self._numbers.label(paragraph, name)

    def _table(self, table: Any) -> None:
        """Add the rows with column names, or paragraphs if the table only lays out the page."""
        grid, header = Grid(), 0
        rows = table.xpath("./w:tr | ./w:sdt/w:sdtContent/w:tr", namespaces=_NAMES)
        is_one = len(rows) == 1 == len(rows[0].findall(_W + "tc"))
        if table.find(f".//{_W}tbl") is not None or is_one:
            for cell in table.xpath("./w:tr/w:tc", namespaces=_NAMES):
                self.write(cell)
            return
        above: dict[int, str] = {}
        for row in rows:
            grid.start_row()
            column = 0
            if row.find(f"{_W}trPr/{_W}tblHeader") is not None and header == len(grid.rows) - 1:
                header += 1
            for cell in row.xpath("./w:tc | ./w:sdt/w:sdtContent/w:tc", namespaces=_NAMES):
                merged = cell.find(f"{_W}tcPr/{_W}vMerge")
                said = " ".join(filter(None, map(self._say, cell.iter(_W + "p"))))
                if merged is not None and merged.get(_W + "val") != "restart" and not said.strip():
                    said = above.get(column, "")
                above[column] = said
                across = max(1, number(_value(cell.find(f"{_W}tcPr/{_W}gridSpan"))))
                grid.add(said, across=across)
                column += across
        self.pieces.table(grid, header)
        self._aside(table)

    def _aside(self, element: Any) -> None:
        """Add the notes that an element refers to, and its text boxes."""
        tags = (f"{_W}{tag}Reference" for tag in _NOTES.values())
        for reference in element.iter(*tags):
            if note := self.notes.pop((reference.tag, reference.get(_W + "id", "")), ""):
                self.pieces.line(note)
        for box in _text_boxes(element):
            self.pieces.line(box, "\n\n")


def _margins(archive: Archive, title: str) -> Iterator[Part]:
    """Yield the page headers and footers, each text once."""
    seen: set[str] = set()
    for kind in ("header", "footer"):
        for name in sorted(archive.names):
            if name.startswith(f"word/{kind}") and name.endswith(".xml"):
                root = archive.xml(name)
                text = "\n".join(filter(str.strip, map(_say, root.iter(_W + "p"))))
                if any(char.isalpha() for char in text) and text not in seen:
                    seen.add(text)
                    yield Part(text, 0, 0, len(text), title, location=f"{kind} of the pages")


def _count_objects(root: Any) -> dict[str, int]:
    """Count the objects without text, by kind."""
    return {
        kind: int(root.xpath(f"count({query}[not({_SKIPPED})])", namespaces=_NAMES))
        for kind, query in _LEFT_OUT.items()
    }
