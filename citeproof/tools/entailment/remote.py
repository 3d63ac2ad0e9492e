"""Entailment by a classifier at an address, with the scores that it would have in this process.

`citeproof serve` is sent pairs as they are: template, windows and calibration are its own. To the
other servers go the very texts that the model would read here, cut by its own tokenizer, which is
loaded here without its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from typing_extensions import Unpack

from citeproof.errors import ModelError, SettingsError, VerifierOutageError
from citeproof.models.entailment import calibration
from citeproof.settings import EntailmentSettings
from citeproof.tools.entailment.base import Entailment, Pair, Score
from citeproof.tools.entailment.batcher import Batcher
from citeproof.tools.entailment.close_reader import name_close_reader
from citeproof.tools.entailment.dialects import Classifier, Text, find_classifier
from citeproof.tools.entailment.labels import contradiction_index, entailment_index
from citeproof.tools.entailment.preset_model import PresetOptions
from citeproof.tools.entailment.presets import Preset, find_preset
from citeproof.tools.entailment.pretrained import load_tokenizer
from citeproof.tools.entailment.text_classifier import ReadText, TextClassifier
from citeproof.tools.entailment.windows import best_scores, cut_pairs
from citeproof.tools.model_server import ModelServer

_PROBE: Text = ("The tower is high.", "The tower is high.")


def open_remote(
    settings: EntailmentSettings, threshold: float, *, offline: bool = False
) -> Entailment:
    """The model that the settings name, at their `base_url`; it is asked for a score at once.

    Args:
        settings: The `[entailment]` section, with one model.
        threshold: Scores from here on count as entailed.
        offline: Whether a tokenizer may be loaded from this machine only.

    Raises:
        SettingsError: No server has such a model.
        ModelError: The server is not reached, has another model, or gives no scores.
    """
    [model] = settings.models
    preset = None if model == "local" else find_preset(model, settings.preset)
    named = model if preset is None or model != preset.name else preset.hub
    if model == "local":
        named = name_close_reader(calibration().name)
    server = ModelServer("entailment", settings)
    classifier = find_classifier(server, settings.server, named, settings.batch_size or 0)
    if classifier.kind == "citeproof":
        if settings.label is not None:
            raise SettingsError(
                "entailment.label does not go with citeproof serve",
                why="that server reads the outputs of its model by itself",
                fix="Set it there, and leave it out here.",
            )
        pairs = RemotePairs(classifier, threshold)
        pairs.predict([Pair(*_PROBE)])
        return pairs
    name = f"{named} by {classifier.kind}"
    if settings.label is not None:
        name += f" with {settings.label} as entailment"
    if model == "local":
        raise classifier.server.refuse(
            "citeproof's own model is of an architecture that only citeproof serve can serve",
            "Run citeproof serve there.",
        )
    if preset is None:
        encoder = RemoteCrossEncoder(
            classifier,
            threshold,
            name=name,
            label=settings.label,
            tokenizer=lambda: load_tokenizer(model, offline=offline),
        )
        encoder.predict([Pair(*_PROBE)])
        return encoder
    if preset.kind != "classifier" or preset.weights != "transformers":
        raise SettingsError(
            f"entailment.model = {model!r} can be at an address only if citeproof serve has it",
            why="no other server loads it as it is published",
            fix="Run citeproof serve there, or leave out entailment.base_url.",
        )
    reader = RemoteClassifier(
        classifier, preset, model, name=name, threshold=threshold, label=settings.label,
        offline=offline,
    )  # fmt: skip
    reader.predict([Pair(*_PROBE)])
    return reader


class RemotePairs:
    """A model of `citeproof serve`, which cuts, asks and calibrates as in process.

    Args:
        classifier: The model at the server.
        threshold: Scores from here on count as entailed.
    """

    def __init__(self, classifier: Classifier, threshold: float) -> None:
        self.name = classifier.model
        self.threshold = threshold
        self._classifier = classifier
        self._entailed = entailment_index(classifier.labels, self.name)
        self._against = contradiction_index(classifier.labels)
        self._batcher = Batcher(_or_outage(self.predict), abandoned=True)

    @property
    def place(self) -> str:
        """Where it is."""
        return _place(self._classifier)

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order.

        Raises:
            VerifierOutageError: The server gives no scores.
        """
        return await self._batcher.scores(pairs)

    def predict(self, pairs: Sequence[Pair]) -> Sequence[float]:
        """The same, for a caller that may block.

        Raises:
            ModelError: The server gives no scores.
        """
        found = self._classifier.predict([(pair.premise, pair.hypothesis) for pair in pairs])
        return _scores(self._classifier, found, self._entailed, self._against)


