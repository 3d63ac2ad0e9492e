"""Disambig-F1, QA-EM and QA-Hit: what a reader trained on SQuAD finds in an answer (ASQA)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

from citeproof.errors import MissingExtraError, ModelError
from citeproof.evaluation.examples import Mode, Scores
from citeproof.evaluation.metrics.correctness import overlap
from citeproof.evaluation.metrics.texts import normal

_WINDOW, _STRIDE, _LONGEST = 384, 128, 15
"""Tokens of a question with a window of its text, of two windows' overlap, and of an answer."""


class Reader(Protocol):
    """Finds answers in texts."""

    def answers(self, asked: Sequence[tuple[str, str]]) -> list[str]:
        """Return the answer to each question in its text, in order; empty if there is none."""


def reader_scores(found: Sequence[str], answers: Sequence[Sequence[str]], mode: Mode) -> Scores:
    """Compare what a reader found for each of at least one sub-question with its best alias.

    Returns:
        Disambig-F1 (Stelmakh 2022; ALCE's QA-F1), which compares words; QA-EM, the share of exact
        matches; and QA-Hit, whether all match exactly.
    """
    pairs = list(zip(found, answers, strict=True))
    words = [max((overlap(text, a, mode)[2] for a in own), default=0.0) for text, own in pairs]
    exact = [any(normal(a, mode) == normal(text, mode) for a in own) for text, own in pairs]
    return {
        "disambig_f1": sum(words) / len(words),
        "qa_em": sum(exact) / len(exact),
        "qa_hit": float(all(exact)),
    }


class ExtractiveReader:
    """A question answering model of transformers, which works like its former pipeline.

    Long texts are read in overlapping windows. The result is the most probable span of at most 15
    tokens, widened to whole words, unless "no answer" is more probable; that has the probability of
    the window where it is lowest. The model is a name, such as ALCE's
    `gaotianyu1350/roberta-large-squad`, or a folder.
    """

    def __init__(self, model: str) -> None:
        self.name = model

    def answers(self, asked: Sequence[tuple[str, str]]) -> list[str]:
        """Return the answer to each question in its text, in order; empty if there is none."""
        return [self._answer(question, text or " ") for question, text in asked]

    def _answer(self, question: str, text: str) -> str:
        import torch

        model, tokenizer = self._loaded
        most = min(_WINDOW, tokenizer.model_max_length)
        read = tokenizer(
            question,
            text,
            truncation="only_second",
            max_length=most,
            stride=min(_STRIDE, most // 2),
            return_overflowing_tokens=True,
            padding=True,
            return_tensors="pt",
        )
        read.pop("overflow_to_sample_mapping")
        with torch.inference_mode():
            logits = model(**read.to(model.device))
        nothing, best, span = 1e6, -1.0, (0, 0)
        for window in range(len(read["input_ids"])):
            of_text = torch.tensor([part == 1 for part in read.sequence_ids(window)])
            of_text[0] = True  # the first token stands for "no answer"
            begin, end = (
                ends[window].float().cpu().masked_fill(~of_text, -1e4).softmax(-1)
                for ends in (logits.start_logits, logits.end_logits)
            )
            nothing = min(nothing, float(begin[0] * end[0]))
            begin[0] = end[0] = 0.0
            spans = torch.outer(begin, end).triu().tril(_LONGEST - 1)
            score, place = spans.flatten().max(0)
            if float(score) > best:
                first, last = divmod(int(place), len(end))
                if of_text[first] and first:
                    best, span = float(score), _characters(read, window, first, last)
        return text[slice(*span)] if best > nothing else ""

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        what = "A reader for Disambig-F1 needs transformers and torch"
        with MissingExtraError.unless_installed("local", what):
            import torch
            from transformers import AutoModelForQuestionAnswering, AutoTokenizer
        fix = "Name a question answering model on the hub, or a folder."
        with ModelError.unless_loaded(f"The reader {self.name!r} cannot be loaded", fix):
            tokenizer = AutoTokenizer.from_pretrained(self.name)
            model = AutoModelForQuestionAnswering.from_pretrained(self.name)
        return model.eval().to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer


def _characters(read: Any, window: int, first: int, last: int) -> tuple[int, int]:
    words = [read.token_to_word(window, token) for token in (first, last)]
    begin, end = (read.word_to_chars(window, word, sequence_index=1) for word in words)
    return begin.start, end.end
