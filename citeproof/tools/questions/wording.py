"""The wording of an answer that follows from its question; English only."""

from __future__ import annotations

import re

from citeproof.tools.citations.marks import content
from citeproof.tools.questions.definitions import find_defined_term
from citeproof.tools.questions.parts import asks_yes_or_no, question_parts, strip_preamble
from citeproof.tools.sentences import split

STATES = "The passage states that"
"""Begins the reply to a yes/no question; not part of the claim. Small models say yes whatever the
passages say, and instructions do not help: of 18 such questions on short documents, the first
sentence was correct for nine, and with this beginning for 14."""
_ASKS_HOW = re.compile(
    r"\s*how (?:to|(?:do|can|could|should|would|does) (?:I|we|you|one)) ([^?]{3,100}?)\s*\?\s*$",
    re.I,
)
_ASKER = {
    **{"I'm": "you're", "I’m": "you’re", "I am": "you are", "I was": "you were"},
    **{"my": "your", "our": "your", "I": "you", "we": "you", "me": "you"},
}
_OF_ASKER = re.compile(rf"\b(?:[A-Z]\w+ I(?= *$)|{'|'.join(_ASKER)})\b")
"""Matches "Elizabeth I" too, which stays."""
_ASKS_WHY = re.compile(
    r"\s*(?:\w+\s+)?(?:why|how come|for what reasons?|what (?:is|was) the reason)\b", re.I
)
_ASKS_TO_COMPARE = re.compile(r"\bdifferences? between\b|\bdiffers?\b|\bcompare\b", re.IGNORECASE)
_ASKS_LIST = re.compile(r"\s*what are the ([^?.,:]{3,80}?)\s*\?\s*$", re.IGNORECASE)
"""A question to which a small model replies that there are such things."""
_NO_PLURAL = (
    r"(?:is|was|has|does|this|its|as|us|happens|means|makes|causes|comes|goes|takes|gives|keeps)\b"
)
_NAMES_ONE = r"what (?:are|were) [^?]*\b(?:called|named|known as|worth)\b(?! by\b)"
_ASKS_SEVERAL = re.compile(
    rf"\s*(?!{_NAMES_ONE})(?:what (?:are|were)\b|(?:list|name|enumerate) (?!of\b)"
    rf"|(?:what|which) (?:(?!{_NO_PLURAL})[\w-]+ ){{0,3}}?"
    rf"(?!{_NO_PLURAL})(?:[\w-]+[^\W_sui]s|people)\b"
    r"|what (?:can|could|may|must|should|do) (?:I|we|you|one|\w+s)\b"
    r"|what (?:is|was) (?:\w+ )?(?:included|needed|required|allowed|forbidden|covered)\b"
    r"|what (?:does|did) .{2,60} (?:include|contain|consist of|cover|comprise|need|require)\b)",
    re.IGNORECASE,
)
_ASKS_WHO = re.compile(r"\s*(?:(?:to|for|by|with|from|of|under)\s+)?who(?:m|se)?\b", re.IGNORECASE)
_ANY_OF_US = re.compile(r"\b(?:you|your|we|us|our)\b", re.IGNORECASE)
_SIGN = re.compile(r"[\"“`'‘]([^\w\s]{1,5})[\"”`'’]")
_NAMES_ALTERNATIVES = re.compile(r"\bor\b", re.IGNORECASE)


def begin_answer(question: str) -> str:
    """The beginning of an answer; empty if the writer shall choose it.

    >>> begin_answer("What are the five account types?")
    'The five account types are'
    >>> begin_answer("How do I cancel my order if I am ill?")
    'To cancel your order if you are ill,'
    """
    first = question_parts(question)[0]
    if asks_yes_or_no(first):
        return STATES
    if listed := _ASKS_LIST.match(first):
        return f"The {listed[1]} are"
    if asked := _ASKS_HOW.match(first):
        return f"To {_OF_ASKER.sub(lambda said: _ASKER.get(said[0], said[0]), asked[1])},"
    return ""


def tells_how(sentence: str, question: str) -> bool:
    """Whether a sentence answers "How do I …?" with the goal first: "To …, do this"."""
    return sentence.startswith("To ") and asks_how(question)


def asks_how(question: str) -> bool:
    """Whether a question asks how to do something; English only."""
    return _ASKS_HOW.match(strip_preamble(question)) is not None


def asks_for_several(question: str) -> bool:
    """Whether the answer to a question may be a list; English only.

    >>> asks_for_several("How do I reset it?"), asks_for_several("Which folders are saved?")
    (True, True)
    >>> asks_for_several("Who wrote it?"), asks_for_several("What is the price?")
    (False, False)
    >>> asks_for_several("What happens on days off?"), asks_for_several("What are oars called?")
    (False, False)
    >>> asks_for_several("What are the rules?"), asks_for_several("What are tokens?")
    (True, False)
    >>> asks_for_several("Which functions are called at the start?")
    True
    """
    several = _ASKS_SEVERAL.match(strip_preamble(question)) and not find_defined_term(question)
    return bool(several) or asks_how(question)


def asks_why(question: str) -> bool:
    """Whether a question asks for reasons; English only."""
    return _ASKS_WHY.match(strip_preamble(question)) is not None


def asks_to_compare(question: str) -> bool:
    """Whether a question asks how two things differ; English only.

    >>> asks_to_compare("What's the difference between -f and -F?"), asks_to_compare("What is -f?")
    (True, False)
    """
    return _ASKS_TO_COMPARE.search(strip_preamble(question)) is not None


def asks_who(question: str) -> bool:
    """Whether a question asks for somebody; English only."""
    return _ASKS_WHO.match(strip_preamble(question)) is not None


def repeats_question(sentence: str, question: str) -> bool:
    """Whether a sentence says no more than the question.

    A yes/no question, and one that names alternatives, may be answered in its own words; "who" by
    "you" and "we", and any question by a sign in quotation marks. A step with a single word of its
    own is one such as "Open GnuCash."

    >>> repeats_question("The user owns the content.", "Who owns the content of a user?")
    True
    >>> repeats_question("You own the content.", "Who owns the content of a user?")
    False
    >>> repeats_question('The sign that negates a pattern is "!".', "Which sign negates a pattern?")
    False
    """
    if asks_yes_or_no(question) or _NAMES_ALTERNATIVES.search(question):
        return False
    names_us = _ANY_OF_US.search(sentence) and not _ANY_OF_US.search(question)
    if asks_who(question) and names_us:
        return False
    if any(sign not in question for sign in _SIGN.findall(sentence)):
        return False
    asked = question[max((span.start for span in split(question)), default=0) :]
    least = 2 if _ASKS_HOW.match(question) else 1
    return len(content(sentence) - content(asked)) < least