class RemoteCrossEncoder:
    """A cross-encoder of text-embeddings-inference, or with one output of vLLM.

    Args:
        classifier: The model at the server.
        threshold: Scores from here on count as entailed.
        name: Its name in reports and kept scores.
        label: The output that is entailment, by its label or number.
        tokenizer: Gives the model's tokenizer, when it comes to that.
    """

    def __init__(
        self,
        classifier: Classifier,
        threshold: float,
        *,
        name: str,
        label: str | None = None,
        tokenizer: Callable[[], Any],
    ) -> None:
        self.name = name
        self.threshold = threshold
        self._classifier = classifier
        self._label = label
        self._load = tokenizer
        self._batcher = Batcher(_or_outage(self.predict), abandoned=True)

    @property
    def place(self) -> str:
        """Where it is."""
        return _place(self._classifier)

    @cached_property
    def _tokenizer(self) -> Any:
        return self._load()

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order.

        Raises:
            VerifierOutageError: The server gives no scores.
        """
        return await self._batcher.scores(pairs)

    def predict(self, pairs: Sequence[Pair]) -> Sequence[float]:
        """The same, for a caller that may block.

        Raises:
            ModelError: The server gives no scores, or the tokenizer cannot be loaded.
        """
        limit = self._classifier.limit or self._tokenizer.model_max_length
        items = cut_pairs(self._tokenizer, limit, pairs)
        found = self._classifier.predict([(item.window, item.hypothesis) for item in items])
        labels = self._classifier.labels or {0: "entailment"}  # vLLM scores one output only
        entailed = entailment_index(labels, self.name, self._label)
        scores = _scores(self._classifier, found, entailed, contradiction_index(labels))
        return list(best_scores(len(pairs), items, scores))


class RemoteClassifier(TextClassifier):
    """A published verifier at text-embeddings-inference or vLLM; see `TextClassifier`.

    Args:
        classifier: The model at the server.
        preset: Template, chunks and output.
        source: Where the tokenizer is, a hub path or a folder.
        label: The output that is entailment, in place of the preset's.
        options: Name, threshold and whether offline.
    """

    def __init__(
        self,
        classifier: Classifier,
        preset: Preset,
        source: str,
        *,
        label: str | None = None,
        **options: Unpack[PresetOptions],
    ) -> None:
        if source == preset.name:
            source = preset.model
        super().__init__(preset, source, label=label, **options)
        self._classifier = classifier
        self._batcher = Batcher(_or_outage(self.predict), abandoned=True)

    @property
    def place(self) -> str:
        """Where it is."""
        return _place(self._classifier)

    def predict(self, pairs: Sequence[Pair]) -> list[float]:
        """The scores of pairs, for a caller that may block.

        Raises:
            ModelError: The server gives no scores, or the tokenizer cannot be loaded.
        """
        return self._predict(pairs)

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            self._loaded = None, load_tokenizer(self._source, offline=self._offline)
        return self._loaded

    def _read(self, texts: Sequence[ReadText]) -> list[float]:
        asked: list[Text] = [
            (own.first, own.second) if own.second else (own.first,) for own in texts
        ]
        found = self._classifier.predict(asked)
        if not found:
            return []
        # vLLM names the likeliest output only, so that the labels are as many as there are.
        labels = self._classifier.labels or {number: str(number) for number in found[0]}
        index = self._index(labels)
        return [_of(chances, index, self._classifier) for chances in found]


def _scores(
    classifier: Classifier, found: Sequence[dict[int, float]], entailed: int, against: int | None
) -> list[Score]:
    return [
        Score(_of(chances, entailed, classifier), None if against is None else chances.get(against))
        for chances in found
    ]


def _of(chances: dict[int, float], index: int, classifier: Classifier) -> float:
    if index not in chances:
        raise classifier.server.refuse(f"it gave no probability of output {index}")
    return chances[index]


def _place(classifier: Classifier) -> str:
    kinds = {"citeproof": "citeproof serve", "tei": "text-embeddings-inference", "vllm": "vLLM"}
    return f"{kinds[classifier.kind]} at {classifier.server.shown}"


def _or_outage(
    predict: Callable[[Sequence[Pair]], Sequence[float]],
) -> Callable[[Sequence[Pair]], Sequence[float]]:
    """Turn errors into outages: the server has answered before, and finished work is kept."""

    def scores(pairs: Sequence[Pair]) -> Sequence[float]:
        try:
            return predict(pairs)
        except ModelError as error:
            raise VerifierOutageError(error.what, why=error.why, fix=error.fix) from error

    return scores
