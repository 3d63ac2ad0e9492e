"""Entailment by a classifier at an address, with the same scores as in this process.

`citeproof serve` receives the pairs unchanged, and applies template, windows and calibration
itself. Other servers receive the exact texts that the model would read here. They are cut by the
model's own tokenizer, which is loaded here without the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any, TypeAlias

from citeproof.errors import ModelError, ModelOutageError, SettingsError, VerifierOutageError
from citeproof.models.merged import ANSWERABILITY, ENTAILMENT
from citeproof.settings import EntailmentSettings
from citeproof.tools.entailment.answerability import name_answerability
from citeproof.tools.entailment.base import Entailment, Pair, Score
from citeproof.tools.entailment.batcher import Batcher
from citeproof.tools.entailment.close_reader import name_close_reader
from citeproof.tools.entailment.dialects import Classifier, Text, find_classifier
from citeproof.tools.entailment.labels import contradiction_index, entailment_index
from citeproof.tools.entailment.presets import Preset, find_preset
from citeproof.tools.entailment.pretrained import load_tokenizer
from citeproof.tools.entailment.text_classifier import ReadText, TextClassifier
from citeproof.tools.entailment.windows import best_scores, cut_pairs
from citeproof.tools.model_server import ModelServer

_PROBE = Pair("The tower is high.", "The tower is high.")
_Predict: TypeAlias = Callable[[Sequence[Pair]], Sequence[float]]


def open_remote(
    settings: EntailmentSettings, threshold: float, *, offline: bool = False
) -> Entailment:
    """Open the model that the settings name, at their `base_url`, and have it score a test pair.

    Scores from `threshold` on count as entailed.

    Raises:
        SettingsError: The server cannot serve such a model, or reads its outputs itself although
            `label` is set.
        ModelError: The server is not reached, has another model, or returns no scores.
    """
    [model] = settings.models
    preset = None if model == "local" else find_preset(model, settings.preset)
    named = source = model
    if model == "local":
        named = name_close_reader(ENTAILMENT.name)
    if preset is not None and model == preset.name:
        named, source = preset.hub, preset.model
    server = ModelServer("entailment", settings)
    classifier = find_classifier(server, settings.server, named, settings.batch_size or 0)
    if classifier.kind == "citeproof":
        if settings.label is not None:
            raise SettingsError(
                "entailment.label does not go with citeproof serve",
                why="that server chooses its model's entailment output itself",
                fix="Set it there, and leave it out here.",
            )
        return RemoteModel(
            classifier, classifier.model, threshold, partial(_score_pairs, classifier)
        )
    name = f"{named} by {classifier.kind}"
    if settings.label is not None:
        name += f" with {settings.label} as entailment"
    if model == "local":
        raise classifier.server.refuse(
            "citeproof's own model is of an architecture that only citeproof serve can serve",
            "Run citeproof serve there.",
        )
    if preset is None:
        tokenizer = cache(partial(load_tokenizer, model, offline=offline))
        predict = partial(_score_windows, classifier, tokenizer, name, settings.label)
        return RemoteModel(classifier, name, threshold, predict)
    if preset.kind != "classifier" or preset.weights != "transformers":
        raise SettingsError(
            f"entailment.model = {model!r} can be at an address only if citeproof serve has it",
            why="no other server loads it as it is published",
            fix="Run citeproof serve there, or leave out entailment.base_url.",
        )
    how = {"name": name, "label": settings.label, "offline": offline}
    reader = _RemoteReader(classifier, preset, source, **how)
    return RemoteModel(classifier, name, threshold, reader._predict)


def open_remote_answerability(settings: EntailmentSettings, threshold: float) -> RemoteModel:
    """Open the answerability model of the `citeproof serve` at their `base_url`.

    Raises what `open_remote` does.
    """
    server = ModelServer("entailment", settings, "/answerability")
    name = name_answerability(ANSWERABILITY.name)
    try:
        classifier = find_classifier(server, "citeproof", name, settings.batch_size or 0)
    except ModelOutageError:
        raise
    except ModelError as error:
        fix = 'Run the same version of citeproof there, with answerability.model = "local".'
        raise ModelError(error.what, why=error.why, fix=fix) from error
    return RemoteModel(classifier, name, threshold, partial(_score_pairs, classifier))


class RemoteModel:
    """A classifier on a server; it scores a test pair when it is opened, so that errors show.

    `predict` gets the scores of pairs, in order, from the server.

    Raises:
        ModelError: The server returns no scores.
    """

    def __init__(
        self, classifier: Classifier, name: str, threshold: float, predict: _Predict
    ) -> None:
        predict([_PROBE])
        kinds = {"citeproof": "citeproof serve", "tei": "text-embeddings-inference", "vllm": "vLLM"}
        self.place = f"{kinds[classifier.kind]} at {classifier.server.shown}"
        """The server's software and address."""
        self.name = name
        self.threshold = threshold
        self._predict = predict
        self._batcher = Batcher(self._predict_or_outage, abandoned=True)

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of entailment of each pair, in order."""
        return await self._batcher.scores(pairs)

    def _predict_or_outage(self, pairs: Sequence[Pair]) -> Sequence[float]:
        """Raise errors as outages, which keep finished work: the server has answered before."""
        try:
            return self._predict(pairs)
        except ModelError as error:
            raise VerifierOutageError(error.what, why=error.why, fix=error.fix) from error


def _score_pairs(classifier: Classifier, pairs: Sequence[Pair]) -> list[Score]:
    """Have `citeproof serve` score pairs, which it cuts, prompts and calibrates as in process."""
    texts = [(pair.premise, pair.hypothesis) for pair in pairs]
    return _scores(classifier, texts, classifier.labels, classifier.model)


def _score_windows(
    classifier: Classifier,
    tokenizer: Callable[[], Any],
    name: str,
    label: str | None,
    pairs: Sequence[Pair],
) -> list[Score]:
    """Have text-embeddings-inference, or vLLM for models with one output, score the windows."""
    items = cut_pairs(tokenizer(), classifier.limit or tokenizer().model_max_length, pairs)
    labels = classifier.labels or {0: "entailment"}  # vLLM scores one output only
    texts = [(item.window, item.hypothesis) for item in items]
    return best_scores(len(pairs), items, _scores(classifier, texts, labels, name, label))


def _scores(
    classifier: Classifier,
    texts: Sequence[Text],
    labels: Mapping[int, str],
    name: str,
    label: str | None = None,
) -> list[Score]:
    entailed, against = entailment_index(labels, name, label), contradiction_index(labels)
    return [
        Score(
            classifier.chance(chances, entailed), None if against is None else chances.get(against)
        )
        for chances in classifier.predict(texts)
    ]


class _RemoteReader(TextClassifier):
    """A published verifier on text-embeddings-inference or vLLM, with its tokenizer here."""

    def __init__(self, classifier: Classifier, preset: Preset, source: str, **options: Any) -> None:
        super().__init__(preset, source, **options)
        self._classifier = classifier

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        return None, load_tokenizer(self._source, offline=self._offline)

    def _read(self, texts: Sequence[ReadText]) -> list[float]:
        found = self._classifier.predict([text.parts for text in texts])
        if not found:
            return []
        # vLLM names only the likeliest output, so the probabilities show how many labels there are.
        labels = self._classifier.labels or {number: str(number) for number in found[0]}
        index = self._index(labels)
        return [self._classifier.chance(chances, index) for chances in found]
