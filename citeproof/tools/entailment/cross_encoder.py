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
from citeproof.models.progress import quiet_loading
from citeproof.tools.entailment.base import Pair, Score
from citeproof.tools.entailment.batcher import Batcher
from citeproof.tools.entailment.labels import contradiction_index, entailment_index
from citeproof.tools.entailment.windows import Window, best_scores, cut_pairs

_log = logging.getLogger("citeproof")
_TOKENS = {"cpu": 1024}
"""Most tokens in a forward pass. More are no faster on a CPU, since they overflow its caches."""
_GPU_TOKENS = 32_768
_MANY = 8
"""Number of windows above which memory is returned to the system."""
_CLOSE = 0.01
"""Scores this close to the threshold are computed again in full precision. On 72 pairs, bfloat16
was off by 0.001 on average, and by 0.006 at most."""


class CrossEncoder:
    """An NLI cross-encoder with two or three labels, or with one output.

    The first pair loads the model, on a GPU if there is one. It multiplies in bfloat16 if the
    hardware does. Scores close to the threshold are then computed again in full precision, so
    that the decision is the same on all hardware.

    Args:
        model: A sentence-transformers or transformers model name, or a folder. Reports and caches
            use it as the model's name.
        threshold: Scores from here on count as entailed.
        batch_size: Most pairs in a forward pass. Defaults to as many as fit into 1,024 tokens on
            a CPU, or 32,768 on a GPU.
        contradiction: Lowest probability of contradiction at which a premise counts as
            contradicting, if the model has such a label.
        locate: Returns the name or folder to load, when it is needed; defaults to the model's
            name.
        offline: Whether to load only what is on this machine.
        label: The entailment output, by its label or number. Defaults to the output whose label
            says entailment.
    """

    def __init__(
        self,
        model: str,
        threshold: float = 0.5,
        batch_size: int | None = None,
        *,
        contradiction: float = 0.5,
        locate: Callable[[], str] | None = None,
        offline: bool = False,
        label: str | None = None,
    ) -> None:
        self.name = model
        self._label = label
        self.threshold = threshold
        self._batch_size = batch_size
        self._contradiction = contradiction
        self._locate = locate or (lambda: model)
        self._offline = offline
        self._batcher = Batcher(self._predict)  # one batch at a time, for all callers

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of entailment of each pair, in order.

        A hypothesis longer than half of what the model reads scores 0, since it leaves no room for
        a premise: its end would go unread, and unread text is not proved.
        """
        return await self._batcher.scores(pairs)

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        model = self._model
        places = getattr(model.config, "max_position_embeddings", -1)  # XLNet says -1
        limit = min(model.tokenizer.model_max_length, places if places > 0 else 512)
        items = cut_pairs(model.tokenizer, limit, pairs)
        # Longest first, so that a lack of memory shows at once.
        items.sort(key=lambda item: item.tokens, reverse=True)
        halved = has_half_precision(str(model.device.type))
        scores = self._read(model, items, halved=halved)
        # Reading only these again is enough: if a pair's best window is not among them, its score
        # is clearly above or below the threshold.
        close = [i for i, score in enumerate(scores) if abs(score - self.threshold) < _CLOSE]
        if halved and close:
            again = self._read(model, [items[i] for i in close], halved=False)
            for place, score in zip(close, again, strict=True):
                scores[place] = score
        if len(items) > _MANY:
            trim_heap()
        return list(best_scores(len(pairs), items, scores))

    def _read(self, model: Any, items: Sequence[Window], *, halved: bool) -> list[Score]:
        """Return the score of each window, in order."""
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
        """Map the probability onto a scale on which 0.5 is the threshold."""
        limit = self._contradiction
        against, otherwise = contradiction * (1 - limit), (1 - contradiction) * limit
        return against / (against + otherwise) if against + otherwise else 0.5

    @cached_property
    def _model(self) -> Any:
        return _load(self._locate(), self.name, offline=self._offline)


def _batches(items: Sequence[Window], tokens: int, most: int | None) -> Iterator[Sequence[Window]]:
    """Yield batches of consecutive windows that have at most `tokens`, padded to the first one."""
    start = 0
    while start < len(items):
        count = max(1, tokens // items[start].tokens)
        end = start + (count if most is None else min(count, most))
        yield items[start:end]
        start = end


_loaded: WeakValueDictionary[str, Any] = WeakValueDictionary()
_loading = threading.Lock()


def _load(source: str, name: str, *, offline: bool) -> Any:
    """Return the network, which all models of the same source share."""
    with _loading:
        if (encoder := _loaded.get(source)) is None:
            _loaded[source] = encoder = _load_anew(source, name, offline=offline)
        return encoder


def _load_anew(source: str, name: str, *, offline: bool) -> Any:
    with MissingExtraError.unless_installed("local", "Cross-encoders cannot be loaded"):
        from sentence_transformers import CrossEncoder as Encoder
    what = f"The entailment model {name!r} cannot be loaded"
    fix = "Name a cross-encoder of the hub, or a folder, in entailment.model."
    with ModelError.unless_loaded(what, fix), quiet_loading():
        encoder = Encoder(source, local_files_only=offline)
    lean_attention(encoder.model)
    pack_weights(encoder.model)
    take_turns(encoder)
    _log.info("The entailment model %s is loaded.", name)
    return encoder
