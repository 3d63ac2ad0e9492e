"""Entailment by a seq2seq model that answers 1 or 0: TRUE, TrueTeacher, MiniCheck-Flan-T5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citeproof.errors import ModelError
from citeproof.tools.entailment.text_classifier import ReadText, TextClassifier


class Seq2Seq(TextClassifier):
    """A T5 that answers with 1 or 0.

    The score is the probability of 1 against 0 at the first token in which the two differ (TRUE,
    the papers' verifier). At the default threshold of 0.5 its decisions are those of the generated
    token. The best chunk of a premise counts.
    """

    batch_size = 32

    def _read_batch(self, model: Any, tokenizer: Any, texts: Sequence[ReadText]) -> list[float]:
        import torch

        begun, one, zero = _answers(tokenizer)
        # Not truncated: T5 has no last position, and truncation would lose the hypothesis.
        wholes = [text.parts[0] for text in texts]
        inputs = tokenizer(wholes, padding=True, verbose=False, return_tensors="pt")
        inputs = inputs.to(model.device)
        start = torch.tensor([[model.config.decoder_start_token_id, *begun]])
        with torch.inference_mode():
            logits = model(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=start.expand(len(texts), -1).to(model.device),
            ).logits[:, -1]
        return logits[:, [zero, one]].float().softmax(-1)[:, 1].tolist()  # type: ignore[no-any-return]


def _answers(tokenizer: Any) -> tuple[list[int], int, int]:
    """Return the tokens that 1 and 0 have in common, and the first token of each that differs.

    T5's vocabulary holds 1 with a word-start mark but 0 without: the answers are 209 and 3, 632,
    so 209 is compared with 3 (as in MiniCheck).
    """
    one, zero = (tokenizer(digit, add_special_tokens=False).input_ids for digit in "10")
    alike = next((i for i, (a, b) in enumerate(zip(one, zero, strict=False)) if a != b), None)
    if alike is None:
        raise ModelError(
            f"The tokenizer {tokenizer.name_or_path!r} does not tell 1 from 0",
            fix="Name a T5 that was trained to answer with them in entailment.model.",
        )
    return one[:alike], one[alike], zero[alike]
