"""How metrics read an answer: without marks, in sentences, in normal form."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache
from typing import Any

from citeproof.errors import MissingExtraError
from citeproof.evaluation.examples import Mode
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.sentences import split

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_ALCE_MARK = re.compile(r" ?\[\d+")
_CHAT_END = "<|im_end|>"


def plain(text: str, mode: Mode) -> str:
    """An answer without citation marks, which is what all metrics but those of citations read.

    strict: only the first line, and of marks such as `[1, 2]` and `[1-3]` all but the bracket
    and the first number stays.
    """
    return strip_alce_marks(first_line(text)) if mode == "strict" else strip_marks(text).strip()


def first_line(text: str) -> str:
    """An answer as ALCE's evaluator reads it: the first line, without a chat model's end."""
    return text.strip().split("\n")[0].replace(_CHAT_END, "")


def strip_alce_marks(text: str) -> str:
    """A text without what ALCE's evaluator takes for citation marks."""
    return _ALCE_MARK.sub("", text).replace(" |", "").replace("]", "")


def sentences(text: str, mode: Mode) -> list[str]:
    """The sentences of a text.

    strict: by Punkt (Kiss and Strunk 2006), as NLTK ships it for English. It does not look at
    marks, so that one behind a full stop begins the next sentence.

    Raises:
        MissingExtraError: strict, and the extra `alce` is not installed.
    """
    if mode == "corrected":
        return [text[span.start : span.end] for span in split(text)]
    found: list[str] = _punkt().tokenize(text)
    return found


def normal(text: str, mode: Mode) -> str:
    """The normal form in which answers are compared (SQuAD; ALCE).

    Lower case, no punctuation, no articles, single spaces. strict: punctuation is ASCII only.
    """
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
        # NLTK's own algorithm with the tables that it would download; the package that brings
        # them has an algorithm as well, which cuts rows of dots in another way.
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
