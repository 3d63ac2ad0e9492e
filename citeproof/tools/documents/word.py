"""Reads Word documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import Document, Part, left_out, number, outlined, usable_title
from citeproof.tools.documents.letters import raised, symbol
from citeproof.tools.documents.pieces import Pieces
from citeproof.tools.documents.tables import Grid
from citeproof.tools.documents.word_numbers import Numbers, W, below, by_id, style_chain, value

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_NAMES = {"w": W[1:-1], "m": _M[1:-1], "mc": _MC[1:-1]}
_SPACES = {W + "tab": " ", W + "br": "\n", W + "cr": "\n", W + "noBreakHyphen": "-"}
_UNSAID = {
    *(W + name for name in ("del", "moveFrom", "txbxContent", "pPr", "rPr")),
    _MC + "Fallback",
}
"""Elements without text once tracked changes are accepted; text boxes are read separately."""
_OFF = {"0", "false", "off"}
_LEFT_OUT_RUNS = ("rPr/vanish", "rPr/strike", "rPr/dstrike")
"""Properties of hidden and of struck-out text."""
_HEADING = re.compile(r"heading (\d)")
_CONTENTS = re.compile(r"toc \d")
_MATH = {_M + "num": " ", _M + "den": "/", _M + "sup": "^"}
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
        if isinstance(element, str):
            said.append(element)
            continue
        tag = element.tag
        if tag == W + "t":
            is_raised = value(element.getparent(), "rPr/vertAlign") == "superscript"
            said.append(raised(element.text or "") if is_raised else element.text or "")
        elif tag == _M + "t":
            said.append(element.text or "")
        elif tag == W + "sym":
            said.append(symbol(element.get(W + "font", ""), element.get(W + "char", "")))
        elif tag in {W + "checkBox", W + "ddList"}:
            said.append(_chosen(element))
        elif tag in _SPACES:
            said.append(_SPACES[tag])
        elif tag in _UNSAID or not isinstance(tag, str):
            continue
        elif tag != W + "r" or not any(_is_set(element, one) for one in _LEFT_OUT_RUNS):
            before, after = _signs_around(element)
            said.append(before)
            waiting += [after, *reversed(element)]
    return "".join(said)


def _lines(element: Any) -> str:
    """Return the text of the paragraphs below an element, on a line each."""
    return "\n".join(filter(str.strip, map(_say, element.iter(W + "p"))))


def _signs_around(element: Any) -> tuple[str, str]:
    """Return what stands before and after a part of a formula, such as the brackets of `√(2x)`."""
    above, is_inner = element.getparent(), element.tag == _M + "e"
    if is_inner and above.tag == _M + "d":
        signs = (above.find(f"{_M}dPr/{_M}{name}") for name in ("begChr", "endChr"))
        before, after = (None if one is None else one.get(_M + "val", "") for one in signs)
        return "(" if before is None else before, ")" if after is None else after
    sign = "√" if is_inner and above.tag == _M + "rad" else _MATH.get(element.tag, "")
    text = "".join(element.itertext(_M + "t")) if sign else ""
    return (f"{sign}(", ")") if len(text) > 1 and not text.isdigit() else (sign, "")


def _chosen(field: Any) -> str:
    """Return what a form field of Word 97 shows: a box, or the chosen item of its list."""
    if field.tag == W + "ddList":
        items = [entry.get(W + "val", "") for entry in field.iter(W + "listEntry")]
        return "".join(items[number(value(field, "result"), 0) :][:1])
    is_on = _is_set(field, "default" if below(field, "checked") is None else "checked")
    return "☒" if is_on else "☐"


def _heading_levels(styles: Any) -> dict[str, int]:
    """Return the heading styles with their levels."""
    known = by_id(styles, "style", "styleId")
    levels: dict[str, int] = {}
    for key, style in known.items():
        name = value(style, "name").lower()
        if name == "title":
            levels[key] = 1
        elif found := _HEADING.fullmatch(name):
            levels[key] = int(found[1])
        elif outline := _outline_level(style):
            levels[key] = outline
    for key in known:
        if above := next((one for one in style_chain(known, key) if one in levels), ""):
            levels[key] = levels[above]
    return levels


def _outline_level(element: Any) -> int:
    """Return the level that a paragraph or style has in the outline; 0 without one."""
    found = below(element, "pPr/outlineLvl")
    return 0 if found is None else number(found.get(W + "val", ""), 0) + 1


def _read_notes(archive: Archive, kinds: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the footnotes, endnotes and comments: (tag of the reference, id) → text."""
    texts: dict[tuple[str, str], str] = {}
    for kind, tag in _NOTES.items():
        for note in archive.xml(kinds[kind]).iter(W + tag) if kind in kinds else ():
            author = note.get(W + "author", "")
            by = f" by {author}" if author else ""
            text = " ".join(" ".join(map(_say, note.iter(W + "p"))).split())
            if text and note.get(W + "type", "normal") == "normal":
                key = f"{W}{tag}Reference", note.get(W + "id", "")
                texts[key] = f"{tag.capitalize()}{by}: {text}"
    return texts


