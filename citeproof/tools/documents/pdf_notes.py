"""Reads the form fields of a PDF page, and the notes that people put on it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from citeproof.pdfium import Area, Displayed, page_annotations
from citeproof.text import whole
from citeproof.tools.documents.pdf_lines import Line, Piece

if TYPE_CHECKING:
    from pypdfium2 import PdfPage


def read_notes(page: PdfPage, shown: Displayed) -> Iterator[Line]:
    """Yield the values of fields and the texts of notes. The caller holds PDFium's lock."""
    from pypdfium2 import raw

    form = page.formenv
    marked = {
        raw.FPDF_ANNOT_TEXT,
        raw.FPDF_ANNOT_HIGHLIGHT,
        raw.FPDF_ANNOT_UNDERLINE,
        raw.FPDF_ANNOT_STRIKEOUT,
        raw.FPDF_ANNOT_SQUIGGLY,
    }
    for own, kind, area in page_annotations(page, shown):
        said = ""
        if kind == raw.FPDF_ANNOT_WIDGET and form:
            said = _field(form, own)
        elif kind in marked or kind == raw.FPDF_ANNOT_FREETEXT:
            said = _text(partial(raw.FPDFAnnot_GetStringValue, own, b"Contents"))
            said = f"Note: {said}" if said and kind in marked else said
        if said:
            yield Line(said, (Piece(0, len(said), area),), area, noted=True)


def insert(lines: list[Line], note: Line) -> None:
    """Insert a note after the line to its left, or else after the last line above it."""
    near = [place for place, line in enumerate(lines) if is_beside(line.area, note.area)]
    note.goes_on = bool(near)
    if near:
        place = max(near, key=lambda place: lines[place].area.right)
    else:
        bottoms = [(line.area.bottom, place) for place, line in enumerate(lines)]
        _, place = max((one for one in bottoms if one[0] <= note.area.top + 0.005), default=(0, -1))
    lines.insert(place + 1, note)
    if place + 2 < len(lines):
        lines[place + 2].goes_on = lines[place + 2].goes_on and bool(near)


def is_beside(line: Area, note: Area) -> bool:
    """Return whether a note stands to the right of a line, at its height."""
    return line.left < note.left and note.top <= (line.top + line.bottom) / 2 <= note.bottom


def _field(form: Any, own: Any) -> str:
    """Return the value of a field; for a checked box, its name."""
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, own)
    name = _text(partial(raw.FPDFAnnot_GetFormFieldAlternateName, form, own))
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        name = name or _text(partial(raw.FPDFAnnot_GetFormFieldName, form, own))
        return f"[x] {name}" if raw.FPDFAnnot_IsChecked(form, own) else ""
    if kind in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX):
        return _text(partial(raw.FPDFAnnot_GetFormFieldValue, form, own))
    if kind == raw.FPDF_FORMFIELD_LISTBOX:
        chosen = [
            _text(partial(raw.FPDFAnnot_GetOptionLabel, form, own, place))
            for place in range(raw.FPDFAnnot_GetOptionCount(form, own))
            if raw.FPDFAnnot_IsOptionSelected(form, own, place)
        ]
        return ", ".join(chosen)
    return ""


def _text(ask: Callable[[Any, int], int]) -> str:
    """Read a text from PDFium, which reports its size and then fills a buffer."""
    from pypdfium2 import raw

    size = ask(None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    ask(ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return " ".join(whole(buffer.raw[: size - 2].decode("utf-16-le", "replace")).split())
