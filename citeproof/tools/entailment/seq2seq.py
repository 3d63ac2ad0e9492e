"""Entailment by a seq2seq model that answers 1 or 0: TRUE, TrueTeacher, MiniCheck-Flan-T5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citeproof.errors import ModelError
from citeproof.tools.entailment.base import Pair
from citeproof.tools.entailment.chunks import cut, fit
from citeproof.tools.entailment.preset_model import PresetModel
from citeproof.tools.entailment.text_classifier import defuse_marks
from citeproof.tools.entailment.windows import token_counter


class Seq2Seq(PresetModel):
    """A T5 that answers with 1 or 0.

    The score is the probability of 1 against 0 at the first token in which the two differ (TRUE;
    the papers' verifier); at the default threshold of 0.5 its decisions are those of the
    generated token. The best chunk of a premise counts.
    """

    batch_size = 32

    def _predict(self, pairs: Sequence[Pair]) -> list[float]:
        import torch

        with self._lock:
            model, tokenizer = self._load()
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
        preset, length = self._preset, token_counter(tokenizer)

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
