"""Whether an answer gives the number that a question asks for; English only."""

from __future__ import annotations

import re

from citeproof.tools.entailment.details import NUMBER_VALUES
from citeproof.tools.entailment.spans import MONTH, YEAR

_ASKS = re.compile(r"\s*(?:\w+\s+)?how many\b", re.IGNORECASE)
_OTHERS = "million billion trillion pair couple dozens hundreds thousands no none all every each"
_NUMBER = re.compile(
    rf"\d|\b(?:{'|'.join([*NUMBER_VALUES, *_OTHERS.split()])}|several|multiple)\b", re.IGNORECASE
)
"""A figure, a number in words, or a share; "some" and "many" are none."""
_NO_COUNT = re.compile(
    rf"\b(?:in|since|by|until|till|from|during|of|before|after|around|between|and)\s+"
    rf"(?:(?:{MONTH.pattern})\s+)?(?:{YEAR.pattern})|\bone of\b|\bfirst\b|\bsecond\b",
    re.IGNORECASE,
)
"""Years, and words that are often not meant as numbers."""


def lacks_number(answer: str, question: str) -> bool:
    """Whether a question asks how many there are, and the answer gives no number of its own.

    To a model, "Some Huguenots settled in Bedfordshire" answers how many did (0.95). Of 419 such
    questions of NQ, SQuAD and ASQA, four have answers without one.

    >>> lacks_number("Some settled there in 1568.", "How many settled there in 1568?")
    True
    >>> lacks_number("A dozen settled there.", "How many settled there?")
    False
    """
    if not _ASKS.match(question):
        return False
    asked = set(re.findall(r"\w+", question.lower()))
    words = re.findall(r"\w+", _NO_COUNT.sub(" ", answer).lower())
    return _NUMBER.search(" ".join(word for word in words if word not in asked)) is None
