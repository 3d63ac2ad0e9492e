"""Details of a claim that its premise lacks: numbers, dates, names, and names in code.

An entailment model reads meanings, and overlooks a different year or name. No model is needed to
check whether a text contains a word. A missing word proves nothing: "a dozen" is 12, and names have
several forms. So such a claim is checked twice instead of being rejected. Only names in code have a
single form.
"""

from __future__ import annotations

import re
import unicodedata

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
_TEENS = "fifteen sixteen seventeen eighteen nineteen twenty"
_TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
NUMBER_WORDS = f"{_UNITS} {_TEENS} {_TENS}".split()
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
NUMBER_VALUES = (
    {word: str(value) for value, word in enumerate(f"{_UNITS} {_TEENS}".split())}
    | {word: str(10 * value) for value, word in enumerate(_TENS.split(), start=3)}
    | {word: str(value) for value, word in enumerate(_ORDINALS.split(), start=1)}
    | {"once": "1", "twice": "2", "both": "2", "single": "1", "double": "2"}
    | {"half": "0.5", "dozen": "12"}
)
_FIGURE = re.compile(r"\d[\d.,]*(?:\d|(?=\D|$))")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)(?<![\w'’])[A-ZÀ-Þ][\w'’-]*\w")
_KEYS = (
    "Ctrl|Strg|Alt|Shift|Cmd|Meta|Enter|Tab|Esc|Del|Delete|Space|Left|Right|Up|Down|F[1-9][0-2]?"
)
_CODE = re.compile(
    r"`([^`]+)`"
    r"|(?<![\w/.-])("
    r"--[a-z][\w-]*"  # an option
    rf"|(?:{_KEYS})(?:[+-](?:\w|{_KEYS}))+(?!\w)"  # a combination of keys
    r"|/(?:[\w.~-]+/)+[\w.-]*\w"  # a path
    r"|(?:\w+\.)*\w*[a-z]\w*_\w+(?:\.\w+)*|[a-z]\w+(?:\.\w\w+)+|[a-z]\w*\(\)"
    r")"
)
_BOUND = re.compile(
    r"\b(?:over|under|above|below|nearly|almost|about|around|roughly|some|up to|at least|at most"
    r"|(?:more|less|fewer|greater) than)\s+(?:the\s+)?(?:\d[\d.,]*|[a-z]+)",
    re.I,
)
"""A bound, which is not the number itself."""
_CLOCK = re.compile(r"\b(\d{1,2}):00\b(?: ?[ap]\.?m\b\.?)?|(?<=\d) ?[ap]\.?m\b\.?", re.I)
"""What tells that a number is an hour: `17:00` is 17, and `11 AM` has no name in it."""
_COMPOUND = re.compile(r"\b(\w+)-([a-z]{3,})\b")
_COUNTED = re.compile(r"\b(\w+)(?=[- ]([a-z]{3,}))")
_VAGUE = {"one", "first", "second", "half", "once", "single", "both", "double"}
"""Words that are often not meant as numbers, as in "one of" and "the second time"."""


def missing_details(premise: str, claim: str) -> list[str]:
    """Return the claim's numbers and names that the premise has in none of the known forms."""
    premise, claim = (_CLOCK.sub(r"\1", text) for text in (premise, claim))
    known = set(_plain(premise).split())
    stems = {word[:4] for word in known}
    names = dict.fromkeys(
        name.removesuffix("'s").removesuffix("’s") for name in _NAME.findall(claim)
    )
    unnamed = [name for name in names if not _is_known(name, known, stems)]
    return [*_missing_numbers(premise, claim), *unnamed]


def missing_code(premise: str, claim: str) -> list[str]:
    """Return names in code that the premise lacks: `token_bytes()`, `--force`, `Ctrl+Z`.

    Nobody paraphrases them, so a premise without such a name does not state the claim.
    """
    known = _code_words(premise)
    names = ("".join(found) for found in _CODE.findall(claim))
    return [name for name in names if not _code_words(name) <= known]


def _code_words(text: str) -> set[str]:
    """Return the words of more than a letter, and the combinations of keys."""
    plain = text.lower()
    keys = re.findall(r"\w{2,}(?:[+-]\w+)*[+-]\w\b", plain)
    return {word for word in re.findall(r"\w+", plain) if len(word) > 1} | {
        key.replace("-", "+") for key in keys
    }


def _missing_numbers(premise: str, claim: str) -> list[str]:
    """Return the claim's numbers that the premise has neither in figures nor in words.

    A bound in the premise ("over 800") counts only for a claim that also has a bound, and a number
    in a compound ("six-story") only for a claim that counts the same thing.
    """
    counted = {_count(found) for found in _COUNTED.finditer(claim)}
    premise = _COMPOUND.sub(
        lambda found: found[0] if _count(found) in counted else found[2], premise
    )
    known = set(_numbers(premise).values())
    if not _BOUND.search(claim):
        known -= set(_numbers(" ".join(_BOUND.findall(premise))).values()) - set(
            _numbers(_BOUND.sub(" ", premise)).values()
        )
    return [
        said
        for said, value in _numbers(claim).items()
        if value not in known and said.lower() not in _VAGUE and not _is_near(value, known)
    ]


def _numbers(text: str) -> dict[str, str]:
    """Map numbers as written to their values in figures."""
    found = {figure.strip(".,"): _value(figure) for figure in _FIGURE.findall(text)}
    words = re.findall(r"[A-Za-z]+", text)
    return found | {
        word: NUMBER_VALUES[low] for word in words if (low := word.lower()) in NUMBER_VALUES
    }


def _count(found: re.Match[str]) -> tuple[str, str]:
    """Return the value of a number and the beginning of what it counts."""
    return NUMBER_VALUES.get(found[1].lower(), found[1]), found[2][:4]


def _value(figure: str) -> str:
    bare = figure.strip(".,")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", bare):
        bare = bare.replace(",", "")
    return bare.lstrip("0") or "0"


def _is_near(value: str, known: set[str]) -> bool:
    """Whether the number is known in another form, such as 3 for 3.0."""
    return any(
        value == other.removesuffix(".0") or other == value.removesuffix(".0") for other in known
    )


def _is_known(name: str, known: set[str], stems: set[str]) -> bool:
    words = _plain(name).split()
    return all(word in known or (len(word) > 4 and word[:4] in stems) for word in words)


def _plain(text: str) -> str:
    bare = unicodedata.normalize("NFKD", text.lower())
    return re.sub(r"[^\w\s]|[\u0300-\u036f]", " ", bare.replace("'s", "").replace("’s", ""))
