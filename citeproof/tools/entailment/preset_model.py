"""The common base of a preset's verifiers: where they come from, and how they are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from citeproof.tools.entailment.base import Pair
from citeproof.tools.entailment.batcher import Batcher
from citeproof.tools.entailment.presets import Preset
from citeproof.tools.entailment.pretrained import load_preset


class PresetModel:
    """A published verifier that runs in process.

    The model is loaded when the first pair comes, on a GPU where there is one.

    Args:
        preset: Template, chunks and output.
        source: A hub path, a folder or a file; by default the preset's.
        name: Its name in reports and kept scores; by default the source.
        threshold: Scores from here on count as entailed; by default the preset's.
        batch_size: Texts in one forward pass; by default as many as its kind of model reads well.
        offline: Whether only what is on this machine may be loaded.
        label: The output of a classifier that is entailment, in place of the preset's.
    """

    batch_size = 16
    """Texts in one forward pass, by default."""

    def __init__(
        self,
        preset: Preset,
        source: str | None = None,
        *,
        name: str | None = None,
        threshold: float | None = None,
        batch_size: int | None = None,
        offline: bool = False,
        label: str | None = None,
    ) -> None:
        self._source = preset.model if source is None else source
        self.name = name or self._source
        self.threshold = preset.threshold if threshold is None else threshold
        self._preset = preset
        self._batch_size = batch_size or self.batch_size
        self._offline = offline
        self._chosen_label = label
        self._batcher = Batcher(self._predict)  # one batch at a time, whoever asks

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order.

        A hypothesis that takes more than three quarters of what the model reads scores 0: it
        leaves no room for a premise, and what is not read is not proved. So does an empty one
        where tokens are labelled.

        Raises:
            MissingExtraError: transformers or torch is not installed.
            ModelError: The model cannot be loaded, or is not the preset's.
        """
        return await self._batcher.scores(pairs)

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        raise NotImplementedError

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """The model and its tokenizer."""
        return load_preset(self._preset, self._source, offline=self._offline)
