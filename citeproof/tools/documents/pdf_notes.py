"""Reads the form fields of a PDF page, and the notes that people put on it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from citeproof.pdfium import Displayed, page_annotations
from citeproof.tools.documents.base import whole
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

    def beside(line: Line) -> bool:
        middle = (line.area.top + line.area.bottom) / 2
        within = note.area.top <= middle <= note.area.bottom
        return within and line.area.left < note.area.left

    def above(line: Line) -> bool:
        return line.area.bottom <= note.area.top + 0.005

    near = [place for place, line in enumerate(lines) if beside(line)]
    note.goes_on = bool(near)
    if near:
        place = max(near, key=lambda place: lines[place].area.right)
    else:
        over = [place for place, line in enumerate(lines) if above(line)]
        place = max(over, key=lambda place: (lines[place].area.bottom, place), default=-1)
    lines.insert(place + 1, note)
    if place + 2 < len(lines):
        lines[place + 2].goes_on = lines[place + 2].goes_on and bool(near)


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
