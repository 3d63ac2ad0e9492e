"""Claims that are sentences of their premise, word for word: proof by identity, without a model."""

from __future__ import annotations

import re
import unicodedata

from citeproof.tools.sentences import count_words, leads_on, sentences

_TITLE = re.compile(r"^Title: .*$", re.MULTILINE)
_FEWEST = 4
"""Fewest words of a claim. A heading with fewer may state nothing on its own."""
_EDGES = ".,;:!()[]{}"
_QUOTED = re.compile(r"""\s*(["'])([^"]+)\1[.,;:!\s]*""")
"""A claim in quotation marks. In a premise they say that someone else claims it."""
_TYPED = str.maketrans("“”„‘’‚‐‑–—−", "\"\"\"'''-----")
"""Quotation marks and dashes as a keyboard has them: a writer seldom copies the others."""


def is_verbatim(premise: str, claim: str) -> bool:
    """Whether a claim is one sentence of a premise, or several consecutive ones.

    Spaces ("O 2" for O₂ is how many documents have it), the case of its first letter, the
    punctuation at its ends, the kind of quotation marks and dashes, and how accents are encoded do
    not count. A part of a sentence is not enough: "the pier is 214 metres long" may follow "it is
    wrong that", as may a sentence after a colon or a line that leads on. Nor does a question or a
    quotation in the premise prove what it contains.
    """
    premise, claim = (
        unicodedata.normalize("NFC", text).translate(_TYPED) for text in (premise, claim)
    )
    if quoted := _QUOTED.fullmatch(claim):
        claim = quoted[2]
    # Rejects most claims before anything is split into sentences.
    if count_words(claim) < _FEWEST or _bare(claim)[1:] not in "".join(premise.split()):
        return False
    wanted = [_bare(said) for said in sentences(claim)]
    stated = sentences(_TITLE.sub("", premise))
    found = [_bare(said) for said in stated]
    return any(
        found[i : i + len(wanted)] == wanted and not (i and _turns(stated[i - 1]))
        for i in range(len(found))
    )


def _turns(before: str) -> bool:
    """Whether what precedes a sentence may deny it or say that someone else claims it."""
    return before.endswith((":", "：")) or leads_on(before)


def _bare(text: str) -> str:
    """Return a text without spaces, the punctuation at its ends and its first capital."""
    bare = "".join(text.split()).strip(_EDGES)
    return bare[:1].lower() + bare[1:]
