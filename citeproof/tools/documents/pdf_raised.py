"""Writes raised digits of a PDF page as such, and joins the lines that small signs break."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING

from citeproof.tools.documents.letters import raised
from citeproof.tools.documents.pdf_fonts import read_font

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_WORD = re.compile(r"\S{2,}")
_DIGITS = re.compile(r"(?<!\S)[\d+\-−–,]+(?!\S)")
_NUMBER = re.compile(r"(?<!\d)[+\-−]?\d+")
_SMALL = 0.85
"""A raised or lowered sign is at most this many times as large as the one before it."""
_HIGH = 0.15
"""A raised sign stands at least this share of the other one's size higher."""
_LEVEL = 0.1
"""Signs on one line stand within this share of their size at the same height."""
_BREAK = "\r\n"
_SPACE = 0.15
"""Least width of a space, as a share of the size of the type."""


def mend_scripts(page: PdfTextPage, text: str) -> str:
    """Return the text of a page with raised digits, and joined where PDFium broke a line.

    Each character keeps its offset. The caller holds PDFium's lock.
    """
    signs = list(text)
    for word in _WORD.finditer(text):
        begin, end = word.span()
        if not (text.startswith(_BREAK, end) or any(map(str.isdigit, word[0]))):
            continue  # calls of PDFium are slow
        heights = [_origin(page, place)[1] for place in range(begin, end)]
        if len(set(heights)) == 1:
            continue
        base, size, is_small, high = heights[0], read_font(page, begin).size, False, [" "]
        for place, height in zip(range(begin + 1, end), heights[1:], strict=True):
            own = read_font(page, place).size
            is_small = own <= _SMALL * size
            high.append(text[place] if is_small and height - base > _HIGH * size else " ")
            if not is_small:
                base, size = height, own
        for digits in _DIGITS.finditer("".join(high)):
            said = _NUMBER.sub(lambda found: raised(found[0]), digits[0])
            signs[begin + digits.start() : begin + digits.end()] = said
        after = end + len(_BREAK)
        if is_small and text[end:after] == _BREAK and after < len(text):
            across, height = _origin(page, after)
            apart = (across - _origin(page, end)[0]) / size
            if abs(height - base) < _LEVEL * size and apart > -_SPACE:
                signs[end:after] = " \u200b" if apart > _SPACE else "\u200b\u200b"
    return "".join(signs)


def _origin(page: PdfTextPage, place: int) -> tuple[float, float]:
    """Return where a character begins on its line, in the PDF's own coordinates."""
    from pypdfium2 import raw

    across, height = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(page, place, across, height)
    return across.value, height.value
