"""Writes a spreadsheet's value as the spreadsheet shows it, as far as its format tells."""

from __future__ import annotations

import datetime
import re
from typing import Any

_LITERAL = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\\(.)|([$€£¥%])')
_DIGITS = re.compile(r"[#0?][#0?,. ]*")
_ASIDE = re.compile(r"_.|\*.|\[(?!\$)[^\]]*\]")


def display(value: Any, form: str, epoch: datetime.datetime) -> str:
    """The value as text; dates as ISO 8601, since their order differs between countries."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime):
        time = value.time().replace(microsecond=0)
        if time == datetime.time():
            return value.date().isoformat()
        return (
            f"{value.date().isoformat()} {time.isoformat('minutes' if not time.second else 'auto')}"
        )
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta):
        return str(value)
    if isinstance(value, int | float):
        return _number(value, form or "General")
    return str(value)


def _number(value: float, form: str) -> str:
    sections = form.split(";")
    section = (
        sections[1] if value < 0 and len(sections) > 1 and sections[1].strip() else sections[0]
    )
    section = _ASIDE.sub("", section)
    digits = _DIGITS.search(
        re.sub(r'"[^"]*"|\[[^\]]*\]', lambda found: " " * len(found[0]), section)
    )
    if not digits or "E" in section.upper() or "General" in section:
        return _plain(value)
    if "/" in section:
        return _plain(value)
    percent = "%" in re.sub(r'"[^"]*"', "", section)
    shown = abs(value) * (100 if percent else 1)
    pattern = digits[0].strip(" ,")
    decimals = len(pattern.partition(".")[2])
    text = f"{shown:,.{min(decimals, 12)}f}" if "," in pattern else f"{shown:.{min(decimals, 12)}f}"
    if "#" in pattern.partition(".")[2]:
        text = text.rstrip("0").rstrip(".")
    before, after = _literals(section[: digits.start()]), _literals(section[digits.end() :])
    sign = "-" if value < 0 and len(sections) < 2 else ""
    return f"{sign}{before}{text}{after}".strip()


def _literals(piece: str) -> str:
    found = "".join(next(filter(None, match.groups()), "") for match in _LITERAL.finditer(piece))
    bare = _LITERAL.sub("", piece)
    signs = "".join(char for char in bare if char in "-+() ")
    return signs.rstrip() + found if signs.strip() in {"-", "("} else found + signs.rstrip()


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.12g}"
