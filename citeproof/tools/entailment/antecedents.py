"""Replaces the pronoun that opens a claim by what it may stand for; English only.

"It was built in 1871" is entailed by a passage on any tower. What "it" is, is said before the
claim, and an entailment model reads only the claim and a passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from citeproof.tools.entailment.matter import is_about
from citeproof.tools.entailment.spans import find_spans
from citeproof.tools.entailment.verbatim import is_verbatim
from citeproof.tools.sentences import sentences
from citeproof.types import Passage

_PRONOUN = re.compile(r"(?:It|He|She|They)(?P<is_subject>)\b|(?:Its|His|Her|Their)\b")
_JUDGEMENTS = """
    best better good bad wise important possible impossible necessary essential easy hard difficult
    safe common clear certain likely unlikely true false rare useful helpful legal illegal optional
    mandatory sufficient enough time worth crucial vital normal typical unclear known said thought
    recommended suggested advised required needed expected permitted allowed planned intended
    believed assumed estimated reported
"""
_STANDS_FOR_NOTHING = re.compile(
    r"It (?:is|was|has been|will be|can be|may be|would be)(?: (?:not|also|very|often|only|\w+ly))*"
    rf" (?:{'|'.join(_JUDGEMENTS.split())}|\w+able) (?:to|that|for|when|if|whether|how|why|where)\b"
    r"|It (?:is|was) (?:[A-Z]\S* ){1,4}(?:who|that)\b"
    r"|It (?:(?:seems|seemed|appears|appeared|follows|turned out) that|rained|snowed"
    r"|(?:takes|took) .{1,30} (?:to|for|until|before))\b"
)
"""As in "It is recommended to wait"."""
_ADJUNCT = re.compile(
    r"(?:In|On|At|By|During|After|Before|Since|From|For|With|As|According to)\b[^,]{1,80}, "
)
_VERB = (
    r"(?:is|are|was|were|has|have|had|can|could|will|would|may|might|must|shall|should|does|did"
    r"|became|began|made|took|gave|won|led|wrote|allows|lets|uses|means|refers|\w{3,}ed)"
)
_SUBJECT = re.compile(rf"(?P<subject>\S+(?: \S+){{0,7}}?) (?:also |then |later )?{_VERB}\b")
_NO_SUBJECT = re.compile(r"(?i:we|you|i|there|this|these|the|an?|what|who|when|where|which|how)\Z")
_ARTICLE = re.compile(r"(?:An?|One|This|That|These|Those) (?=\w)")
_NAME = re.compile(r"[^\W\d_a-zß-öø-ÿ][\w'’-]{2,}")
_THING = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\b(?:an?|the|one|its|his|her|their) "
    r"((?:[a-z][\w-]* ){0,2}?[a-z][\w-]*)(?=[,.;:?!]|\Z"
    r"| (?:in|on|at|by|for|of|to|from|with|and|or|that|which|who|as|is|was|are|were)\b)"
)
"""Something with an article, but not what the subject is said to be."""
_OTHER = re.compile(r"\b(?:it|him|her|them|its|his|their)\b")
"""What may stand for the same as a pronoun that follows."""
_MOST = 4
"""Most things that a pronoun may stand for; each is checked."""


class Reading(NamedTuple):
    """A way to read a claim."""

    text: str
    name: str = ""
    """What takes the place of the claim's pronoun."""

    def select(self, passages: Mapping[int, Passage]) -> dict[int, Passage]:
        """Those of the passages that speak of what the claim is about, if that has a name."""
        names = " ".join(_NAME.findall(self.name.removeprefix("The ")))
        return {
            number: passage
            for number, passage in passages.items()
            if is_about(passage.premise, names, 0.5)
        }


def name_pronoun(claim: str, before: str) -> list[Reading]:
    """Return what a claim may say after another text; the claim itself if no pronoun opens it.

    >>> [one.text for one in name_pronoun("Its lamp is lit.", "The tower is old. It was Lee's.")]
    ["The tower's lamp is lit."]
    >>> [one.name for one in name_pronoun("It was lit.", "In May, Ann Lee saw the pier in Pellow.")]
    ['The pier', 'Ann Lee', 'Pellow']
    >>> name_pronoun("She was a mason.", ""), name_pronoun("Bell was a mason.", "Lee was one.")
    ([Reading(text='She was a mason.', name='')], [Reading(text='Bell was a mason.', name='')])
    """
    found = _PRONOUN.match(claim)
    if not found or _STANDS_FOR_NOTHING.match(claim):
        return [Reading(claim)]
    ending = "'s" if found["is_subject"] is None else ""
    named = list(dict.fromkeys(_antecedents(before)))[:_MOST]
    rest = claim[found.end() :]
    return [Reading(f"{name}{ending}{rest}", name) for name in named] or [Reading(claim)]


def _antecedents(text: str) -> Iterator[str]:
    """Yield what the last sentence without a pronoun is about, and the sentences after it.

    These are their subjects, other things and names. A question gives only names, since "it" may
    be what is asked for.
    """
    for sentence in reversed(sentences(text)):
        main = _ADJUNCT.sub("", sentence, count=1)
        if sentence.endswith("?"):
            yield from find_spans(sentence, "name")
        elif not _PRONOUN.match(main):
            found = _SUBJECT.match(main)
            if found and not _NO_SUBJECT.match(found["subject"]):
                yield _ARTICLE.sub("The ", found["subject"])
            yield from (f"The {thing}" for thing in _THING.findall(main))
            yield from find_spans(sentence, "name")
            if not _OTHER.search(sentence):
                return


def continues_quote(claim: str, before: str, passage: Passage) -> bool:
    """Whether a claim and the sentence before it are consecutive sentences of a passage."""
    last = sentences(before)[-1:]
    return bool(last) and is_verbatim(passage.premise, f"{last[0]} {claim}")
