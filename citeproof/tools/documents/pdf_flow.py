"""Joins the lines of a PDF page to running text."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from citeproof.pdfium import Area
from citeproof.tools.documents.pdf_lines import HYPHEN, Line, gap
from citeproof.types import Box

_LISTED = re.compile(r"\s*(?:[-*•‣▪]|(?:\d{1,3}|[a-z])[.)]|\[\d{1,3}\]|\([a-z\d]{1,2}\))\s")
_SPELLED = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_RANGE = re.compile(r"\d[\xad-]$")
_OPTION = re.compile(r"(?:^|\s)--?[a-z][\w-]*$")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S*[/_~?=&#%.-]$|\w_$")
"""Matches the end of a line that breaks a web address or a name with underscores."""
_STOPS = re.compile(r"[.!?:][\"'”’»)\]]*$")
_CODE_ENDS = re.compile(r"[{};\\]$")
_CODE_BEGINS = re.compile(r"[}#$<>\\]|--\w")
_APART = 0.6
"""Paragraphs and headings stand further apart than lines by this share of a line's height."""
_SHORT = 0.6
"""A line below this share of a page's usual length may end a paragraph."""
_OUTDENT = 0.01
"""A line that begins this share of the page's width further left is no continuation."""


@dataclass
class Flow:
    """The text of a page, and where its lines are."""

    text: str = ""
    boxes: list[Box] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """The offset of each line."""
    rows: list[tuple[int, int]] = field(default_factory=list)
    """The start and the end of each row of a table."""


def count_spellings(lines: Iterable[Line]) -> Counter[str]:
    """Count the words of a document, and its compounds with hyphens."""
    return Counter(word for line in lines for word in _SPELLED.findall(line.text.casefold()))


def flow(
    lines: Sequence[Line],
    start: int,
    spelled: Mapping[str, int],
    headings: Mapping[int, int],
) -> Flow:
    """Join the lines of a page that the layout broke, and the words that it hyphenated.

    Args:
        lines: The lines of the page.
        start: The offset of the page's text in the document's.
        spelled: How often a document has each word; tells a hyphen of the layout from one of the
            word.
        headings: For each line of a heading, the heading's first line; they are joined with each
            other, and not with the text.
    """
    sizes = [len(line.text) for line in lines]
    full = _SHORT * statistics.median(sizes) if sizes else 0
    usual = usual_gap(lines)
    made = Flow()
    for number, (line, following) in enumerate(zip_longest(lines, lines[1:])):
        place = start + len(made.text)
        said, join = line.text.replace(HYPHEN, "-"), "\n"
        if following is None:
            join = ""
        elif not line.is_row and (begun := _broken_word(said, following.text, spelled)):
            said, join = begun, ""
        elif number in headings or number + 1 in headings:
            join = " " if headings.get(number) == headings.get(number + 1) else "\n"
        elif _goes_on(line, following, full, usual):
            join = " "
        made.starts.append(place)
        for piece in line.pieces:
            begin, end = place + piece.start, place + min(piece.end, len(said))
            made.boxes += place_box(begin, end, piece.area)
        if line.is_row:
            made.rows.append((place, place + len(said)))
        made.text += said + join
    made.text = made.text.rstrip("\n ")
    return made


def _broken_word(said: str, then: str, spelled: Mapping[str, int]) -> str:
    """Return a line as the next one continues its last word; "" if it does not.

    A hyphen stays in a range of numbers, in an option, in an address, and where the document
    writes the word so elsewhere.
    """
    if not then:
        return ""
    if _ADDRESS.search(said) and (said[-1] not in ".-" or then[0].islower() or then[0].isdigit()):
        return said
    if _RANGE.search(said) and then[0].isdigit():
        return said
    rest = _SPELLED.match(then)
    if not (said.endswith("-") and said[-2:-1].isalpha() and then[0].islower() and rest):
        return ""
    left, right = _SPELLED.findall(said[:-1])[-1], rest[0]
    compound, word = f"{left}-{right}".casefold(), f"{left}{right}".casefold()
    if _OPTION.search(said) or spelled.get(compound, 0) > spelled.get(word, 0):
        return said
    return said[:-1]


def _goes_on(line: Line, following: Line, full: float, usual: float | None) -> bool:
    """Whether the following line continues the paragraph, or the row, of a line."""
    said, then = line.text, following.text
    if following.goes_on:
        return bool(then)
    if any(one.noted or one.is_row or one.font.fixed for one in (line, following)):
        return False
    if _LISTED.match(then) or _CODE_ENDS.search(said) or _CODE_BEGINS.match(then):
        return False
    height = min(line.area.height, following.area.height)
    apart = usual is not None and gap(line, following) > usual + _APART * height
    outdented = following.area.left < line.area.left - _OUTDENT
    short, stops = len(said) < full, bool(_STOPS.search(said))
    if line.goes_on:  # the last cell of a row goes on only below itself
        return then[:1].islower() and not outdented and not apart
    if then[:1].islower():
        return not ((stops and (short or apart or outdented)) or (short and apart))
    return not (short or stops or apart)


def usual_gap(lines: Sequence[Line]) -> float | None:
    """Return the usual space between lines of a paragraph: below lines that reach the margin."""
    longest = max((len(line.text) for line in lines), default=0)
    gaps = [
        gap(line, following)
        for line, following in pairwise(lines)
        if len(line.text) > 0.8 * longest and not following.goes_on
    ]
    gaps = sorted(space for space in gaps if space > 0)
    return gaps[len(gaps) // 4] if gaps else None  # a heading may be long too


def place_box(start: int, end: int, area: Area) -> list[Box]:
    """Return the box of a stretch of text, clipped to the page; nothing if it is off the page."""
    left, top, right, bottom = (round(min(max(side, 0.0), 1.0), 4) for side in area)
    if start >= end or left >= right or top >= bottom:
        return []
    return [Box(start=start, end=end, left=left, top=top, right=right, bottom=bottom)]
