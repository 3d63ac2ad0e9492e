"""Claims that are sentences of their premise, word for word: proof by identity, without a model."""

from __future__ import annotations

import re
import unicodedata

from citeproof.tools.sentences import sentences

_TITLE = re.compile(r"^Title: .*$", re.MULTILINE)
_FEWEST = 4
"""Fewest words of a claim. A heading with fewer may state nothing on its own."""
_EDGES = ".,;:!?\"'"
_TYPED = str.maketrans("“”„‘’‚‐‑–—−", "\"\"\"'''-----")
"""Quotation marks and dashes as a keyboard has them: a writer seldom copies the others."""


def is_verbatim(premise: str, claim: str) -> bool:
    """Whether a claim is one sentence of a premise, or several consecutive ones.

    Spaces ("O 2" for O₂ is how many documents have it), the case of its first letter, the
    punctuation at its ends, the kind of quotation marks and dashes, and how accents are encoded do
    not count. A part of a sentence is not enough: "the pier is 214 metres long" may follow "it is
    wrong that".
    """
    premise, claim = (
        unicodedata.normalize("NFC", text).translate(_TYPED) for text in (premise, claim)
    )
    said = claim.split()
    # Rejects most claims before anything is split into sentences.
    if len(said) < _FEWEST or "".join(said).strip(_EDGES)[1:] not in "".join(premise.split()):
        return False
    return f"\n{_lines(claim)}\n" in f"\n{_lines(_TITLE.sub('', premise))}\n"


def _lines(text: str) -> str:
    """Return the sentences without spaces, one per line."""
    return "\n".join("".join(said.split()).strip(_EDGES).casefold() for said in sentences(text))
