"""Locates checked sentences in the original text.

A checked sentence has lost its marks, bullets and emphasis, so it is located by its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.text import CLOSERS, STOPS
from citeproof.tools.citations.marked_text import MARK
from citeproof.tools.sentences import Span, starts, words

_GAP = 24
"""Maximum words between two words of a sentence, such as marks and link addresses."""
_LINE = re.compile(r"\S(?:.*\S)?")
_OPENING = re.compile(r"[\"“'‘«「『（(*_`\[]*$")
_CLOSING = re.compile(
    rf"(?:[^\S\n]*(?:{MARK}|\[(?:unverified|contradicted)\])|[{STOPS}:;{CLOSERS}\]*_`])*",
    re.IGNORECASE,
)


def locate(text: str, sentences: Sequence[str]) -> list[Span | None]:
    """Locate each sentence that `check` found in a text, including its marks and full stop.

    None stands for one that is not found. The sentence of a table row also contains the column
    names, so its span is the whole line.
    """
    written, places = words(text), starts(text)
    known = [word.casefold() for word in written]
    found: list[Span | None] = []
    begin = 0
    for sentence in sentences:
        wanted = [word.casefold() for word in words(sentence)]
        if hit := _follow(known, wanted, begin):
            first, last = hit
            begin = last + 1
            found.append(_widen(text, places[first], places[last] + len(written[last])))
        else:
            after = places[begin] if begin < len(places) else len(text)
            line = _line(text, set(wanted), after)
            found.append(line)
            while line and begin < len(places) and places[begin] < line.end:
                begin += 1
    return found


def _follow(known: Sequence[str], wanted: Sequence[str], begin: int) -> tuple[int, int] | None:
    """Return the positions of the first and last wanted words, if all occur in order and nearby."""
    if not wanted:
        return None
    for first in range(begin, len(known) - len(wanted) + 1):
        if known[first] != wanted[0]:
            continue
        last = first
        for word in wanted[1:]:
            near = range(last + 1, min(last + 2 + _GAP, len(known)))
            if (following := next((n for n in near if known[n] == word), None)) is None:
                break
            last = following
        else:
            return first, last
    return None


def _line(text: str, wanted: set[str], after: int) -> Span | None:
    """Return the line with the most of the wanted words, among those that end after `after`."""
    best, span = 0, None
    for line in _LINE.finditer(text, text.rfind("\n", 0, after) + 1):
        shared = len(wanted & {word.casefold() for word in words(line[0])})
        if shared > best and line.end() > after:
            best, span = shared, Span(*line.span())
    return span


def _widen(text: str, start: int, end: int) -> Span:
    """Extend a span to include its quotation marks, full stop and citation marks."""
    line = text.rfind("\n", 0, start) + 1
    opening = _OPENING.search(text, line, start)
    closing = _CLOSING.match(text, end)
    assert opening is not None
    assert closing is not None
    return Span(opening.start(), closing.end())
