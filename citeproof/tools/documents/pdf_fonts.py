"""The fonts of a PDF page: size, weight, and whether all letters are equally wide."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_BOLD = re.compile(r"bold|black|heavy|demi|medi\b|cmb|bx\d|TB$", re.IGNORECASE)
_FIXED = re.compile(
    r"mono|courier|typewriter|consol|menlo|nimbusmon|(?:cm|sf|ec|lm)(?:sl|it|v)?tt|\dmn-",
    re.IGNORECASE,
)
_HEAVY = 600
"""Least weight of a bold font."""
_FIXED_PITCH = 1
"""The flag of a font whose letters are equally wide (PDF 1.7, table 123)."""
_LONGEST_NAME = 128


class Font(NamedTuple):
    """What tells a heading or a line of code from running text."""

    size: float
    """In points, as displayed; 0 if unknown."""
    bold: bool
    fixed: bool
    """Whether all letters are equally wide, as in code."""


NO_FONT = Font(0.0, False, False)


def read_font(text: PdfTextPage, place: int) -> Font:
    """Return the font of a character. The caller holds PDFium's lock."""
    from pypdfium2 import raw

    name, flags = ctypes.create_string_buffer(_LONGEST_NAME), ctypes.c_int()
    raw.FPDFText_GetFontInfo(text, place, name, _LONGEST_NAME, flags)
    called = name.value.decode("utf-8", "replace")
    matrix = raw.FS_MATRIX()
    scale = 1.0
    if raw.FPDFText_GetMatrix(text, place, matrix):
        scale = max(abs(matrix.d), abs(matrix.b))  # b for text that runs vertically
    size = raw.FPDFText_GetFontSize(text, place) * scale
    bold = raw.FPDFText_GetFontWeight(text, place) >= _HEAVY or bool(_BOLD.search(called))
    fixed = bool(flags.value & _FIXED_PITCH) or bool(_FIXED.search(called))
    return Font(round(size, 1), bold, fixed)
