"""Does this premise entail this hypothesis? The one question that all verification asks.

`Entailment` is the contract; `open_entailment` makes the one that the settings name. Back ends:
the language model as judge (`tools/judge.py`), sentence-transformers cross-encoders
(`tools/cross_encoder.py`), and seq2seq models in TRUE's format (`tools/seq2seq.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from citeproof.prompts import context
from citeproof.types import Passage, Verdict

if TYPE_CHECKING:
    from citeproof.settings import EntailmentSettings
    from citeproof.tools.llm import LLM

__all__ = ["Entailment", "Pair", "open_entailment", "pair", "premise", "verify"]


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis."""

    premise: str
    hypothesis: str
    prefix: str = field(default="", compare=False)
    """The premise as the run's language model reads it, question and fences included. A judge
    that asks after these bytes finds them in the server's key-value cache."""


class Entailment(Protocol):
    """A model that scores pairs.

    `scores` gives, in the order of the pairs, the probability (0 to 1) that the premise entails
    the hypothesis. Equal pairs have equal scores and are computed once; concurrent callers
    share batches.
    """

    @property
    def name(self) -> str:
        """The model, as reports name it."""

    @property
    def threshold(self) -> float:
        """Scores from here on count as entailed."""

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order."""


def premise(passages: Sequence[Passage]) -> str:
    """Passages as one premise: title line and text each, joined by newlines (ALCE)."""
    return "\n".join(passage.premise for passage in passages)


def pair(question: str, passages: Mapping[int, Passage], claim: str) -> Pair:
    """The pair that checks a claim against numbered passages, in order of their numbers."""
    ordered = [passages[number] for number in sorted(passages)]
    return Pair(premise(ordered), claim, prefix=context(question, passages))


async def verify(
    entailment: Entailment,
    question: str,
    passages: Mapping[int, Passage],
    claim: str,
    *,
    tier: Literal["cited", "memory"],
    trials: int,
) -> Verdict:
    """Whether numbered passages together entail a claim: one tier of a verifier.

    Args:
        entailment: The model that scores, and its threshold.
        question: The question of the run, for the pair's prefix.
        passages: Number → passage; at least one.
        claim: The claim, without citation marks.
        tier: Which passages these are.
        trials: How many times the claim has been written.
    """
    [score] = await entailment.scores([pair(question, passages, claim)])
    holds = score >= entailment.threshold
    status: Literal["supported", "unsupported"] = "supported" if holds else "unsupported"
    return Verdict(status=status, tier=tier, score=score, trials=trials)


def open_entailment(settings: EntailmentSettings, judge: Callable[[], LLM]) -> Entailment:
    """The entailment model that the settings name; nothing is loaded before the first pair.

    Args:
        settings: The `[entailment]` section.
        judge: Gives the language model that judges, called only if one does.

    Raises:
        MissingExtraError: The back end needs an extra that is not installed.
    """
    from citeproof.tools.scores import KeptScores

    kind = settings.kind
    if kind == "auto":
        kind = "judge" if settings.model == "judge" else "cross-encoder"
    model: Entailment
    if kind == "judge":
        from citeproof.tools.judge import Judge

        model = Judge(judge(), threshold=settings.threshold)
    elif kind == "seq2seq":
        from citeproof.tools.seq2seq import Seq2Seq

        model = Seq2Seq(settings.model, settings.threshold, settings.batch_size)
    else:
        from citeproof.tools.cross_encoder import CrossEncoder

        model = CrossEncoder(settings.model, settings.threshold, settings.batch_size)
    return KeptScores(model, file=settings.cache)
