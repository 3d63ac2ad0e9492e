"""How many of a method's own proofs another judge does not share."""

from __future__ import annotations

from citeproof.evaluation.examples import Scores
from citeproof.evaluation.metrics.judging import Asking
from citeproof.tools.entailment import Pair, premise
from citeproof.types import Answer

__all__ = ["wrongly_proved"]


def wrongly_proved(answer: Answer) -> Asking[Scores]:
    """The share of the claims given as proved that the judge does not find in what they cite.

    What an answer flags as unproved is no mistake here. Nothing where no claim is given as proved.
    The judge that proved the answer agrees with itself; ask another one.
    """
    proved = [claim for claim in answer.claims if claim.verdict.status == "supported"]
    if not proved:
        return {}
    cited = [[answer.passages[c.number - 1] for c in claim.citations] for claim in proved]
    pairs = zip(cited, proved, strict=True)
    holds = yield [Pair(premise(passages), claim.text) for passages, claim in pairs]
    return {"wrongly_proved": holds.count(False) / len(proved)}
