"""Careful edits of sentences: near misses that only close reading detects.

Each edit takes a sentence and returns one with another meaning, or None if it finds nothing to
change. A name or a number is replaced by one of the same kind, if possible from the same passage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from citeproof.tools.entailment.spans import (
    MONTH,
    MONTHS,
    NUMBER,
    YEAR,
    find_spans,
    overlap,
    replace_span,
)


def _words(text: str) -> list[str]:
    return text.split()


NUMBERS = _words("two three four five six seven eight nine ten eleven twelve")
ORDINALS = _words("first second third fourth fifth sixth seventh eighth ninth tenth")


def kind(text: str) -> str:
    """The kind of an answer: year, number, date, name or phrase."""
    bare = text.strip().strip(".")
    if YEAR.fullmatch(bare):
        return "year"
    if MONTH.search(bare) and re.search(r"\d", bare):
        return "date"
    if NUMBER.search(bare) and len(bare.split()) <= 4:
        return "number"
    words = [
        w for w in re.findall(r"[\w'’.-]+", bare) if w.lower() not in {"the", "of", "and", "a"}
    ]
    if words and all(w[0].isupper() for w in words):
        return "name"
    return "phrase"


def another(span: str, of: str, around: str, rng: Random, others: Sequence[str] = ()) -> str | None:
    """Another span of the same kind: from the surrounding text, from `others`, or made up."""
    near = [s for s in find_spans(around, of) if not overlap(s, span)]
    far = [s for s in others if not overlap(s, span)]
    if near and (rng.random() < 0.75 or (of in {"name", "date"} and not far)):
        return rng.choice(near)
    if of == "year":
        return str(int(span) + rng.choice([-20, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 20]))
    if of == "number":
        return _number(span, rng)
    if of == "date":
        day = re.search(r"\b\d{1,2}\b(?!\d)", span)
        month = MONTH.search(span)
        if month and (not day or rng.random() < 0.5):
            return replace_span(
                span, month.group(), rng.choice([m for m in MONTHS if m != month.group()])
            )
        if day:
            return replace_span(span, day.group(), str(int(day.group()) % 28 + 1))
        return None
    return rng.choice(far) if far else None


def _number(span: str, rng: Random) -> str:
    value = float(span.replace(",", ""))
    if value == int(value):
        step = 1 if value < 20 else max(1, int(value * rng.choice([0.1, 0.2, 0.5, 1])))
        new = int(value) + (step if value <= step or rng.random() < 0.5 else -step)
        return f"{new:,}" if "," in span else str(new)
    return f"{value + rng.choice([-0.5, 0.5, 1.0, 2.0]):.{len(span.split('.')[-1])}f}"


_HELPING = "was|were|is|are|has|have|had|can|could|will|would|did|does|do|should|may|must"
_NEGATIONS = (
    (rf"\b({_HELPING}) (?!not\b)", r"\1 not "),
    (rf"\b({_HELPING}) not ", r"\1 "),
    (r"\bnever ", ""),
)
_SCOPES = (
    (r"\ball\b", ("few", "none")),
    (
        r"(?<!the )(?<!its )(?<!his )(?<!her )(?<!their )(?<!second )\bmost"
        r"(?= of\b| (?!(?:is|was|has|as|this|always)\b)[a-z]+(?<!ou)s\b)",
        ("all", "few"),
    ),
    (r"\bmany\b", ("all", "few")),
    (r"\bsome\b", ("all", "no")),
    (r"\bseveral\b", ("all", "two")),
    (r"\balways\b", ("never",)),
    (r"\boften\b", ("always", "rarely")),
    (r"\busually\b", ("always", "never")),
    (r"\bone of the\b", ("the only one of the", "none of the")),
    (r"\bmay\b", ("must", "will")),
    (r"\bcan\b", ("must",)),
    (r"\bat least\b", ("at most", "exactly")),
    (r"\bmore than\b", ("less than", "exactly")),
    (r"\bless than\b", ("more than",)),
    (r"\bbefore\b", ("after",)),
    (r"\bafter\b", ("before",)),
    (r"\bincreased\b", ("decreased",)),
    (r"\blargest\b", ("smallest", "second largest")),
    (r"\bhighest\b", ("lowest", "second highest")),
    (r"\boldest\b", ("youngest", "newest")),
    (r"\bnorthern\b", ("southern",)),
    (r"\bsouthern\b", ("northern",)),
    (r"\beastern\b", ("western",)),
    (r"\bwestern\b", ("eastern",)),
    (r"\bwon\b", ("lost",)),
    (r"\blost\b", ("won",)),
    (r"\bbegan\b", ("ended",)),
    (r"\bfather\b", ("brother", "mother")),
    (r"\bwife\b", ("sister", "mother")),
    (r"\bson\b", ("brother", "nephew")),
    (r"\bunder\b", ("over",)),
    (r"\bfirst\b", ("second", "last")),
    (r"\bsecond\b", ("first", "third")),
    (r"\bpartly\b", ("entirely",)),
    (r"\bsouth\b", ("north", "west")),
    (r"\bnorth\b", ("south", "east")),
    (r"\beast\b", ("west",)),
    (r"\bwest\b", ("east",)),
    (r"\bearly\b", ("late",)),
    (r"\blate\b", ("early",)),
)


_AFTER_A_NAME = (
    r"$|[.,;:)]| (?:in|on|at|to|from|by|as|for|into|about|against|under|over|during|after|before"
    r"|between|near|is|was|were|are|has|had|will|can|[a-z]+ed)\b"
)


def negate(sentence: str, rng: Random) -> str | None:
    """The sentence with one negation inserted or removed."""
    usable = [(p, r) for p, r in _NEGATIONS if re.search(p, sentence)]
    if not usable:
        return None
    pattern, new = usable[-1] if len(usable) > 1 else usable[0]
    return re.sub(pattern, new, sentence, count=1)


def rescope(sentence: str, rng: Random) -> str | None:
    """The sentence with one word of scope, order or direction changed."""
    usable = [(p, new) for p, new in _SCOPES if re.search(p, sentence)]
    if not usable:
        return None
    pattern, new = rng.choice(usable)
    return re.sub(pattern, rng.choice(new), sentence, count=1)


def reverse(sentence: str, rng: Random) -> str | None:
    """The sentence with two of its names exchanged."""
    names = [name for name in find_spans(sentence, "name") if _moves(name, sentence)]
    pairs = [
        (a, b)
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        # "Princess Alice, the Duchess of Gloucester" means the same the other way round.
        if not overlap(a, b)
        and not re.search(
            rf"{re.escape(a)}\W*(?:(?:is|was|are|were) )?(?:[Tt]he )?{re.escape(b)}", sentence
        )
    ]
    if not pairs or re.search(r"\b(?:and|married|with|or|met)\b", sentence):
        return None
    a, b = rng.choice(pairs)
    return replace_span(replace_span(replace_span(sentence, a, "\0"), b, a), "\0", b)


def _moves(name: str, sentence: str) -> bool:
    """Whether a name stands alone: not as adjective, byname, or part of a longer name."""
    if name.endswith(("'s", "’s", "'", "’")):
        return False
    name = re.escape(name)
    unfit = (
        rf"(?:\b(?:called|named|titled|known as|an?) |- ?){name}(?!\w)",
        rf"(?<!\w){name}(?:['’-]| of\b)",
        rf"(?<!^)(?<!\w){name}(?!\w)(?!{_AFTER_A_NAME})",
    )
    return not any(re.search(pattern, sentence) for pattern in unfit)


def substitute(
    sentence: str, around: str, rng: Random, names: Sequence[str] = ()
) -> tuple[str, str, str] | None:
    """The sentence with one name, number, year or date replaced: (sentence, old, new)."""
    kinds = ["year", "number", "date", "name", "name"]
    rng.shuffle(kinds)
    for of in kinds:
        found = find_spans(sentence, of)
        if not found:
            continue
        old = rng.choice(found)
        new = another(old, of, around, rng, names if of == "name" else ())
        if new and new != old and not (of == "name" and new in sentence):
            return replace_span(sentence, old, new), old, new
    words = set(re.findall(r"[a-z]+", sentence))
    for row in (NUMBERS, ORDINALS):
        for word in row:
            if word in words:
                new = rng.choice([w for w in row if w != word])
                return replace_span(sentence, word, new), word, new
    return None


def shorten(sentence: str) -> str:
    """The sentence without its parentheses: a paraphrase that stays true."""
    bare = re.sub(r"\s*\([^()]*\)", "", sentence)
    return re.sub(r"\s+([,.;])", r"\1", bare)


def plainer(sentence: str, title: str, rng: Random) -> str:
    """A plainer sentence that is still true: without asides, with the title for a pronoun."""
    text = shorten(sentence)
    if rng.random() < 0.5:
        # Within the sentence only if no list may continue after the comma.
        text = re.sub(
            r", (?:which|who|where|although|while|whereas) [^,.;]*"
            r"(?:,(?= [^,;]*$)(?!.* (?:and|or) )|(?=\.$))",
            "",
            text,
        )
    if rng.random() < 0.5:
        text = re.sub(
            r"^(?:In|On|At|By|During|After|Before|Since) [^,]{3,40}, (?=[a-zA-Z])", "", text
        )
    if kind(title) == "name" and rng.random() < 0.7:
        text = re.sub(
            r"^(?:He|She|It)(?= (?:was|is|has|had|became|began|won|died|wrote|made)\b)", title, text
        )
    return _capital(text)


def declare(question: str, answer: str) -> str | None:
    """A question and its answer as one sentence; None for questions of other forms.

    "Who wrote Emma?" and "Jane Austen" give "Jane Austen wrote Emma."
    """
    q = question.strip().rstrip("?").strip()
    who = re.match(
        r"^who (?!(?:did|do|does|is|was|were|are|has|had|can|could|will|would)\b)(.+)$", q, re.I
    )
    if who:
        return f"{_capital(answer)} {who.group(1)}."
    be = re.match(r"^(?:who|what) (is|was|were|are) ((?:the|its|his|her) .+)$", q, re.I)
    if be:
        return f"{_capital(be.group(2))} {be.group(1)} {answer}."
    which = re.match(
        r"^(?:what|which) ([a-z]+(?: [a-z]+)?) (was|is|won|has|had|became|helped|led|made|wrote|founded|hosted"
        r"|caused|defeated|represented|contains|includes|produced|designed|gave|ruled|used|created) (.+)$",
        q,
        re.I,
    )
    if which and which.group(1).split()[-1] not in _words("did does do is was were are"):
        return f"{_capital(answer)} {which.group(2)} {which.group(3)}."
    when = re.match(
        r"^(?:when|in (?:what|which) year) was (.+?) (born|founded|built|released|established|published|formed|elected|opened|completed|created|introduced|signed)$",
        q,
        re.I,
    )
    if when:
        joint = "on" if kind(answer) == "date" else "in"
        return f"{_capital(when.group(1))} was {when.group(2)} {joint} {answer}."
    many = re.match(r"^how many ([\w ]+?) (are|were)(?: there)? (.+)$", q, re.I)
    if many:
        return f"{_capital(answer)} {many[1]} {many[2]} {many[3]}."
    return None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
