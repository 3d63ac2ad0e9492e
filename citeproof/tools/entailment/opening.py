"""Opens the entailment model that the settings name.

Back ends: sentence-transformers cross-encoders (`cross_encoder.py`), of which citeproof's own reads
closely (`close_reader.py`); the language model as judge (`judge.py`); a classifier in front of the
judge (`cascade.py`); published verifiers (`presets.py`); a classifier at an address (`remote.py`);
and several of these together (`ensemble.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from citeproof.errors import SettingsError
from citeproof.models.merged import ANSWERABILITY, ENTAILMENT, MergedModel, merged_models
from citeproof.settings import EntailmentSettings, LLMSettings, ModelSettings, Settings
from citeproof.tools.entailment.answerability import Answerability
from citeproof.tools.entailment.base import Entailment
from citeproof.tools.entailment.cache import CachedEntailment
from citeproof.tools.entailment.cascade import Cascade
from citeproof.tools.entailment.chat_verifier import ChatVerifier
from citeproof.tools.entailment.close_reader import CloseReader
from citeproof.tools.entailment.cross_encoder import CrossEncoder
from citeproof.tools.entailment.ensemble import Ensemble
from citeproof.tools.entailment.judge import Judge
from citeproof.tools.entailment.presets import PRESETS, Preset, find_preset
from citeproof.tools.entailment.remote import open_remote, open_remote_answerability
from citeproof.tools.entailment.risk import calibration_scores, choose_threshold
from citeproof.tools.entailment.seq2seq import Seq2Seq
from citeproof.tools.entailment.text_classifier import PresetModel, TextClassifier
from citeproof.tools.entailment.token_labels import TokenLabels
from citeproof.tools.llm.chat_models import label

if TYPE_CHECKING:
    from citeproof.models.progress import Progress
    from citeproof.tools.llm.model import LLM

_KINDS: Mapping[str, type[PresetModel]] = {
    "classifier": TextClassifier,
    "tokens": TokenLabels,
    "seq2seq": Seq2Seq,
}


def open_entailment(
    settings: EntailmentSettings,
    judge: Callable[[], LLM],
    models: ModelSettings | None = None,
    progress: Progress | None = None,
    *,
    judge_name: str = "judge",
) -> Entailment:
    """Open the entailment model that the settings name; loads nothing before the first pair.

    A model at an address scores a test pair when it is opened, so that errors show immediately.

    Args:
        settings: The `[entailment]` section.
        judge: Returns the language model that judges; called only if one is needed.
        models: Where embedded models are stored; defaults to the user's cache.
        progress: Receives the progress of the embedded model's download.
        judge_name: The name of the judging model, which keeps apart the cached scores of cascades
            with different judges.

    Raises:
        SettingsError: The settings do not fit together.
        MissingExtraError: The back end needs an extra that is not installed.
        ModelError: The server at `entailment.base_url` cannot be used.
    """
    opener = _Opener(settings, judge, models or ModelSettings(), progress, judge_name)
    return CachedEntailment(opener.open(), file=settings.cache)


def open_first(settings: EntailmentSettings, models: ModelSettings) -> Entailment:
    """Open the classifier that the settings name, without the judge behind it and without a cache.

    Raises what `open_entailment` does.
    """

    def refuse() -> LLM:
        raise _unfit(settings.model, "cross-encoder")

    opened = _Opener(settings, refuse, models, None, "").open()
    return opened.first if isinstance(opened, Cascade) else opened


def shipped_threshold(settings: EntailmentSettings) -> float:
    """Return the threshold of the shipped model: as set, chosen by `false_proofs`, or fitted.

    Beside other models it is the fitted one, since the settings' is that of all together.
    """
    if settings.threshold is not None and len(settings.models) == 1:
        return settings.threshold
    if settings.false_proofs is None:
        return ENTAILMENT.calibration.threshold
    return choose_threshold(calibration_scores()[1], settings.false_proofs)


def open_answerability(settings: Settings, progress: Progress | None = None) -> Entailment | None:
    """Open the model that decides whether a text answers a question, if the settings want one.

    Its pairs are a text and `question_hypothesis(question)`. Where citeproof's entailment model is
    at an address, so is this one.
    """
    wanted, verifies = settings.answerability, settings.entailment
    if not settings.wants_answerability:
        return None
    threshold = wanted.threshold
    if threshold is None:
        threshold = ANSWERABILITY.calibration.threshold
    if ANSWERABILITY not in merged_models(settings):
        return CachedEntailment(open_remote_answerability(verifies, threshold))
    model = _open_own(ANSWERABILITY, threshold, verifies.batch_size, settings.models, progress)
    return CachedEntailment(Answerability(model))


def _open_own(
    own: MergedModel,
    threshold: float,
    batch_size: int | None,
    models: ModelSettings,
    progress: Progress | None,
) -> CrossEncoder:
    """Open one of citeproof's own cross-encoders, which is made when it is first needed."""
    return CrossEncoder(
        own.name,
        threshold,
        batch_size,
        contradiction=own.calibration.contradiction,
        locate=lambda: str(own.make_folder(models, progress)),
    )