def _is_set(element: Any, path: str) -> bool:
    """Return whether a property is there and not off."""
    found = below(element, path)
    return found is not None and found.get(W + "val", "1") not in _OFF


def _unsaid_styles(styles: Any) -> set[str]:
    """Return the styles of hidden and of struck-out text, and of tables of contents."""
    known = by_id(styles, "style", "styleId")
    found = {key for key, one in known.items() if _CONTENTS.fullmatch(value(one, "name").lower())}
    for key, one in known.items():
        for path in _LEFT_OUT_RUNS:
            chain = (known[name] for name in style_chain(known, key))
            if _is_set(next((each for each in chain if below(each, path) is not None), one), path):
                found.add(key)
    return found - {""}


def _mark_unsaid(root: Any, styles: Any) -> None:
    """Give each run that its style leaves out the property of hidden text."""
    unsaid = _unsaid_styles(styles)
    for run in [*root.iter(W + "r")] if unsaid else ():
        around = next(run.iterancestors(W + "p"), run)
        names = {value(run, "rPr/rStyle"), value(around, "pPr/pStyle")}
        if names & unsaid and all(below(run, path) is None for path in _LEFT_OUT_RUNS):
            own = below(run, "rPr")
            own = run.makeelement(W + "rPr") if own is None else own
            own.append(own.makeelement(W + "vanish"))
            run.insert(0, own)


def _is_bold(paragraph: Any) -> bool:
    """Return whether all words of a paragraph are in bold."""
    runs = [run for run in paragraph.iter(W + "r") if (run.findtext(W + "t") or "").strip()]
    return bool(runs) and all(_is_set(run, "rPr/b") for run in runs)


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
    _mark_unsaid(root, styles)
    notes = _read_notes(archive, kinds)
    writer = _Writer(_heading_levels(styles), notes, Numbers(numbering, styles))
    if (body := root.find(W + "body")) is not None:
        writer.write(body)
    for note in notes.values():  # those that nothing refers to
        writer.pieces.line(note)
    core = related.get("core-properties", "")
    named = archive.xml(core).findtext("{http://purl.org/dc/elements/1.1/}title") if core else ""
    problems = left_out(
        {
            kind: int(root.xpath(f"count({query}[not({_SKIPPED})])", namespaces=_NAMES))
            for kind, query in _LEFT_OUT.items()
        }
    )
    title = usable_title(named or "")
    document = outlined(path, *writer.pieces.result(), title=title, problems=problems)
    parts = [*document.parts, *_margins(archive, document.title)]
    parts = [part for part in parts if part.text[part.start : part.end].strip()] or parts
    return replace(document, parts=tuple(parts))


def _nearest(above: Any, *names: str) -> Iterator[Any]:
    """Yield the outermost elements of these names in order, also those in content controls.

    A table of contents is left out.
    """
    tags = {W + name for name in names}
    waiting = [above]
    while waiting:
        element = waiting.pop()
        if element.tag in tags and element is not above:
            yield element
        elif value(element, "sdtPr/docPartObj/docPartGallery") != "Table of Contents":
            waiting += reversed(element)


