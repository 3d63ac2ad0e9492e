"""Does this premise entail this hypothesis? The one question that all verification asks.

`Entailment` is the contract; `opening.open_entailment` makes the one that the settings name.
"""

from citeproof.tools.entailment.base import (
    Entailment,
    Pair,
    Score,
    contradicts,
    halfway,
    pair,
    premise,
    question_hypothesis,
)
from citeproof.tools.entailment.support import (
    OUTAGE,
    Premise,
    Support,
    denies,
    find_support,
    find_supports,
    trimmed_support,
    unchecked,
    whole_support,
)

__all__ = [
    "OUTAGE",
    "Entailment",
    "Pair",
    "Premise",
    "Score",
    "Support",
    "contradicts",
    "denies",
    "find_support",
    "find_supports",
    "halfway",
    "pair",
    "premise",
    "question_hypothesis",
    "trimmed_support",
    "unchecked",
    "whole_support",
]
