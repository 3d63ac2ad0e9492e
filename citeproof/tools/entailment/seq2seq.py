"""Entailment by a seq2seq model that answers 1 or 0: TRUE, TrueTeacher, MiniCheck-Flan-T5."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from citeproof.errors import ModelError
from citeproof.tools.entailment.base import Pair
from citeproof.tools.entailment.batcher import Batcher
from citeproof.tools.entailment.chunks import cut, fit
from citeproof.tools.entailment.presets import PRESETS, Preset
from citeproof.tools.entailment.pretrained import load
from citeproof.tools.entailment.text_classifier import defuse_marks


class Seq2Seq:
    """A T5 that answers with 1 or 0.

    The score is the probability of 1 against 0 at the first token in which the two differ (TRUE;
    the papers' verifier); at the default threshold of 0.5 its decisions are those of the
    generated token. The best chunk of a premise counts.

    Args:
        model: A transformers model name, or a folder.
        threshold: Scores from here on count as entailed; 0.5 by default.
        batch_size: Texts in one forward pass.
        offline: Whether only what is on this machine may be loaded.
        preset: Template and chunks; by default TRUE's, `premise: … hypothesis: …` and no chunks.
        name: Its name in reports and kept scores; by default the model's name.
    """

    def __init__(
        self,
        model: str,
        threshold: float | None = None,
        batch_size: int = 32,
        *,
        offline: bool = False,
        preset: Preset | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or model
        self.threshold = 0.5 if threshold is None else threshold
        self._source = model
        self._preset = preset or PRESETS["true"]
        self._batch_size = batch_size
        self._offline = offline
        self._loaded: tuple[Any, Any] | None = None
        self._loading = threading.Lock()
        self._batcher = Batcher(self._predict)

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order.

        Where the preset has a limit, a hypothesis that takes more than three quarters of it
        scores 0.

        Raises:
            MissingExtraError: transformers is not installed.
            ModelError: The model cannot be loaded.
        """
        return await self._batcher.scores(pairs)

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        import torch

        model, tokenizer = self._model()
        begun, one, zero = _answers(tokenizer)
        texts = [
            (index, text)
            for index, pair in enumerate(pairs)
            for text in self._texts(tokenizer, pair)
        ]
        texts.sort(key=lambda text: len(text[1]), reverse=True)
        best = [0.0] * len(pairs)
        for begin in range(0, len(texts), self._batch_size):
            batch = texts[begin : begin + self._batch_size]
            # Not cut off: T5 has no last position, and the hypothesis is what would be lost.
            inputs = tokenizer(
                [text for _, text in batch], padding=True, verbose=False, return_tensors="pt"
            ).to(model.device)
            start = torch.tensor([[model.config.decoder_start_token_id, *begun]])
            with torch.inference_mode():
                logits = model(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    decoder_input_ids=start.expand(len(batch), -1).to(model.device),
                ).logits[:, -1]
            chosen = logits[:, [zero, one]].float().softmax(-1)[:, 1].tolist()
            for (index, _), score in zip(batch, chosen, strict=True):
                best[index] = max(best[index], score)
        return best

    def _texts(self, tokenizer: Any, pair: Pair) -> list[str]:
        """The text that is read of a pair, chunk by chunk."""
        preset = self._preset

        @cache
        def length(text: str) -> int:
            return len(tokenizer.encode(text, add_special_tokens=False, verbose=False))

        def text(premise: str) -> str:
            end = tokenizer.eos_token or ""
            return preset.template.format(premise=premise, hypothesis=hypothesis, sep=end)

        marks = tuple(tokenizer.all_special_tokens)
        hypothesis = defuse_marks(pair.hypothesis, marks)
        chunks = cut(defuse_marks(pair.premise, marks), preset.chunking, length)
        if preset.limit is not None:
            room = preset.limit - length(text("")) - 4
            if room < preset.limit // 4:
                return []
            chunks = [part for chunk in chunks for part in fit(chunk, room, length)]
        return [text(chunk) for chunk in chunks]

    def _model(self) -> tuple[Any, Any]:
        with self._loading:
            if self._loaded is None:
                import torch

                half = torch.bfloat16 if torch.cuda.is_available() else torch.float32
                self._loaded = load(
                    "AutoModelForSeq2SeqLM", self._source, offline=self._offline, dtype=half
                )
            return self._loaded


def _answers(tokenizer: Any) -> tuple[list[int], int, int]:
    """The tokens that 1 and 0 begin with alike, and the first in which they differ.

    T5's vocabulary holds 1 with a word-start mark and 0 without: the answers are 209 and 3, 632,
    so that 209 is to be held against 3 (as MiniCheck does).
    """
    one, zero = (tokenizer(digit, add_special_tokens=False).input_ids for digit in "10")
    alike = next((i for i, (a, b) in enumerate(zip(one, zero, strict=False)) if a != b), None)
    if alike is None:
        raise ModelError(
            f"The tokenizer {tokenizer.name_or_path!r} does not tell 1 from 0",
            fix="Name a T5 that was trained to answer with them in entailment.model.",
        )
    return one[:alike], one[alike], zero[alike]
