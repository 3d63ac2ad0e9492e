"""Which passages belong together: those of one document, and those that name one another."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citeproof.tools.sentences import contains
from citeproof.types import Passage

_ASIDE = re.compile(r"\s*[(,:]")
_KINDS = """
    album article book chapter document documentation edition film guide handbook introduction
    list manual movie notes novel overview page part report season song summary volume
"""
"""Last words of titles that say what a document is, not what it is about."""


def are_linked(passages: Iterable[Passage], claim: str) -> bool:
    """Whether a chain of links joins all passages.

    An entailment model combines what it reads: a town where *Maximum Overdrive* was shot in 1986,
    and a film of 1986 that Randal Kleiser directed, "prove" that he directed *Maximum Overdrive*.
    Only the year links the two passages.

    Two passages are linked if they are parts of one document, if the text of one names the title of
    the other, or if the claim names both titles (`names_title`). A passage without a title is
    linked with any other.

    Three documents are linked only if the claim also names the title of each. "The rapper from
    Harlem who featured on the album is Big Boi" was proved (0.91) by the album, which has many
    guests, by the article on him, and by that on another guest, who is from Harlem.

    The rule links all of 53 pairs of passages that together answer a question of HotpotQA, and two
    thirds of 27 pairs of MuSiQue, whose links are looser. Of random pairs it links one in fifty.
    """
    reached, *left = passages
    documents = {(one.title, one.source) for one in (reached, *left) if one.title}
    if len(documents) > 2 and not all(names_title(claim, title) for title, _ in documents):
        return False
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
    named = names_title(claim, one.title) and names_title(claim, other.title)
    return named or names_title(one.text, other.title) or names_title(other.text, one.title)


def names_title(text: str, title: str) -> bool:
    """Whether a text names a title.

    It does if it contains the title up to its comma, colon or bracket, or the last word of that
    part if it has more than three letters: "Lane" for "Ann Lane (architect)". A number or a word
    such as "guide" is too common.
    """
    text, name = text.casefold(), _ASIDE.split(title, maxsplit=1)[0].strip().casefold()
    last = next(reversed(re.findall(r"\w+", name)), "")
    names = [name]
    if len(name) > 3:
        names.append(f"{name}s")
    if len(last) > 3 and not last[0].isdigit() and last not in _KINDS.split():
        names.append(last)
    return any(contains(text, written) for written in names)
