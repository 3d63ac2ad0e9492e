"""Entailment: whether a premise entails a hypothesis, which is all that verification asks.

`Entailment` is the protocol; `opening.open_entailment` opens the model that the settings name.
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
