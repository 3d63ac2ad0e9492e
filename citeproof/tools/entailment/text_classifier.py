"""Published verifiers, and those with a template: MiniCheck, FactCG, HHEM, AlignScore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from citeproof.errors import ModelError
from citeproof.tools.entailment.base import Pair
from citeproof.tools.entailment.batcher import Batcher
from citeproof.tools.entailment.chunks import combine, cut, fit
from citeproof.tools.entailment.labels import entailment_index
from citeproof.tools.entailment.presets import Preset
from citeproof.tools.entailment.pretrained import load_preset
from citeproof.tools.entailment.windows import token_counter
from citeproof.tools.sentences import sentences


class PresetModel:
    """A published verifier that runs in process.

    The first pair loads the model, on a GPU if there is one.

    Args:
        preset: Template and chunks, and the entailment output unless `label` names another.
        source: A hub path, a folder or a file.
        name: The name in reports and caches; defaults to the source.
        threshold: Scores from here on count as entailed.
        batch_size: Texts in one forward pass; the default depends on the kind of model.
        offline: Whether to load only what is on this machine.
        label: The entailment output of a classifier.
    """

    batch_size = 16
    """Default number of texts in one forward pass."""

    def __init__(
        self,
        preset: Preset,
        source: str,
        *,
        name: str | None = None,
        threshold: float = 0.5,
        batch_size: int | None = None,
        offline: bool = False,
        label: str | None = None,
    ) -> None:
        self._source = source
        self.name = name or self._source
        self.threshold = threshold
        self._preset = preset
        self._batch_size = batch_size or self.batch_size
        self._offline = offline
        self._chosen_label = label
        self._batcher = Batcher(self._predict)  # one batch at a time, for all callers

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of entailment of each pair, in order.

        A hypothesis that takes more than three quarters of what the model reads scores 0: it leaves
        too little room for a premise, and unread text is not proved. An empty hypothesis scores 0
        if the model labels tokens.
        """
        return await self._batcher.scores(pairs)

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        raise NotImplementedError

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The model and its tokenizer."""
        return load_preset(self._preset, self._source, offline=self._offline)


class TextClassifier(PresetModel):
    """A published classifier that reads premise and hypothesis as one text, or as a pair.

    It cuts the premise as the preset says; the best chunk counts.
    """

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        _, tokenizer = self._loaded
        readings = [self._readings(tokenizer, pair) for pair in pairs]
        scores = self._read([text for pair in readings for own in pair for text in own])
        left = iter(scores)
        return [
            combine([[next(left) for _ in sentence] for sentence in pair], self._preset.sentences)
            for pair in readings
        ]

    def _read(self, texts: Sequence[ReadText]) -> list[float]:
        """Return the probability of entailment of each text, in order."""
        model, tokenizer = self._loaded
        order = sorted(range(len(texts)), key=lambda i: texts[i].tokens, reverse=True)
        scores = [0.0] * len(texts)
        for begin in range(0, len(order), self._batch_size):
            batch = order[begin : begin + self._batch_size]
            chances = self._read_batch(model, tokenizer, [texts[i] for i in batch])
            for i, chance in zip(batch, chances, strict=True):
                scores[i] = chance
        return scores

    def _read_batch(self, model: Any, tokenizer: Any, texts: Sequence[ReadText]) -> list[float]:
        import torch

        index = self._index(model.config.id2label)
        # All first texts, and all second ones if they are pairs.
        columns = map(list, zip(*(text.parts for text in texts), strict=True))
        inputs = tokenizer(*columns, padding=True, verbose=False, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**inputs.to(model.device)).logits.float()
        if logits.ndim == 3:  # a token classifier, of which the first token counts
            logits = logits[:, 0]
        return logits.softmax(-1)[:, index].tolist()  # type: ignore[no-any-return]

    def _readings(self, tokenizer: Any, pair: Pair) -> list[list[ReadText]]:
        """Return, for each sentence of the hypothesis, the texts to read, one for each chunk."""
        preset, length = self._preset, token_counter(tokenizer)

        def text(premise: str, hypothesis: str) -> ReadText:
            if not preset.template:
                return ReadText((premise, hypothesis), length(premise) + length(hypothesis))
            mark = tokenizer.eos_token or tokenizer.sep_token
            whole = preset.template.format(premise=premise, hypothesis=hypothesis, sep=mark)
            return ReadText((whole,), length(whole))

        marks = tuple(tokenizer.all_special_tokens)
        chunks = cut(defuse_marks(pair.premise, marks), preset.chunking, length)
        hypothesis = defuse_marks(pair.hypothesis, marks)
        whole = preset.sentences == "whole"
        found = []
        for one in [hypothesis] if whole else sentences(hypothesis):
            if preset.limit is None:
                found.append([text(chunk, one) for chunk in chunks])
                continue
            room = preset.limit - text("", one).tokens - 4
            if room < preset.limit // 4:
                found.append([])
                continue
            parts = [part for chunk in chunks for part in fit(chunk, room, length)]
            read = [text(part, one) for part in parts]
            found.append([own for own in read if own.tokens <= preset.limit - 4])
        return found

    def _index(self, labels: Mapping[int, str]) -> int:
        """Return the entailment output of a model with these labels."""
        if self._chosen_label is not None:
            return entailment_index(labels, self.name, self._chosen_label)
        if self._preset.label >= len(labels):
            raise ModelError(
                f"The model {self.name!r} is not {self._preset.name}",
                why=f"it has {len(labels)} outputs",
                fix="Name another entailment.preset, or set entailment.label.",
            )
        return self._preset.label


def defuse_marks(text: str, marks: Sequence[str]) -> str:
    """Put a space into each of a tokenizer's special tokens in a text.

    Otherwise a document with `</s>` in it would end there for the model, and could continue with a
    claim of its own.
    """
    for mark in marks:
        if len(mark) > 1 and mark in text:
            text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text


class ReadText(NamedTuple):
    """What a model reads."""

    parts: tuple[str, ...]
    """One text, or a pair."""
    tokens: int
    """Their number, without those that the tokenizer adds at the ends, at most four."""
