"""MAUVE: how far machine texts are from human ones, as a set (Pillutla et al. 2021)."""

from __future__ import annotations

import string
from collections.abc import Sequence

from citeproof.errors import InputError, MissingExtraError, ModelError
from citeproof.evaluation.examples import Example, Mode
from citeproof.evaluation.metrics.texts import plain
from citeproof.evaluation.results import Result

_MODEL = "gpt2-large"
_WORDS = 100


def mauve(items: Sequence[tuple[Example, Result]], *, mode: Mode = "corrected") -> float:
    """Return MAUVE of all answers against human ones, from 0 to 1, with GPT-2 large as in ALCE.

    Each text is the question and the answer, cut after 100 words. The measure is unstable, as its
    authors say: only compare values from one machine, one seed and equally many texts.

    Raises:
        InputError: An example has no reference.
        MissingExtraError: The extra `mauve` is not installed.
        ModelError: GPT-2 large cannot be loaded.
    """
    with MissingExtraError.unless_installed("mauve", "MAUVE needs a package of its own"):
        import torch
        from mauve import compute_mauve
    for example, _ in items:
        if not example.references:
            raise InputError(
                f"MAUVE cannot be computed for the question {example.id!r}",
                why="it has no long answer to compare with",
                fix="Leave such questions out, or leave out MAUVE.",
            )
    try:
        found = compute_mauve(
            p_text=[_text(example.question, example.references[0]) for example, _ in items],
            q_text=[_text(example.question, plain(own.output, mode)) for example, own in items],
            featurize_model_name=_MODEL,
            device_id=0 if torch.cuda.is_available() else -1,
            max_text_length=512,
            batch_size=8,
            seed=0,
            verbose=False,
        )
    except OSError as error:
        raise ModelError(
            f"{_MODEL}, with which MAUVE reads texts, cannot be loaded",
            why=str(error).splitlines()[0],
            fix="Download it once where the Hugging Face hub can be reached (about 3 GB).",
        ) from error
    return float(found.mauve)


def _text(question: str, answer: str) -> str:
    return " ".join(f"{question} {answer}".split()[:_WORDS]).rstrip(string.punctuation)