@dataclass(frozen=True)
class _Opener:
    """See `open_entailment`."""

    settings: EntailmentSettings
    judge: Callable[[], LLM]
    models: ModelSettings
    progress: Progress | None
    judge_name: str

    def open(self) -> Entailment:
        """Open the model that the settings name, without a cache."""
        settings, named = self.settings, self.settings.models
        _check(settings)
        cascaded = settings.kind == "cascade" or settings.backend == "cascade"
        if (cascaded and "judge" in named) or (settings.kind == "judge" and len(named) > 1):
            raise _unfit(settings.model, settings.kind)
        if settings.kind == "judge":
            return Judge(self.judge(), threshold=settings.threshold)
        members = [self._one(model) for model in named]
        several = len(members) > 1
        first = Ensemble(members, settings.combine, settings.threshold) if several else members[0]
        if not cascaded:
            return first
        if isinstance(first, ChatVerifier):
            raise SettingsError(
                f"entailment.model = {settings.model!r} cannot serve as a cascade",
                why="it replaces the language model that would judge",
                fix="Leave out entailment.kind.",
            )
        fitted = ENTAILMENT.calibration
        return Cascade(
            first,
            lambda: Judge(self.judge()),
            band=settings.band or fitted.band,
            blend=fitted.blend,
            judge_name=self.judge_name,
        )

    def _one(self, model: str) -> Entailment:
        """Open one model, without the judge behind it in a cascade."""
        settings = self.settings
        given = settings.threshold if len(settings.models) == 1 else None
        if model == "judge":
            if settings.kind not in ("auto", "cascade"):
                raise _unfit(model, settings.kind)
            return Judge(self.judge(), threshold=given)
        threshold = 0.5 if given is None else given
        if model == "local":
            if settings.kind == "seq2seq":
                raise _unfit(model, settings.kind)
            threshold = shipped_threshold(settings)
            if settings.base_url is None:
                options = threshold, settings.batch_size, self.models, self.progress
                return CloseReader(_open_own(ENTAILMENT, *options))
        if settings.base_url is not None:
            return open_remote(settings, threshold, offline=self.models.offline)
        preset = find_preset(model, settings.preset)
        by_itself = preset.kind if preset else "cross-encoder"
        kind = by_itself if settings.kind in ("auto", "cascade") else settings.kind
        if preset and kind != by_itself:
            raise _unfit(model, settings.kind)
        if settings.label is not None and kind not in ("cross-encoder", "classifier"):
            raise SettingsError(
                f"entailment.label does not go with {model}",
                why="it has no outputs to choose from",
                fix="Leave out entailment.label.",
            )
        source = name = model
        if preset is not None:
            own = model in (preset.name, preset.hub)
            source = preset.model if own else model
            name = preset.hub if own else f"{model} as {preset.name}"
        if settings.label is not None:
            name += f" with {settings.label} as entailment"  # its scores differ
        if preset is not None and kind == "chat":
            llm = _served_llm(self.judge, self.judge_name, preset)
            return ChatVerifier(llm, preset, threshold=threshold)
        more: dict[str, Any] = {"threshold": threshold, "batch_size": settings.batch_size}
        more |= {"offline": self.models.offline, "label": settings.label}
        if kind == "cross-encoder":
            return CrossEncoder(name, locate=lambda: source, **more)
        return _KINDS[kind](preset or PRESETS["true"], source, name=name, **more)


def _check(settings: EntailmentSettings) -> None:
    """Refuse settings that contradict each other."""
    if not settings.models:
        raise SettingsError(
            "entailment.model names no model", fix='Write "local", or the name of a verifier.'
        )
    if settings.false_proofs is not None and (
        settings.threshold is not None or settings.models != ("local",)
    ):
        raise SettingsError(
            "entailment.false_proofs cannot be used with these settings",
            why="it chooses the threshold of citeproof's own cross-encoder",
            fix='Leave out entailment.threshold, and set entailment.model = "local".',
        )
    if settings.base_url is not None and (
        len(settings.models) > 1
        or settings.models[0] == "judge"
        or settings.kind in ("judge", "seq2seq")
    ):
        raise SettingsError(
            f"entailment.base_url does not go with entailment.model = {settings.model!r}"
            + (f" as a {settings.kind}" if settings.kind in ("judge", "seq2seq") else ""),
            why="the address is that of one classifier; a language model that judges has its own, "
            "roles.judge.base_url",
            fix="Name one classifier, or leave out entailment.base_url.",
        )
    for key in ("preset", "label"):
        if getattr(settings, key) is not None and (
            len(settings.models) > 1 or settings.models[0] in ("local", "judge")
        ):
            raise SettingsError(
                f"entailment.{key} does not go with entailment.model = {settings.model!r}",
                why="it describes one model that is not citeproof's own",
                fix=f"Leave out entailment.{key}, or name that one model.",
            )


def _unfit(model: str | tuple[str, ...], kind: str) -> SettingsError:
    return SettingsError(
        f"entailment.model = {model!r} cannot serve as a {kind}",
        fix="Leave out entailment.kind, or name a model of that kind in entailment.model.",
    )


def _served_llm(judge: Callable[[], LLM], judge_name: str, preset: Preset) -> LLM:
    """Return the language model, unless it is the embedded one, which was not trained for this."""
    embedded = label(LLMSettings())
    # Check the settings first, since opening the embedded model may download it.
    if judge_name != f"judge {embedded}" and (llm := judge()).name != embedded:
        return llm
    raise SettingsError(
        f"entailment.model = {preset.name!r} needs a server",
        why="the model of the role judge is the embedded one",
        fix=f'Set roles.judge.model = "vllm:{preset.model}", or roles.judge.base_url to a server '
        "that has it.",
    )
