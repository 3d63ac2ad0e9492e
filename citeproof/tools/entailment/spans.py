"""Finds names, numbers, dates and pieces of code in a text, and replaces them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import dropwhile

from citeproof.tools.entailment.numbers import NUMBER_WORDS, ORDINALS

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
MONTHS = _MONTHS.split("|")
YEAR = re.compile(r"\b1[0-9]{3}\b|\b20[0-2][0-9]\b")
NUMBER = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w-])|(?<![\w.,-])\d+(?:\.\d+)?(?![\w-])"
)
MONTH = re.compile(rf"\b(?:{_MONTHS})\b")
_DATE = re.compile(
    rf"(?:{MONTH.pattern}) \d{{1,2}},? \d{{4}}|\b\d{{1,2}} (?:{MONTH.pattern}) \d{{4}}"
)
_CODE = re.compile(
    r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”|\b(?:Ctrl|Alt|Shift)\+\w+|(?<![\w-])--?[a-zA-Z][\w-]+"
)
"""Commands and labels in their marks, combinations of keys, and options."""
_COUNT = re.compile(rf"\b(?:{'|'.join(NUMBER_WORDS[2:])})\b")
_ORDINAL = re.compile(rf"\b(?:\d+(?:st|nd|rd|th)|{'|'.join(ORDINALS)})\b")
_NAME = re.compile(
    r"\b[A-Z][\w'’.-]*[\w](?: (?:of|the|de|von|van|der|and|for) (?=[A-Z])| (?=[A-Z]))?"
    r"(?:[A-Z][\w'’-]+(?: (?=[A-Z]))?)*"
)
_NO_NAME = re.compile(
    r"The|An?|In|On|At|It|He|She|They|Th(?:is|at|ese|ose)|His|Her|Its|Their|After|Before|When|While"
    r"|As|For|From|By|With|During|Throughout|Since|Although|However|But|And|Or|If|There|Who|What"
    r"|Where|Which|How|Why|Is|Are|Was|Were|Did|Does|Do|Also|Other|Some|Many|Most|All|One|Two|Three"
    rf"|Such|To|Of|I|We|You|Both|Each|Not?|{_MONTHS}"
)
"""Matches words that begin with a capital but are not names."""
_EMPTY = {"the", "a", "an", "of", "and", "in", "to", "for"}


def find_spans(text: str, kind: str) -> list[str]:
    """Return the distinct spans of a kind in a text, in order; none if `KINDS` lacks the kind.

    A count is a number in words. A single word that opens a sentence counts as a name if it is in
    capitals or has more than six letters.
    """
    found = KINDS[kind](text) if kind in KINDS else []
    return list(dict.fromkeys(span for span in found if len(span) > 1 or kind == "number"))


def overlap(one: str, other: str) -> bool:
    """Whether two spans may mean the same: they share a content word, or one has none."""
    a, b = (
        {word for word in re.findall(r"\w+", span.lower()) if word not in _EMPTY}
        for span in (one, other)
    )
    return not a or not b or bool(a & b)


def replace_span(text: str, old: str, new: str) -> str:
    """Return the text with every whole occurrence of a span replaced."""
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)


def _names(text: str) -> list[str]:
    found = []
    for match in _NAME.finditer(text):
        all_words = match.group().strip().split()
        words = list(dropwhile(_NO_NAME.fullmatch, all_words))
        opens = len(words) == len(all_words) and _opens(text, match.start())
        if len(words) > 1 or (words and (not opens or words[0].isupper() or len(words[0]) > 6)):
            found.append(" ".join(words))
    return found


def _opens(text: str, at: int) -> bool:
    """Whether a sentence begins at a position."""
    before = text[:at].rstrip()
    return not before or before[-1] in '.!?"”'


def _numbers(text: str) -> list[str]:
    return [number for number in NUMBER.findall(text) if not YEAR.fullmatch(number)]


KINDS: Mapping[str, Callable[[str], list[str]]] = {
    "code": _CODE.findall,
    "name": _names,
    "number": _numbers,
    "count": _COUNT.findall,
    "year": YEAR.findall,
    "date": _DATE.findall,
    "ordinal": _ORDINAL.findall,
}
"""What finds the spans of each kind."""
