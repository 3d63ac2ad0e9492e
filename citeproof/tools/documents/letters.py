"""Characters as people see them: raised digits, symbols of fonts, numbers of lists."""

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
_ROMAN = {
    **{1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc"},
    **{50: "l", 40: "xl", 10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"},
}
_MOST_COUNT = 5_000
FORMS = {
    **{"1": "decimal", "a": "lowerLetter", "A": "upperLetter"},
    **{"i": "lowerRoman", "I": "upperRoman"},
}
"""How web pages and OpenDocument name the form of a list's numbers → how Word names it."""
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


def count_in(form: str, count: int) -> str:
    """Write a number in one of the forms that Word's lists have.

    >>> count_in("upperRoman", 1994), count_in("lowerLetter", 28), count_in("decimalZero", 3)
    ('MCMXCIV', 'bb', '03')
    >>> count_in("cardinalText", 7), count_in("none", 7), count_in("lowerRoman", 10**8)
    ('7', '', '100000000')
    """
    if form == "none":
        return ""
    if form in {"lowerLetter", "upperLetter"} and 0 < count < _MOST_COUNT:
        said = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return said.upper() if form == "upperLetter" else said
    if form in {"lowerRoman", "upperRoman"} and 0 < count < _MOST_COUNT:
        said = ""
        for value, letters in _ROMAN.items():
            said += letters * (count // value)
            count %= value
        return said.upper() if form == "upperRoman" else said
    return f"{count:02}" if form == "decimalZero" else str(count)
