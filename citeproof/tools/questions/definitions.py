"""Questions what something is; English only."""

from __future__ import annotations

import re

from citeproof.tools.citations.marks import content
from citeproof.tools.questions.parts import strip_preamble

_WORD = r"[^\W_][\w'’/+#.-]*"
_TERM = rf"{_WORD}(?: {_WORD}){{0,3}}"
_ASKS_WHAT_IS = re.compile(
    rf"\s*(?:what(?:['’]s| is| are) (?!the )(?:an? )?(?P<term>{_TERM})"
    rf"|what(?:['’]s| is| are) the (?P<name>{_TERM})"
    rf"|what (?:is|are) meant by (?:an? )?(?P<meant>{_TERM})"
    rf"|what do(?:es)? (?:the (?:term|word) )?(?:an? )?(?P<meaning>{_TERM}) (?:mean|stand for)"
    rf"|define (?:an? )?(?P<defined>{_TERM}))\s*\??\s*$",
    re.IGNORECASE,
)
_ASKS_FOR_SEVERAL = re.compile(r"\s*what are\b", re.IGNORECASE)
_NO_TERM = re.compile(
    r"\b(?:about|as|at|by|for|from|in|into|like|of|on|to|with|than|and|or|my|your|our|his|her|its"
    r"|their|this|that|these|those|there|it|you|we|they|not|so|most|least|best|other|another|new"
    r"|wrong|next|happening|\w{2,}(?:ed|est)|\w+['’]s|known|made|done|given|found|meant)\b",
    re.IGNORECASE,
)
"""A word by which a question asks for more than what something is."""
_SUBJECT_WORDS = 6
"""Words in which a sentence that tells what something is mostly names it."""
_NAMES_IT = r"(?:called|named|termed|dubbed|known as|referred to as|terms?|words?)"
_EXPLAINED = rf"(?:\b{_NAMES_IT}\W+|\()(?:[\w-]+ ){{0,4}}?%(last)s|%(last)s[\"”'’*_`]* ?[,(:–—]"
"""A term, of which this is the last word, that is named as such, in brackets, or explained by what
follows."""


def find_defined_term(question: str) -> str:
    """Return the term whose meaning a question asks for; empty if it asks something else.

    "What is the price?" and "What are common mistakes?" ask for more, unless they ask for a name.

    >>> find_defined_term("What is a storage path?"), find_defined_term("What does ASN mean?")
    ('storage path', 'ASN')
    >>> find_defined_term("What is the price?"), find_defined_term("What is the Graph View?")
    ('', 'Graph View')
    >>> find_defined_term("What is the capital of France?"), find_defined_term("What is needed?")
    ('', '')
    """
    if not (asks := _ASKS_WHAT_IS.match(strip_preamble(question))):
        return ""
    term = asks[asks.lastgroup or 0]
    may_be_other = asks.lastgroup == "name" or (" " in term and _ASKS_FOR_SEVERAL.match(asks[0]))
    is_name = term == term.title()
    return "" if _NO_TERM.search(term) or (may_be_other and not is_name) else term


def lacks_definition(answer: str, question: str) -> bool:
    """Whether a question asks what something is, and the answer only mentions or abbreviates it.

    >>> lacks_definition("Sort the files by date and correspondent.", "What is a correspondent?")
    True
    >>> lacks_definition("A correspondent sends or gets a letter.", "What is a correspondent?")
    False
    >>> lacks_definition("ASN - Archive serial number", "What is an archive serial number?")
    True
    >>> lacks_definition("The person who wrote it is its correspondent.", "What is an ASN?")
    False
    """
    if not (wanted := content(find_defined_term(question))):
        return False
    words = answer.split()
    if all(word.isupper() for word in words if content(word) - wanted):
        return True
    named = [place for place, word in enumerate(words) if content(word) & wanted]
    if not named or named[0] < _SUBJECT_WORDS:
        return False
    last = re.escape(words[named[-1]].strip("\"“”'‘’()[]*_`.,;:!?–—"))
    return re.search(_EXPLAINED % {"last": last}, answer) is None
