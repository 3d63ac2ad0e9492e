"""Finds what belongs together in text that is read as it is: lists and tables with their heads."""

from __future__ import annotations

import re

from citeproof.tools.sentences import LIST_ITEM, words

_LEVEL = 7
"""Of what introduces a list: under all headings."""
_LONG = 60
"""Words from which on a list or a table is likely to be cut."""
_MOST_NAME = 200
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+")
_BLANKS = re.compile(r"[*`_]")


def outline(text: str) -> tuple[list[tuple[int, int, int, str]], list[tuple[int, int]]]:
    """Headings for the pieces of long lists and tables, and stretches to be kept.

    A list that a line with a colon introduces, and a table in bars, may be cut; what introduces
    them, and the table's head, then head the pieces. Both as `sections` takes them.
    """
    headings: list[tuple[int, int, int, str]] = []
    kept: list[tuple[int, int]] = []
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.rstrip().endswith(":") and not LIST_ITEM.match(line):
            first = number + 1
            while first < len(lines) and first < number + 3 and not lines[first].strip():
                first += 1
            end = _list_end(lines, first)
            if end > first:
                begin = _paragraph(lines, number)
                kept.append((starts[begin], starts[first + 1] - 1))
                name = _name(" ".join(lines[begin : number + 1]))
                if len(words(text[starts[first] : starts[end]])) >= _LONG and name:
                    headings.append((starts[begin], starts[begin], _LEVEL, name))
                    headings.append((starts[end], starts[end], _LEVEL, ""))
                number = end
                continue
        if number and "|" in line and _RULE.fullmatch(line) and "|" in lines[number - 1]:
            end = number + 1
            while end < len(lines) and "|" in lines[end]:
                head = number - 1 if end == number + 1 else end  # stays with the first row
                kept.append((starts[head], starts[end] + len(lines[end])))
                end += 1
            name = _BLANKS.sub("", lines[number - 1]).strip().strip("|").strip()
            if len(words(text[starts[number] : starts[end]])) >= _LONG and len(name) <= _MOST_NAME:
                headings.append((starts[number - 1], starts[number - 1], _LEVEL, name))
                headings.append(
                    (min(starts[end], len(text)), min(starts[end], len(text)), _LEVEL, "")
                )
            number = end
            continue
        number += 1
    return headings, kept


def _list_end(lines: list[str], first: int) -> int:
    """The line after the last item of the list that begins at `first`."""
    if first >= len(lines) or not LIST_ITEM.match(lines[first]):
        return first
    number = end = first
    while number < len(lines):
        line = lines[number]
        if LIST_ITEM.match(line) or (line[:1].isspace() and line.strip()):
            end = number + 1
        elif line.strip() and end < number:
            break
        elif line.strip():
            end = number + 1
        number += 1
    return end


def _paragraph(lines: list[str], number: int) -> int:
    """Where the paragraph of a line begins, unless that is far away."""
    first = number
    while first and number - first < 3 and lines[first - 1].strip():
        first -= 1
    return first if not first or not lines[first - 1].strip() else number


def _name(text: str) -> str:
    plain = " ".join(_BLANKS.sub("", text).split()).rstrip(":")
    return plain if len(plain) <= _MOST_NAME else ""