@dataclass
class _Writer:
    """Writes paragraphs and tables, each with its text boxes and its `notes`, which it removes."""

    levels: Mapping[str, int]
    notes: dict[tuple[str, str], str]
    numbers: Numbers
    pieces: Pieces = field(default_factory=Pieces)
    _goes_on: bool = False
    """Whether the end of the last paragraph was deleted."""

    def write(self, body: Any) -> None:
        """Add the blocks of the body or a cell."""
        for element in _nearest(body, "p", "tbl"):
            if element.tag == W + "p":
                self._paragraph(element)
            else:
                self._table(element)

    def _paragraph(self, paragraph: Any) -> None:
        pieces = self.pieces
        name = value(paragraph, "pPr/pStyle")
        level = _outline_level(paragraph) or self.levels.get(name, 0)
        said, label = _say(paragraph), self._label(paragraph)
        is_heading = bool(said.strip()) and 0 < level <= 6
        listed = not is_heading and (label is not None or name.startswith("ListBullet"))
        if not self._goes_on:
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
        self._goes_on = below(paragraph, "pPr/rPr/del") is not None
        if not self._goes_on:
            pieces.end_line("\n" if listed else "\n\n")
        self._aside(paragraph)

    def _say(self, paragraph: Any) -> str:
        label = self._label(paragraph)
        return " ".join(filter(None, ("" if label == "-" else label, _say(paragraph))))

    def _label(self, paragraph: Any) -> str | None:
        """Return the number of a paragraph; one that was deleted is not counted."""
        if below(paragraph, "pPr/rPr/del") is not None and not _say(paragraph).strip():
            return None
        return self.numbers.label(paragraph, value(paragraph, "pPr/pStyle"))

    def _table(self, table: Any) -> None:
        """Add the rows with column names, or paragraphs if the table only lays out the page."""
        grid, header = Grid(), 0
        rows = [(row, [*_nearest(row, "tc")]) for row in _nearest(table, "tr")]
        is_one = len(rows) == 1 == len(rows[0][1])
        if table.find(f".//{W}tbl") is not None or is_one:
            for _, cells in rows:
                for cell in cells:
                    self.write(cell)
            return
        above: dict[int, str] = {}
        for row, cells in rows:
            grid.start_row()
            if column := number(value(row, "trPr/gridBefore"), 0):
                grid.add("", across=column)
            if below(row, "trPr/tblHeader") is not None and header == len(grid.rows) - 1:
                header += 1
            for cell in cells:
                merged = below(cell, "tcPr/vMerge")
                said = " ".join(filter(None, map(self._say, cell.iter(W + "p"))))
                if merged is not None and merged.get(W + "val") != "restart" and not said.strip():
                    said = above.get(column, "")
                above[column] = said
                across = max(1, number(value(cell, "tcPr/gridSpan")))
                grid.add(said, across=across)
                column += across
        self.pieces.table(grid, header)
        self._aside(table)

    def _aside(self, element: Any) -> None:
        """Add the notes that an element refers to, and its text boxes."""
        tags = (f"{W}{tag}Reference" for tag in _NOTES.values())
        for reference in element.iter(*tags):
            if note := self.notes.pop((reference.tag, reference.get(W + "id", "")), ""):
                self.pieces.line(note)
        for box in element.iter(W + "txbxContent"):
            text, around = _lines(box), box.iterancestors(_MC + "Fallback", W + "txbxContent")
            if text and next(around, None) is None:
                self.pieces.line(text, "\n\n")


def _margins(archive: Archive, title: str) -> Iterator[Part]:
    """Yield the page headers and footers, each text once."""
    seen: set[str] = set()
    for kind in ("header", "footer"):
        for name in sorted(archive.names):
            if name.startswith(f"word/{kind}") and name.endswith(".xml"):
                root = archive.xml(name)
                text = _lines(root)
                if any(char.isalpha() for char in text) and text not in seen:
                    seen.add(text)
                    yield Part(text, 0, 0, len(text), title, location=f"{kind} of the pages")
