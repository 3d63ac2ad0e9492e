"""Entailment by a sentence-transformers cross-encoder, from the hub or a folder."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from citeproof.errors import MissingExtraError, ModelError
from citeproof.tools.batcher import Batcher
from citeproof.tools.entailment import Pair
from citeproof.tools.windows import windows

__all__ = ["CrossEncoder", "entailment_index"]


class CrossEncoder:
    """An NLI cross-encoder with two or three labels, or with one output.

    Args:
        model: A sentence-transformers or transformers model name, or a folder.
        threshold: Scores from here on count as entailed; 0.5 by default.
        batch_size: Pairs in one forward pass.
    """

    def __init__(self, model: str, threshold: float | None = None, batch_size: int = 32) -> None:
        self.name = model
        self.threshold = 0.5 if threshold is None else threshold
        self._batch_size = batch_size
        self._loaded: Any = None
        self._loading = threading.Lock()
        self._batcher = Batcher(self._predict)

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order.

        Raises:
            MissingExtraError: sentence-transformers is not installed.
            ModelError: The model cannot be loaded, or has no entailment label.
        """
        return await self._batcher.scores(pairs)

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        import torch

        model = self._model()
        label = entailment_index(model.config.id2label, self.name)
        tokenizer = model.tokenizer

        def length(text: str) -> int:
            return len(tokenizer.encode(text, add_special_tokens=False))

        limit = min(tokenizer.model_max_length, model.config.max_position_embeddings)
        cut: list[tuple[str, str]] = []
        owner: list[int] = []
        for index, pair in enumerate(pairs):
            room = max(32, limit - length(pair.hypothesis) - 8)
            for window in windows(pair.premise, room, length):
                cut.append((window, pair.hypothesis))
                owner.append(index)
        # predict sorts by length itself, so batches are even.
        with torch.inference_mode():
            logits = model.predict(
                cut,
                batch_size=self._batch_size,
                activation_fn=torch.nn.Identity(),
                convert_to_tensor=True,
                show_progress_bar=False,
            ).float()
        one_output = logits.ndim == 1 or logits.shape[-1] == 1
        probabilities = (
            logits.reshape(-1).sigmoid() if one_output else logits.softmax(-1)[:, label]
        ).tolist()
        best = [0.0] * len(pairs)
        for index, probability in zip(owner, probabilities, strict=True):
            best[index] = max(best[index], probability)
        return best

    def _model(self) -> Any:
        with self._loading:
            if self._loaded is None:
                try:
                    from sentence_transformers import CrossEncoder as Encoder
                except ImportError as error:
                    raise MissingExtraError(
                        "Cross-encoders need sentence-transformers",
                        fix='Install it with: pip install "citeproof[local]"',
                    ) from error
                try:
                    self._loaded = Encoder(self.name)
                except (OSError, ValueError, RuntimeError) as error:
                    raise ModelError(
                        f"The entailment model {self.name!r} cannot be loaded",
                        why=str(error).splitlines()[0],
                        fix="Name a cross-encoder of the hub, or a folder, in entailment.model.",
                    ) from error
            return self._loaded


def entailment_index(labels: Mapping[int, str], model: str) -> int:
    """Which output is entailment, by the label names of the model's config.

    Raises:
        ModelError: No label, or more than one, can be meant.
    """
    if len(labels) == 1:
        return 0
    named = {int(index): str(label).lower().replace("-", "_") for index, label in labels.items()}
    exact = [i for i, label in named.items() if label in {"entailment", "entailed", "entail"}]
    if len(exact) == 1:
        return exact[0]
    raise ModelError(
        f"The model {model!r} does not say which of its outputs is entailment",
        why=f"its labels are {', '.join(named.values())}",
        fix="Set id2label in the model's config.json.",
    )
