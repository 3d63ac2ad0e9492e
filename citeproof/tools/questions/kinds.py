"""Whether an answer gives the number, time, reason, person or meaning asked for; English only."""

from __future__ import annotations

import re
from functools import partial

from citeproof.tools.citations.marks import content
from citeproof.tools.entailment.numbers import NUMBER_VALUES
from citeproof.tools.entailment.spans import MONTH, YEAR
from citeproof.tools.questions.definitions import lacks_definition
from citeproof.tools.questions.parts import AUXILIARY, strip_preamble
from citeproof.tools.questions.wording import asks_who, asks_why

_HOW_MANY = re.compile(r"\s*(?:\w+\s+)?how many\b", re.IGNORECASE)
_COUNTED = re.compile(
    rf"{_HOW_MANY.pattern}\s+(?P<things>(?:[\w'’-]+\s+){{0,4}}?[\w'’-]+?)\s+"
    rf"(?:in|of|on|there|{AUXILIARY})\b",
    re.IGNORECASE,
)
_NEAR = 3
"""Words before a noun in which its number stands: "four long wooden oars"."""
_HOW_TALL = re.compile(
    r"\s*(?:\w+\s+)?how (?:tall|high|deep|wide|thick|heavy|strong|big|large)\b", re.IGNORECASE
)
_HOW_LONG = re.compile(r"\s*(?:\w+\s+)?how (?:long|far|old|soon|often)\b", re.IGNORECASE)
_FIGURE = re.compile(rf"\d|\b(?:{'|'.join(NUMBER_VALUES)})\b", re.IGNORECASE)
_OTHERS = """
    million billion trillion pair couple dozens hundreds thousands no none nobody all every
    each unlimited several multiple
"""
_NUMBER = re.compile(rf"\d|\b(?:{'|'.join([*NUMBER_VALUES, *_OTHERS.split()])})\b", re.IGNORECASE)
"""A figure, a number in words, or a share; "some" and "many" are none."""
_NO_COUNT = re.compile(
    rf"\b(?:in|since|by|until|till|from|during|of|before|after|around|between|and)\s+"
    rf"(?:(?:{MONTH.pattern})\s+)?(?:{YEAR.pattern})|\bone of\b|\bfirst\b|\bsecond\b",
    re.IGNORECASE,
)
"""Years, and words that are often not meant as numbers."""
_MEASURED = re.compile(
    rf"(?:\d[\d.,]*|\b(?:{'|'.join(NUMBER_VALUES)}))[ -]"
    r"(?P<unit>second|minute|hour|day|week|month|year|character|byte|pixel|degree|mile|gram|pound"
    r"|tonne|dollar|euro)s?\b",
    re.IGNORECASE,
)
"""A number of hours, miles or the like. Units with two spellings are left out: foot, metre."""
_MAIN_CLAUSE = (
    r"\b(?:is|are|do|does|did|can|could|will|would|may|must|should)"
    r" (?:I|you|we|they|he|she|it|there|the|a|an|my)\b"
)
"""Follows a condition: "When I travel by train do I pay for my dog?"."""
# "When should I use it?" is answered by a purpose as well.
_WHEN = re.compile(
    rf"\s*when (?:(?!(?:would|should)\b){AUXILIARY}\b"
    rf"|(?:(?!\b(?:who|what|which|where|why|how)\b|{_MAIN_CLAUSE})[^,?])+\?\s*$)",
    re.I,
)
_UNITS = "second minute hour day night week month year decade century time age season"
_TIMES = """
    spring summer autumn fall winter dawn dusk noon midnight morning evening afternoon today now
    centuries era epoch period reign war easter christmas after afterwards before prior during until
    till since while when whenever once if upon soon later earlier early late recently always never
    following end beginning start birth death
"""
_TIME = re.compile(
    rf"\d|\b(?:{'|'.join([*NUMBER_VALUES, *_TIMES.split()])}|(?:{'|'.join(_UNITS.split())})s?"
    rf"|\w+day|{MONTH.pattern})\b",
    re.IGNORECASE,
)
"""A date, or a word that tells when something happens."""
_SPANS = """
    hourly daily nightly weekly monthly quarterly yearly annually regularly frequently sometimes
    occasionally rarely seldom constantly forever permanently indefinitely overnight briefly life
    lifetime immediately instantly promptly adult adults next near nearby close
"""
_NUMBER_OR_TIME = re.compile(
    rf"{_FIGURE.pattern}|{_TIME.pattern}|\b(?:{'|'.join(_SPANS.split())})\b", re.IGNORECASE
)
"""What tells how long, how far, how old, how soon or how often."""
_NO_SPAN = re.compile(
    rf"\b(?:number|amount|period|length) of (?:time|(?:{'|'.join(_UNITS.split())})s?)\b",
    re.IGNORECASE,
)
"""As in "for a certain number of days", which does not tell how long."""
_REASON = re.compile(
    r"\b(?:because|since|so|to \w+|for|due|as|therefore|thus|owing|thanks|hence|given|after"
    r"|led to|lead\w* to|hop(?:ed|ing)"
    r"|(?:reason|caus|result|prevent|allow|avoid|purpose|intend|aim|lack|fear|need|want|wish|believ"
    r"|explain|motivat)\w*)\b",
    re.IGNORECASE,
)
"""A word that often goes with a reason."""
_WORD = re.compile(r"\b[^\W\d_][\w'’-]+")
_PEOPLE = """
    people person child children parents family team staff company committee board council
    government police church court king queen you we he she they everybody everyone anybody anyone
    nobody both all chief head friend wife husband mother father son daughter brother sister boy
    girl group party crew judge nobles bishop bishops
"""
_PERSON = re.compile(
    rf"\b(?:{'|'.join(_PEOPLE.split())}|\w{{2,}}(?:er|or|ist|ian|ee|ant|ent|man|men|woman|women)s?)\b",
    re.IGNORECASE,
)
"""Matches more than persons, so that few are missed."""


