"""Reads plain text, and finds headings, lists and pipe tables in unparsed text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, count, takewhile
from pathlib import Path

from citeproof.tools.documents.base import (
    LONG,
    LONGEST_NAME,
    TERM,
    Document,
    Heading,
    sections,
)
from citeproof.tools.documents.encodings import decode_any
from citeproof.tools.documents.tables import Cell, cell_of, row_lines
from citeproof.tools.sentences import LIST_ITEM, words

_UNDERLINE = re.compile(r"[ \t]*([=~*#-])\1{2,}[ \t]*")
_NUMBERED = re.compile(
    r"(?:(?:chapter|section|part|article|appendix|annex|kapitel|abschnitt|artikel|teil|anhang|§)\s+)?"
    r"(\d{1,3}(?:\.\d{1,3}){0,4}|[IVXLC]{1,7}|[A-Z](?:\.\d{1,3}){1,3})[.):]?(?:[ \t]+(?=\w)|$)",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"(?:chapter|section|part|article|appendix|annex|kapitel|abschnitt|artikel|anhang|§)\s", re.I
)
_CAPITALS = re.compile(r"(?=.*[A-ZÀ-Þ]{3})[A-ZÀ-Þ][A-ZÀ-Þ\d ,'’&/()-]*")
_SENTENCE = re.compile(r"[\w)][.!?]\s")
_HYPHENATED = re.compile(r"(?<=[a-zß-ÿ])\u2010\n[ \t]*(?=[a-zß-ÿ])")
"""Where a manual page cuts a word; an ordinary hyphen may belong to the word."""
_MOST_WORDS = 12
"""Maximum length of a heading, in words."""
_MOST_TITLE = 20
"""Maximum length of the first line if it is the title, in words."""
_BLANKS = re.compile(r"[*`_]")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:[|+][ \t]*:?-*:?[ \t]*)+")
"""The line of dashes below the header; databases and Org mode write a plus between columns."""
_MOST_GROWTH = 20
"""A table is left alone if its header, repeated in each row, is this many times its size."""
_BAR = re.compile(r"(?<!\\)\|")


def read_text(data: bytes, path: Path) -> Document:
    """Read plain text. Underlined lines are headings, and so are numbered lines that stand alone.

    So are lines in capitals, alone or above indented text, as in manual pages. A short first line
    that stands alone is the title, even if the authors stand between it and the text.
    """
    raw, problems = decode_any(data, path)
    raw = _HYPHENATED.sub("", raw)
    text, rows = write_out_tables(raw)
    headings = find_text_headings(text)
    title = path.stem
    first = text.lstrip()
    line = first.partition("\n")[0].strip()
    begin = len(text) - len(first)
    if headings and headings[0][0] == begin and headings[0][1] > begin:
        title = headings[0][3]
    elif first[first.find("\n") :].startswith("\n\n") and _is_title(line, first):
        title = line
        headings.insert(0, (begin, begin + len(line), 1, line))
    return Document(str(path), title, sections(text, headings, title, kept=rows), problems)


def find_text_headings(text: str) -> list[Heading]:
    """Return the headings of plain text, as `sections` takes them."""
    found: list[Heading] = []
    lines, starts = _lines(text)
    for number, (line, place) in enumerate(zip(lines, starts, strict=False)):
        above = lines[number - 1] if number else ""
        below = lines[number + 1] if number + 1 < len(lines) else ""
        said = line.strip()
        if said and not above.strip() and len(said) <= 120 and len(words(said)) <= _MOST_WORDS:
            rule = _UNDERLINE.fullmatch(below)
            if rule and abs(len(below.rstrip()) - len(line.rstrip())) <= max(3, len(line) // 3):
                level = 1 if rule[1] in "=#*" else 2
                found.append((place, place + len(line) + 1 + len(below), level, said))
            elif (
                not below.strip()
                and (level := _numbered_level(said))
                and (said == line.rstrip() or _LABELLED.match(said))  # else an item of a list
                and _has_text(lines, number + 1)
            ):
                found.append((place, place + len(line), level, said))
            elif _CAPITALS.fullmatch(line.rstrip()) and (
                below[:1].isspace() if below.strip() else _has_text(lines, number + 1)
            ):
                found.append((place, place + len(line), 1, said))
    return sorted([*found, *name_long_lists(text)])


def _numbered_level(line: str) -> int:
    """Return the level of a numbered heading, such as 2 for `3.1 Tides`; 0 for other lines."""
    match = _NUMBERED.match(line)
    ended = line.rstrip('"”’»)')[-1:] in {*".!?,;…:", ""}
    if not match or (ended and not _LABELLED.match(line)):
        return 0
    rest = line[match.end() :].strip()
    is_name = rest[:1].isupper() and any(map(str.isalpha, rest)) and not _SENTENCE.search(rest)
    if not is_name and not _LABELLED.match(line):
        return 0
    return min(1 + match[1].count("."), 6)


def _has_text(lines: list[str], number: int) -> bool:
    """Return whether running text follows, which tells a heading from the item of a list."""
    paragraph: list[str] = []
    for line in lines[number : number + 12]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            break
    said = " ".join(paragraph)
    return len(words(said)) >= 20 or bool(_numbered_level(said.strip()) and "." in said)


def _is_title(line: str, text: str) -> bool:
    if not line[:1].isalnum() or line[:1].islower() or line[-1] in ".!?,;…:":
        return False
    lines = text.split("\n", 20)[:20]
    # Between title and text may be a line of its own, such as the authors'.
    below = next((n for n, one in enumerate(lines[2:], 2) if not one.strip()), 1)
    return len(words(line)) <= _MOST_TITLE and (_has_text(lines, 1) or _has_text(lines, below))


def _lines(text: str) -> tuple[list[str], list[int]]:
    """Return the lines of a text and their offsets, plus the offset of a line after the last."""
    lines = text.split("\n")
    return lines, [0, *accumulate(len(line) + 1 for line in lines)]


def name_long_lists(text: str) -> list[Heading]:
    """Return headings for long lists, which may be cut: the line with a colon that introduces them.

    Each piece of such a list then has the introduction in its title.
    """
    headings: list[Heading] = []
    lines, starts = _lines(text)
    end = 0
    for number, line in enumerate(lines):
        if number < end or not line.rstrip().endswith(":") or LIST_ITEM.match(line):
            continue
        near = range(number + 1, min(number + 4, len(lines)))
        first = next((n for n in near if lines[n].strip()), number + 1)
        end = _list_end(lines, first)
        begin = _paragraph(lines, number)
        name = _BLANKS.sub("", " ".join(lines[begin : number + 1]))
        name = " ".join(name.split()).rstrip(":")
        is_long = len(words(text[starts[first] : starts[end]])) >= LONG
        if is_long and 0 < len(name) <= LONGEST_NAME:
            headings.append((starts[begin], starts[begin], TERM, name))
            headings.append((starts[end], starts[end], TERM, ""))
    return headings


def _list_end(lines: list[str], first: int) -> int:
    """Return the number of the line after the list that begins at `first`.

    After a blank line, only an item, or a line that is indented more than the first one, belongs to
    the list: in a manual page, all lines are indented.
    """
    if first >= len(lines) or not LIST_ITEM.match(lines[first]):
        return first
    depth = _indent(lines[first])
    end = first
    for number in range(first, len(lines)):
        line = lines[number]
        if line.strip():
            if end < number and _indent(line) <= depth and not LIST_ITEM.match(line):
                break
            end = number + 1
    return end


def _indent(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


def _paragraph(lines: list[str], number: int) -> int:
    """Return the first line of a line's paragraph, or the line if that is over 3 lines above."""
    above = list(takewhile(str.strip, reversed(lines[max(0, number - 4) : number])))
    return number - len(above) if len(above) < 4 else number


