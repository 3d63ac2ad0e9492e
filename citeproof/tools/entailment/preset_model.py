"""The base class of published verifiers: where they come from, and how they are loaded."""

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

    The first pair loads the model, on a GPU if there is one.

    Args:
        preset: Template, chunks and output.
        source: A hub path, a folder or a file; defaults to the preset's.
        name: Its name in reports and caches; defaults to the source.
        threshold: Scores from here on count as entailed; defaults to the preset's.
        batch_size: Texts in one forward pass; the default depends on the kind of model.
        offline: Whether to load only what is on this machine.
        label: The entailment output of a classifier; overrides the preset's.
    """

    batch_size = 16
    """Default number of texts in one forward pass."""

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