def lacks_asked_kind(answer: str, question: str) -> bool:
    """Whether a question asks how many, how long, when, why or what, and the answer does not say.

    To a model, "Some Huguenots settled in Bedfordshire" answers how many did (0.95). Of 282 such
    questions of NQ, SQuAD and ASQA, three have answers without a number, of 662 that ask when, nine
    without a time, and of 128 that ask why, six without a word that goes with a reason, as have 39%
    of the sentences around them. All 81 answers to how long, how tall or the like have a number or
    a time, and two thirds of the sentences around them; "how much" is often answered without. Of 24
    sentences that tell SQuAD what something is, one is refused, and of 92 around them, ten.

    >>> lacks_asked_kind("Some settled there in 1568.", "How many settled there in 1568?")
    True
    >>> lacks_asked_kind("A dozen settled there.", "How many settled there?")
    False
    >>> lacks_asked_kind("Cards are shown 20 minutes early.", "How many cards are shown?")
    True
    >>> lacks_asked_kind("It is the strongest beer of all.", "How strong is the stout?")
    True
    >>> lacks_asked_kind("The bins are emptied weekly.", "How often are the bins emptied?")
    False
    >>> lacks_asked_kind("They are kept for a number of days.", "How long are they kept?")
    True
    >>> lacks_asked_kind("The treaty did not adopt it.", "When was the treaty adopted?")
    True
    >>> lacks_asked_kind("It is meant for batch jobs.", "When should I use the gateway?")
    False
    >>> lacks_asked_kind("She was thirty when the work began.", "Why was the lighthouse built?")
    True
    """
    if lacks_definition(answer, question):
        return True
    if asks_why(question):
        return _REASON.search(answer) is None
    asking = strip_preamble(question)
    if _HOW_MANY.match(asking):
        wanted, said = _NUMBER, _MEASURED.sub(partial(_keep_asked, question), answer)
        said = _NO_COUNT.sub(" ", said)
    elif _WHEN.match(asking):
        wanted, said = _TIME, answer
    elif _HOW_LONG.match(asking):
        wanted, said = _FIGURE if _NO_SPAN.search(answer) else _NUMBER_OR_TIME, answer
    elif _HOW_TALL.match(asking):
        wanted, said = _FIGURE, answer
    else:
        return False
    asked = set(re.findall(r"\w+", question.lower())) - {"when"}
    own = (word for word in re.findall(r"\w+", said.lower()) if word not in asked)
    return wanted.search(" ".join(own)) is None


def _keep_asked(question: str, measured: re.Match[str]) -> str:
    """Return a number of hours or the like if the question asks for its unit, else a blank."""
    is_asked = re.search(rf"how many\b.*\b{measured['unit']}", question, re.I)
    return measured[0] if is_asked else " "


def tells_count(answer: str, question: str) -> bool:
    """Whether an answer has a number beside the things that a question counts.

    Of 227 such sentences in the gold passages of NQ, SQuAD and ASQA, 184 have the answer; of 493
    others with a number, 110.

    >>> tells_count("A poll has up to four choices.", "How many choices can a poll have?")
    True
    >>> tells_count("Each choice has 25 letters.", "How many choices can a poll have?")
    False
    """
    asked = _COUNTED.match(strip_preamble(question))
    thing = content(asked["things"].split()[-1]) if asked else frozenset()
    said = answer.split()
    return any(
        content(word) & thing and _FIGURE.search(" ".join(said[max(0, place - _NEAR) : place]))
        for place, word in enumerate(said)
    )


def lacks_person(answer: str, question: str) -> bool:
    """Whether a question asks who, and the answer names nobody that the question does not name.

    To a model, "Laptops are replaced every four years" answers who replaces them. In the gold
    passages of NQ and SQuAD, this refuses 5 of 1,200 sentences with the answer, and 106 of 2,656
    without it.

    >>> lacks_person("Laptops are replaced every year.", "Who replaces my laptop?")
    True
    >>> lacks_person("Ask Priya in IT.", "Who replaces my laptop?")
    False
    """
    if not asks_who(question):
        return False
    known = content(question)
    words = _WORD.findall(answer)
    names = any(word[0].isupper() and content(word) - known for word in words)
    return not names and _PERSON.search(answer) is None
