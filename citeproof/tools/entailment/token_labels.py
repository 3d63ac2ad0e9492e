"""Entailment by a token classifier that marks unsupported text: LettuceDetect."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from citeproof.tools.entailment.base import Pair
from citeproof.tools.entailment.chunks import fit
from citeproof.tools.entailment.text_classifier import PresetModel, defuse_marks
from citeproof.tools.entailment.windows import token_counter

__all__ = ["TokenLabels", "UnsupportedSpan"]


@dataclass(frozen=True)
class UnsupportedSpan:
    """A span of a hypothesis that its premise does not support: `hypothesis[start:end]`."""

    start: int
    end: int
    text: str
    score: float
    """The highest probability (0.5 to 1) that one of its tokens is not supported."""


class TokenLabels(PresetModel):
    """A token classifier that reads premise and hypothesis as a pair, and labels the hypothesis.

    A pair's score is 1 minus the highest probability of an unsupported token. If a premise is
    longer than the model reads, the window with the best score counts. (LettuceDetect itself takes
    the worst, so no long document supports anything.)
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._lock = threading.Lock()

    async def spans(self, pair: Pair) -> list[UnsupportedSpan]:
        """Return the unsupported spans of the hypothesis, in order; raises what `scores` does."""
        [labelled] = await asyncio.to_thread(self._label, [pair])
        found = []
        for doubted, run in groupby(labelled, key=lambda token: token.doubt > 0.5):
            if doubted:
                tokens = list(run)
                text = pair.hypothesis[tokens[0].start : tokens[-1].end]
                start = tokens[0].start + len(text) - len(text.lstrip())
                text = text.strip()
                doubt = max(token.doubt for token in tokens)
                found.append(UnsupportedSpan(start, start + len(text), text, doubt))
        return found

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        return [_score(tokens) for tokens in self._label(pairs)]

    def _label(self, pairs: Sequence[Pair]) -> list[list[_Token]]:
        """Label the tokens of each hypothesis by the premise's window that supports it best."""
        with self._lock:  # a caller may ask for spans while pairs are scored
            model, tokenizer = self._loaded
            texts = [
                (index, *text)
                for index, pair in enumerate(pairs)
                for text in self._texts(tokenizer, pair)
            ]
            texts.sort(key=lambda text: len(text[1]), reverse=True)
            best: list[list[_Token]] = [[] for _ in pairs]
            for begin in range(0, len(texts), self._batch_size):
                batch = texts[begin : begin + self._batch_size]
                read = self._read(model, tokenizer, [text[1:] for text in batch])
                for (index, *_), tokens in zip(batch, read, strict=True):
                    if not best[index] or _score(tokens) > _score(best[index]):
                        best[index] = tokens
            return best

    def _read(
        self, model: Any, tokenizer: Any, texts: Sequence[tuple[str, str]]
    ) -> list[list[_Token]]:
        import torch

        inputs = tokenizer(
            [premise for premise, _ in texts],
            [hypothesis for _, hypothesis in texts],
            padding=True,
            verbose=False,
            return_offsets_mapping=True,
            return_tensors="pt",
        )
        offsets = inputs.pop("offset_mapping").tolist()
        kept = {name: inputs[name].to(model.device) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode():
            logits = model(**kept).logits.float()
        doubts = logits.softmax(-1)[..., self._preset.label].tolist()
        return [
            [
                _Token(start, end, doubt)
                for part, (start, end), doubt in zip(
                    inputs.sequence_ids(row), offsets[row], doubts[row], strict=True
                )
                if part == 1 and start < end
            ]
            for row in range(len(texts))
        ]

    def _texts(self, tokenizer: Any, pair: Pair) -> list[tuple[str, str]]:
        """Return a pair's texts: the prompt with each window of the premise, and the hypothesis."""
        preset, length = self._preset, token_counter(tokenizer)
        # The hypothesis stays unchanged, since spans are offsets into it.
        premise = defuse_marks(pair.premise, tuple(tokenizer.all_special_tokens))
        limit = preset.limit or tokenizer.model_max_length
        room = limit - length(preset.template.format(premise="")) - length(pair.hypothesis) - 8
        if room < limit // 4:
            return []
        windows = fit(premise, room, length)
        return [(preset.template.format(premise=window), pair.hypothesis) for window in windows]


@dataclass(frozen=True)
class _Token:
    start: int
    end: int
    doubt: float
    """The probability that the token is not supported."""


def _score(tokens: Sequence[_Token]) -> float:
    return 1.0 - max((token.doubt for token in tokens), default=1.0)
