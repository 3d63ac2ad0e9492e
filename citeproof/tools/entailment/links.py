"""Whether passages refer to one another, so that together they may prove what neither proves alone.

A model of entailment joins what it reads: a town where *Maximum Overdrive* was shot in 1986, and a
film of 1986 that Randal Kleiser directed, "prove" that he directed *Maximum Overdrive*. Nothing but
the year links the two passages. Of 53 pairs of passages that answer a question of HotpotQA
together, the rule here links all, and of passages drawn at random one in fifty; of 27 of MuSiQue,
whose links are looser, two thirds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from citeproof.types import Passage

_ASIDE = re.compile(r"\s*[(,:]")
_WORD = re.compile(r"\w+")


def are_linked(passages: Iterable[Passage], claim: str) -> bool:
    """Whether a chain of links joins all passages.

    Two are linked if they are parts of one document, if the text of one names the title of the
    other, or if the claim names both titles. A title is named by what stands before its comma or
    bracket, or by its last word: "Lee" for "Ann Lee (architect)". One without a title can be
    linked with any.
    """
    reached, *left = passages
    waiting = [reached]
    while waiting and left:
        one = waiting.pop()
        near = [other for other in left if _are_two_linked(one, other, claim)]
        left = [other for other in left if other not in near]
        waiting += near
    return not left


def _are_two_linked(one: Passage, other: Passage, claim: str) -> bool:
    if not (one.title and other.title) or (one.title, one.source) == (other.title, other.source):
        return True
    named = _names(claim, one.title) and _names(claim, other.title)
    return named or _names(one.text, other.title) or _names(other.text, one.title)


def _names(text: str, title: str) -> bool:
    text, name = text.casefold(), _ASIDE.split(title, maxsplit=1)[0].strip().casefold()
    last = _WORD.findall(name)[-1:]
    return (bool(name) and name in text) or bool(
        last and len(last[0]) > 3 and last[0] in _WORD.findall(text)
    )
