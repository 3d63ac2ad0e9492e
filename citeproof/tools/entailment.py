"""Does this premise entail this hypothesis? The one question that all verification asks.

`Entailment` is the contract; `open_entailment` makes the one that the settings name. Back ends:
sentence-transformers cross-encoders (`tools/cross_encoder.py`), citeproof's own among them, the
language model as judge (`tools/judge.py`), the first in front of the second (`tools/cascade.py`),
and seq2seq models in TRUE's format (`tools/seq2seq.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from citeproof.errors import SettingsError
from citeproof.prompts import context
from citeproof.types import Passage, Verdict

if TYPE_CHECKING:
    from citeproof.models.progress import Progress
    from citeproof.settings import EntailmentSettings, ModelSettings
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


def open_entailment(
    settings: EntailmentSettings,
    judge: Callable[[], LLM],
    models: ModelSettings | None = None,
    progress: Progress | None = None,
    *,
    judge_name: str = "judge",
) -> Entailment:
    """The entailment model that the settings name; nothing is loaded before the first pair.

    Args:
        settings: The `[entailment]` section.
        judge: Gives the language model that judges, called only if one does.
        models: Where embedded models are kept; by default the user's cache.
        progress: Told about the download of the embedded model.
        judge_name: Which model judges, so that the scores of a cascade are not taken for those of
            one with another judge.

    Raises:
        SettingsError: The settings do not fit together.
        MissingExtraError: The back end needs an extra that is not installed.
    """
    from citeproof.settings import ModelSettings
    from citeproof.tools.scores import KeptScores

    opened = _open(settings, judge, models or ModelSettings(), progress, judge_name)
    return KeptScores(opened, file=settings.cache)


def _open(
    settings: EntailmentSettings,
    judge: Callable[[], LLM],
    models: ModelSettings,
    progress: Progress | None,
    judge_name: str,
) -> Entailment:
    from citeproof.models.entailment import calibration, entailment_folder
    from citeproof.tools.cascade import Cascade
    from citeproof.tools.cross_encoder import CrossEncoder
    from citeproof.tools.judge import Judge
    from citeproof.tools.seq2seq import Seq2Seq

    kind, threshold = settings.backend, settings.threshold
    if settings.kind not in ("auto", kind) or (kind == "seq2seq" and settings.model == "local"):
        raise SettingsError(
            f"entailment.model = {settings.model!r} cannot serve as a {settings.kind}",
            fix="Leave out entailment.kind, or name a model of that kind in entailment.model.",
        )
    if kind == "judge":
        return Judge(judge(), threshold=threshold)
    if kind == "seq2seq":
        return Seq2Seq(settings.model, threshold, settings.batch_size or 32, offline=models.offline)
    fitted = calibration()
    if settings.model == "local":
        first = CrossEncoder(
            fitted.name,
            fitted.threshold if threshold is None else threshold,
            settings.batch_size,
            locate=lambda: str(entailment_folder(models, progress)),
        )
    else:
        first = CrossEncoder(settings.model, threshold, settings.batch_size, offline=models.offline)
    if kind == "cross-encoder":
        return first
    return Cascade(
        first,
        lambda: Judge(judge()),
        band=settings.band or fitted.band,
        blend=fitted.blend,
        judge_name=judge_name,
    )
