"""Reads PowerPoint presentations (extra `office`)."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from citeproof.errors import MissingExtraError
from citeproof.text import whole
from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.base import (
    Document,
    Heading,
    Part,
    left_out,
    name_places,
    number,
    sections,
    unusable,
    usable_title,
)
from citeproof.tools.documents.letters import raised
from citeproof.tools.documents.pieces import Pieces
from citeproof.tools.documents.tables import Grid, find_header

_FIX = "Open it in PowerPoint or LibreOffice and save it as .pptx again."
_LINE = 200_000
"""Shapes whose tops are this close count as one row: English Metric Units, about 0.22 inches."""
_DEEPEST = 20


def read_pptx(data: bytes, path: Path) -> Document:
    """Read a PowerPoint presentation: a part per slide, with its title, shapes, tables and notes.

    Shapes are read from top to bottom and from left to right, or column by column.
    """
    with MissingExtraError.unless_installed("office", "PowerPoint files cannot be read"):
        import pptx
    archive = Archive(data, path, _FIX)
    parts: list[Part] = []
    pictured: Counter[str] = Counter()
    empty: list[int] = []
    try:
        deck = pptx.Presentation(io.BytesIO(archive.data))
        title = usable_title(whole(deck.core_properties.title or ""))
        for place, slide in enumerate(deck.slides, start=1):
            text, headings, kept = _slide(slide, pictured)
            if not text.strip():
                empty.append(place)
                continue
            title = title or next((name for *_, name in headings), "")
            shown = f"slide {place}"
            if slide._element.get("show") == "0":
                shown += " (hidden)"
            parts += sections(text, headings, title or path.stem, kept=kept, location=shown)
    except Exception as error:  # zip, XML and missing-part errors of three libraries
        raise unusable(path, f"it is not a valid presentation ({error})", _FIX) from error
    if not parts:
        raise unusable(path, "no slide holds any text", "Run text recognition on its pictures.")
    problems = left_out(dict(sorted(pictured.items())))
    problems += tuple(name_places({"no text on slide {}": empty}))
    return Document(str(path), title or path.stem, tuple(parts), problems)


def _slide(slide: Any, pictured: Counter[str]) -> tuple[str, list[Heading], list[tuple[int, int]]]:
    pieces = Pieces()
    _write_out_scripts(slide._element)
    title = slide.shapes.title
    if title is not None and title.has_text_frame:
        pieces.add(" ".join(whole(title.text_frame.text).split()))
        pieces.heading(0, 1)
        pieces.end_line("\n\n")
    own = title._element if title is not None else None
    shown = [one for one in slide.shapes if one._element is not own and not _is_furniture(one)]
    for shape in _in_reading_order(shown, 0):
        if shape.has_table:
            _table(pieces, shape.table)
        elif shape.has_text_frame:
            pieces.line(_paragraphs(shape.text_frame), "\n\n")
        elif kind := _kind(shape):
            pictured[kind] += 1
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if frame is not None and frame.text.strip():
        pieces.line(f"Notes: {_paragraphs(frame)}", "\n\n")
    return pieces.result()


def _write_out_scripts(element: Any) -> None:
    """Raise the digits of superscripts, and empty struck-out text."""
    for run in element.iter("{*}r"):
        style, text = run.find("{*}rPr"), run.find("{*}t")
        if style is None or text is None:
            continue
        if style.get("strike", "noStrike") != "noStrike":
            text.text = ""
        elif style.get("baseline", "0").strip("0%.-") and style.get("baseline")[0] != "-":
            text.text = raised(text.text or "")


def _in_reading_order(shapes: Any, depth: int) -> Iterator[Any]:
    """Yield shapes from top to bottom and left to right, with groups flattened in place."""
    placed = list(shapes)
    if not any(shape.top is None for shape in placed):  # a placeholder may have no position
        placed = [shape for column in _columns(placed) for shape in sorted(column, key=_place)]
    for shape in placed:
        inner = getattr(shape, "shapes", None)
        if inner is not None and depth < _DEEPEST:
            yield from _in_reading_order(inner, depth + 1)
        else:
            yield shape


def _place(shape: Any) -> tuple[int, int]:
    """Return the row of a shape, and its place in it."""
    return shape.top // _LINE, shape.left


def _columns(shapes: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """Return the shapes that stand below each other, if each such column is a text with a heading.

    Otherwise all are one column: labels and their values stand side by side.
    """
    columns: list[list[Any]] = []
    edge = 0
    for shape in sorted(shapes, key=lambda one: one.left):
        if not columns or shape.left >= edge:
            columns.append([])
        columns[-1].append(shape)
        edge = max(edge, shape.left + shape.width)
    return columns if all(map(_is_headed, columns)) else [shapes]


def _is_headed(column: Sequence[Any]) -> bool:
    """Return whether a heading stands above a text: a placeholder, or several paragraphs."""
    last = max(column, key=_place)
    is_text = last.has_text_frame and (last.is_placeholder or len(last.text_frame.paragraphs) > 1)
    return len(column) > 1 and bool(is_text)


def _paragraphs(frame: Any) -> str:
    lines = (whole(one.text).replace("\v", "\n").strip() for one in frame.paragraphs)
    return "\n".join(filter(None, lines))


def _table(pieces: Pieces, table: Any) -> None:
    grid = Grid()
    for row in table._tbl.tr_lst:
        grid.start_row()
        for cell in row.tc_lst:
            covered = {cell.get("hMerge"), cell.get("vMerge")} & {"1", "true"}
            if not covered:
                lines = ("".join(one.itertext("{*}t")) for one in cell.iter("{*}p"))
                down, across = (number(cell.get(name, "")) for name in ("rowSpan", "gridSpan"))
                grid.add(whole(" ".join(lines)), across=across, down=down)
    first = [cell.text for row in grid.rows[:1] for cell in row]
    named = table.first_row and len(grid.rows) > 1 and all(first) and len(set(first)) > 1
    pieces.table(grid, int(named and not find_header(grid.rows)))


def _is_furniture(shape: Any) -> bool:
    """Return whether a shape is the slide number, date or footer of every slide."""
    return shape.is_placeholder and shape.placeholder_format.type in {13, 15, 16}


def _kind(shape: Any) -> str:
    if shape.has_chart:
        return "charts"
    tag = shape._element.tag.rpartition("}")[2]
    if tag == "graphicFrame":
        return "diagrams or embedded files"
    return "pictures" if tag == "pic" else ""