def write_out_tables(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Replace each row of a pipe table by a line such as `North; 2020: 12 crowns`.

    Returns the new text, and the offsets of its rows.
    """
    lines = text.split("\n")
    written: list[str] = []
    rows: list[tuple[int, int]] = []
    place = number = 0
    while number < len(lines):
        end = _table_end(lines, number)
        found = _written_out(lines[number:end]) if end else [lines[number]]
        for line in found:
            if end:
                rows.append((place, place + len(line)))
            place += len(line) + 1
        written += found
        number = end or number + 1
    return "\n".join(written), rows


def _table_end(lines: Sequence[str], number: int) -> int:
    """Return the line after the table that begins here, or 0 if none does."""

    def is_row(place: int) -> bool:
        return place < len(lines) and "|" in lines[place]

    if not (is_row(number) and is_row(number + 2) and _TABLE_RULE.fullmatch(lines[number + 1])):
        return 0
    return next(end for end in count(number + 3) if not is_row(end))


def _written_out(table: Sequence[str]) -> list[str]:
    if len(table[0]) * len(table) > _MOST_GROWTH * sum(map(len, table)):
        return [*table]
    return row_lines(map(_cells, table[2:]), [_cells(table[0])])


def _cells(line: str) -> list[Cell]:
    said = line.strip().removeprefix("|")
    if said.endswith("|") and not said.endswith(r"\|"):
        said = said[:-1]
    return [cell_of(cell.replace(r"\|", "|")) for cell in _BAR.split(said)]
