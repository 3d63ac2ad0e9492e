"""Prepares answers for metrics: removes marks, splits sentences, and normalises texts."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache
from typing import Any

from citeproof.errors import MissingExtraError
from citeproof.evaluation.examples import Mode
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.sentences import sentences as split_sentences

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_ALCE_MARK = re.compile(r" ?\[\d+")
_CHAT_END = "<|im_end|>"


def plain(text: str, mode: Mode) -> str:
    """Return an answer without citation marks, which all metrics except those of citations read.

    strict: only the first line is read, `[1, 2]` becomes `, 2`, and `[1-3]` becomes `-3`.
    """
    return strip_alce_marks(first_line(text)) if mode == "strict" else strip_marks(text).strip()


def first_line(text: str) -> str:
    """Return the part that ALCE's evaluator reads: the first line, without a chat end token."""
    return text.strip().split("\n")[0].replace(_CHAT_END, "")


def strip_alce_marks(text: str) -> str:
    """Return a text without what ALCE's evaluator takes for citation marks."""
    return _ALCE_MARK.sub("", text).replace(" |", "").replace("]", "")


def sentences(text: str, mode: Mode) -> list[str]:
    """Return the sentences of a text.

    strict: splits with Punkt (Kiss and Strunk 2006), as NLTK ships it for English. It ignores
    marks, so a mark after a full stop begins the next sentence. Needs the extra `alce`.
    """
    if mode == "corrected":
        return split_sentences(text)
    found: list[str] = _punkt().tokenize(text)
    return found


def normal(text: str, mode: Mode) -> str:
    """Return the normal form in which answers are compared (SQuAD; ALCE).

    It has lower case, no punctuation, no articles and single spaces, and a letter with an accent is
    one character. strict: only ASCII punctuation is removed, and accents stay as they are written.
    """
    text = text if mode == "strict" else unicodedata.normalize("NFC", text)
    kept = "".join(char for char in text.lower() if not _is_punctuation(char, mode))
    return " ".join(_ARTICLE.sub(" ", kept).split())


def _is_punctuation(char: str, mode: Mode) -> bool:
    if char in string.punctuation:
        return True
    return mode == "corrected" and unicodedata.category(char).startswith("P")


@cache
def _punkt() -> Any:
    what = "Strict scores need the sentences that ALCE's evaluator sees"
    with MissingExtraError.unless_installed("alce", what, "score in the corrected mode"):
        # NLTK's own algorithm, with the tables that it would download. The package that contains
        # the tables has an algorithm too, which splits rows of dots differently.
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
        from punkt import load_model
    learned, parameters = load_model("english"), PunktParameters()
    parameters.abbrev_types = set(learned.abbrev_types)
    parameters.collocations = set(learned.collocations)
    parameters.sent_starters = set(learned.sent_starters)
    parameters.ortho_context.update(
        {word: int(seen) for word, seen in learned.ortho_context.items()}
    )
    return PunktSentenceTokenizer(parameters)
