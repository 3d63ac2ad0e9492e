"""Letters that plain text lacks: raised digits, symbols of Word's fonts, soft hyphens."""

from __future__ import annotations

import re

SOFT = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
"""For `str.translate`: deletes what only says where a word may be broken."""
_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_RAISABLE = re.compile(r"(\s*)([+\-−]?\d+|n)(\s*)")
_SYMBOL = dict(
    zip(
        "abgdezhqiklmnxprstufcywDFGLPSW"  # the places of Greek letters on the keyboard
        "\xa2\xa3\xa5\xac\xad\xae\xaf\xb0\xb1\xb3\xb4\xb7\xb8\xb9\xba\xbb\xc5\xd0\xd6\xde\xe5",
        "αβγδεζηθικλμνξπρστυφχψωΔΦΓΛΠΣΩ′≤∞←↑→↓°±≥×•÷≠≡≈⊕∠√⇒∑",
        strict=True,
    )
)
_WINGDINGS = dict(
    zip(
        "\x28\x2a\x4a\x4c\x6c\x6e\x6f\x71\x76\x77\x9f\xa7\xa8\xd8\xdf\xe0\xe1\xe2\xe8\xf0\xfb\xfc\xfd\xfe",
        "☎✉☺☹●■☐☐❖◆•▪☐➢←→↑↓→⇨✗✓☒☑",
        strict=True,
    )
)
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def raised(text: str) -> str:
    """Write a superscript number in raised digits, so that 10 to the power of 6 is not 106.

    >>> raised("6"), raised("-2"), raised("th")
    ('⁶', '⁻²', 'th')
    """
    found = _RAISABLE.fullmatch(text)
    return f"{found[1]}{found[2].translate(_RAISED)}{found[3]}" if found else text


def symbol(font: str, code: str) -> str:
    """Return the character at a hexadecimal code of a symbol font, or else nothing.

    >>> symbol("Symbol", "F0B0"), symbol("Wingdings", "F0FE"), symbol("Wingdings", "F021")
    ('°', '☑', '')
    """
    try:
        place = chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""
    if not "\uf000" <= place <= "\uf0ff":
        return place if place.isprintable() else ""
    return _FONTS.get(font.lower(), {}).get(chr(ord(place) & 0xFF), "")
