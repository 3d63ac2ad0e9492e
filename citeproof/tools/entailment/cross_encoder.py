"""Entailment by a sentence-transformers cross-encoder, from the hub or a folder."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from citeproof.errors import MissingExtraError, ModelError
from citeproof.models.heap import trim_heap
from citeproof.models.lanes import in_lanes, take_turns
from citeproof.models.mpnet import lean_attention
from citeproof.models.precision import half_precision, has_half_precision, pack_weights
from citeproof.models.progress import without_bars
from citeproof.tools.entailment.base import Pair, Score
from citeproof.tools.entailment.batcher import Batcher
from citeproof.tools.entailment.labels import contradiction_index, entailment_index
from citeproof.tools.entailment.windows import Window, best_scores, cut_pairs

_log = logging.getLogger("citeproof")
_TOKENS = {"cpu": 1024}
"""Tokens in one forward pass: more is no faster on a CPU, whose caches they then leave."""
_GPU_TOKENS = 32_768
_MANY = 8
"""Windows after which memory is given back."""
_CLOSE = 0.01
"""Scores so near to the threshold are read again in full precision: bfloat16 is off by 0.001 on
the mean, and by 0.006 at most on 72 pairs."""


class CrossEncoder:
    """An NLI cross-encoder with two or three labels, or with one output.

    It is loaded when the first pair comes, on a GPU where there is one, and multiplies in bfloat16
    where the hardware does; what then comes close to the threshold is read again in full
    precision, so that the decision is the same on all hardware.

    Args:
        model: A sentence-transformers or transformers model name, or a folder; what reports and
            kept scores name it by.
        threshold: Scores from here on count as entailed; 0.5 by default.
        batch_size: Most pairs in one forward pass; by default as many as 1,024 tokens hold on a
            CPU, and 32,768 on a GPU.
        contradiction: Probability of contradiction from which on a premise counts as saying
            otherwise, where the model has such a label.
        locate: Gives the folder to load, when it comes to that; by default the model's name.
        offline: Whether only what is on this machine may be loaded.
        label: The output that is entailment, by its label or number; by default the one whose
            label says so.
    """

    def __init__(
        self,
        model: str,
        threshold: float | None = None,
        batch_size: int | None = None,
        *,
        contradiction: float = 0.5,
        locate: Callable[[], str] | None = None,
        offline: bool = False,
        label: str | None = None,
    ) -> None:
        self.name = model
        self._label = label
        self.threshold = 0.5 if threshold is None else threshold
        self._batch_size = batch_size
        self._contradiction = contradiction
        self._locate = locate or (lambda: model)
        self._offline = offline
        self._batcher = Batcher(self._predict)  # one batch at a time, whoever asks

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order.

        A hypothesis that leaves no room for a premise, being longer than half of what the model
        reads, scores 0: its end would go unread, and what is not read is not proved.

        Raises:
            MissingExtraError: sentence-transformers is not installed.
            ModelError: The model cannot be loaded, or has no entailment label.
        """
        return await self._batcher.scores(pairs)

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        model = self._model
        items = self._windows(model, pairs)
        # The longest first: what does not fit into memory fails at once.
        items.sort(key=lambda item: item.tokens, reverse=True)
        halved = has_half_precision(str(model.device.type))
        scores = self._read(model, items, halved=halved)
        # A window near the threshold can only be its pair's best, or stand behind one that is
        # surely above it.
        close = [i for i, score in enumerate(scores) if abs(score - self.threshold) < _CLOSE]
        if halved and close:
            again = self._read(model, [items[i] for i in close], halved=False)
            for place, score in zip(close, again, strict=True):
                scores[place] = score
        if len(items) > _MANY:
            trim_heap()
        return list(best_scores(len(pairs), items, scores))

    def _read(self, model: Any, items: Sequence[Window], *, halved: bool) -> list[Score]:
        """The score of each window, in order."""
        device = str(model.device.type)
        label = entailment_index(model.config.id2label, self.name, self._label)
        opposite = contradiction_index(model.config.id2label)

        def run(batch: Sequence[Window]) -> list[Score]:
            import torch

            with torch.inference_mode(), half_precision(device) if halved else nullcontext():
                logits = model.predict(
                    [(item.window, item.hypothesis) for item in batch],
                    batch_size=len(batch),
                    activation_fn=torch.nn.Identity(),
                    convert_to_tensor=True,
                    show_progress_bar=False,
                ).float()
            if logits.ndim == 1 or logits.shape[-1] == 1:
                return [Score(chance) for chance in logits.reshape(-1).sigmoid().tolist()]
            return [
                Score(
                    chances[label],
                    None if opposite is None else self._calibrate(chances[opposite]),
                )
                for chances in logits.softmax(-1).tolist()
            ]

        batches = list(_batches(items, _TOKENS.get(device, _GPU_TOKENS), self._batch_size))
        return [score for scores in in_lanes(run, batches, device) for score in scores]

    def _calibrate(self, contradiction: float) -> float:
        """The probability on a scale on which 0.5 is the threshold."""
        limit = self._contradiction
        against, otherwise = contradiction * (1 - limit), (1 - contradiction) * limit
        return against / (against + otherwise) if against + otherwise else 0.5

    def _windows(self, model: Any, pairs: Sequence[Pair]) -> list[Window]:
        places = getattr(model.config, "max_position_embeddings", -1)  # XLNet says -1
        limit = min(model.tokenizer.model_max_length, places if places > 0 else 512)
        return cut_pairs(model.tokenizer, limit, pairs)

    @cached_property
    def _model(self) -> Any:
        return _load(self._locate(), self.name, offline=self._offline)


def _batches(items: Sequence[Window], tokens: int, most: int | None) -> Iterator[Sequence[Window]]:
    """Consecutive windows; each batch, padded to its first one, within a number of tokens."""
    start = 0
    while start < len(items):
        count = max(1, tokens // items[start].tokens)
        end = start + (count if most is None else min(count, most))
        yield items[start:end]
        start = end


_loaded: WeakValueDictionary[str, Any] = WeakValueDictionary()
_loading = threading.Lock()


def _load(source: str, name: str, *, offline: bool) -> Any:
    """The network; those who read with the same one share it."""
    with _loading:
        if (encoder := _loaded.get(source)) is None:
            _loaded[source] = encoder = _load_anew(source, name, offline=offline)
        return encoder


def _load_anew(source: str, name: str, *, offline: bool) -> Any:
    with MissingExtraError.unless_installed("local", "Cross-encoders cannot be loaded"):
        from sentence_transformers import CrossEncoder as Encoder
    what = f"The entailment model {name!r} cannot be loaded"
    fix = "Name a cross-encoder of the hub, or a folder, in entailment.model."
    with ModelError.unless_loaded(what, fix), without_bars():
        encoder = Encoder(source, local_files_only=offline)
    lean_attention(encoder.model)
    pack_weights(encoder.model)
    take_turns(encoder)
    _log.info("The entailment model %s is loaded.", name)
    return encoder
