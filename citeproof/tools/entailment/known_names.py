"""Names of a claim that its premise lacks in each of their usual forms."""

from __future__ import annotations

import re
import unicodedata

from citeproof.tools.entailment.spans import MONTHS

_SHORT_MONTHS = "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)}|{_SHORT_MONTHS})\b")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)(?<![\w'’])(?:[^\W\d_a-zß-öø-ÿ]|[a-z]{1,3}[A-Z])[\w'’-]*\w")
"""Matches "iPhone" and "macOS" too."""
_HALF_DAY = re.compile(r"(?<=\d) ?[AaPp]\.?[Mm]\b")
_STATES = re.compile(
    r"\b[Uu](?:\. ?([SKN])\b|SA\b|nited ([Ss]tates(?: of America)?|[Kk]ingdom|[Nn]ations)\b)"
)
_WORDS_TOO = {"bath", "china", "it", "mobile", "nice", "polish", "reading", "turkey", "us", "who"}
"""Names that are other words without a capital."""
_ENDINGS = (
    "s es d ed y n ns an ans ian ians ish ese i is ic er ers ia stan istan al ional ity ism ist"
)
_LANDS, _PEOPLE = "a e y ia o ain and land", "an ans ian ians ish tish ese ic ies s"
_ADDED, _OF_LANDS, _OF_PEOPLE = (frozenset(x.split()) for x in (_ENDINGS, _LANDS, _PEOPLE))
_ACCENT, _PUNCTUATION = re.compile("[\u0300-\u036f]"), re.compile(r"[^\w\s]")
_LETTERS = str.maketrans("łøđı", "lodi")
"""Letters that Unicode does not decompose."""


def missing_names(premise: str, claim: str) -> list[str]:
    """Return the claim's names that the premise lacks; what opens a sentence is none.

    >>> missing_names("She wrote in the U.S. and in Italy.", "The US had Italian and Greek books.")
    ['Greek']
    >>> missing_names("Songs can be copied to a phone.", "Songs can be copied to an iPhone.")
    ['iPhone']
    """
    premise, claim = _STATES.sub(_initials, premise), _STATES.sub(_initials, claim)
    found = _NAME.findall(_HALF_DAY.sub(" ", claim))
    names = dict.fromkeys(name.removesuffix("'s").removesuffix("’s") for name in found)
    # Scripts without capitals have no names to tell from words.
    said = [name for name in names if name[0].isascii() or name[0].isupper()]
    known = set(_plain(premise).split()) if said else set()
    return [name for name in said if not _is_known(name, known, premise)]


def _initials(state: re.Match[str]) -> str:
    return f"U{(state[1] or state[2] or 'S')[0].upper()}"


def _is_known(name: str, known: set[str], premise: str) -> bool:
    """Whether a premise, of these words, has a name or a form of it."""
    if not premise.islower():
        if _MONTH.fullmatch(name):
            return name[:3] in {month[:3] for month in _MONTH.findall(premise)}
        if name.lower() in _WORDS_TOO and not re.search(rf"\b{name[0]}(?i:{name[1:]})\b", premise):
            known = known - {name.lower()}
    return all(
        word in known or (len(word) > 4 and any(_is_form(word, other) for other in known))
        for word in _plain(name).split()
    )


def _is_form(word: str, other: str) -> bool:
    """Whether words differ in usual endings: Italy and Italian do, Austria and Australia do not."""
    if word[:4] != other[:4] or "niger" in (word, other):  # not Nigeria's
        return False
    pairs = enumerate(zip(word, other, strict=False))
    alike = next((i for i, (a, b) in pairs if a != b), min(len(word), len(other)))
    ends = {word[alike:], other[alike:]}
    return bool(ends & _OF_LANDS and ends & _OF_PEOPLE) or ("" in ends and bool(ends & _ADDED))


def _plain(text: str) -> str:
    """The text in small letters, without accents, punctuation and possessives."""
    low = text.lower().replace("'s", "").replace("’s", "")
    if not low.isascii():
        low = _ACCENT.sub("", unicodedata.normalize("NFKD", low.translate(_LETTERS)))
    return _PUNCTUATION.sub(" ", low)
