"""Makes labelled pairs like those citeproof meets, from question sets, passages and NLI rows.

Each recipe is a function that yields rows: `questions` (a question with its answer, right or a
near miss, against the passage), `sentences` (a sentence of a passage, copied or edited), `twins`
(two rows that differ in a word or two), `neighbours` (a true claim against evidence about something
else), `together` (two claims that need two passages), `among` (the premise among other passages).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple

from citeproof.tools.entailment.spans import find_spans, overlap, replace_span
from citeproof.tools.sentences import split
from training import edits
from training.rows import Row, show


@dataclass(frozen=True)
class Text:
    """A passage of the pool."""

    id: str
    title: str
    text: str

    @property
    def premise(self) -> str:
        """The premise as citeproof shows it to the model: a title line, then the text."""
        return f"Title: {self.title}\n{self.text}"

    def shown(self, part: str, rng: Random, titled: float) -> str:
        """A part of the passage, with the title above it in a share `titled` of the calls."""
        return show(self.title, part, rng, titled)


@dataclass(frozen=True)
class Asked:
    """A question, its answers, and the passage that contains them."""

    question: str
    answers: tuple[str, ...]
    gold: Text
    source: str

    def is_answered_in(self, text: str) -> bool:
        """Whether a text contains one of the answers."""
        return holds_any(text, self.answers)

    def overlaps(self, span: str) -> bool:
        """Whether a span of a text overlaps with one of the answers."""
        return any(overlap(span, answer) for answer in self.answers)


@dataclass(frozen=True)
class Around:
    """The surroundings of a question: the others of its passage, the passages of its article."""

    beside: Mapping[str, Sequence[Asked]]
    """Id of a passage → its questions."""
    article: Mapping[str, Sequence[Text]]
    """Title of an article → its passages."""

    @classmethod
    def of(cls, sets: Sequence[Asked], pool: Mapping[str, Text]) -> Around:
        """The surroundings of all questions of these sets."""
        beside: dict[str, list[Asked]] = defaultdict(list)
        article: dict[str, list[Text]] = defaultdict(list)
        for item in sets:
            beside[item.gold.id].append(item)
        for text in pool.values():
            article[text.title].append(text)
        return cls(beside, article)

    def siblings(self, item: Asked) -> list[Text]:
        """The other passages of the article that contain no answer."""
        return [
            text
            for text in self.article[item.gold.title]
            if text.id != item.gold.id and not item.is_answered_in(text.text)
        ]


def asked(rows: Sequence[Mapping[str, Any]], pool: Mapping[str, Text], source: str) -> list[Asked]:
    """The questions of a set whose answer is in a gold passage."""
    found = []
    for row in rows:
        whole = {"question": row["question"], "short_answers": row["answers"]}
        for pair in row.get("qa_pairs") or [whole]:
            answers = tuple(a for a in pair["short_answers"] if a)
            for key in row["gold_passages"]:
                if key in pool and any(holds(pool[key].text, a) for a in answers):
                    inside = tuple(sorted(answers, key=lambda a: not holds(pool[key].text, a)))
                    found.append(Asked(pair["question"], inside, pool[key], source))
                    break
    return found


def holds(text: str, answer: str) -> bool:
    """Whether a text contains an answer as whole words, ignoring case."""
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.I) is not None


def holds_any(text: str, answers: Iterable[str]) -> bool:
    """Whether a text contains one of the answers."""
    return any(holds(text, answer) for answer in answers)


def phrased(question: str, answer: str, rng: Random) -> str:
    """A question and an answer as one hypothesis."""
    sentence = edits.declare(question, answer)
    if sentence and rng.random() < 0.6:
        return sentence
    question = question.strip()
    if rng.random() < 0.1:
        return f"The answer to “{question}” is {answer}."
    if rng.random() < 0.5:
        question = question.rstrip("? ") + ("?" if rng.random() < 0.5 else "")
    return f"{question} {answer}"


def crop(text: str, answer: str, rng: Random, question: str) -> str:
    """The sentences around an answer: shorter to read, but equally hard to judge.

    If several contain the answer, takes the one that shares most words with the question.
    """
    spans = split(text)
    holding = [i for i, s in enumerate(spans) if holds(text[s.start : s.end], answer)]
    if not holding or len(spans) < 3:
        return text
    asked = _words(question)
    at = max(holding, key=lambda i: len(asked & _words(text[spans[i].start : spans[i].end])))
    first = max(0, at - rng.randint(0, 2))
    last = min(len(spans) - 1, at + rng.randint(0, 2))
    return text[spans[first].start : spans[last].end]


def pieces(text: str) -> set[str]:
    """The pieces of six words or more between full stops: texts that share one overlap.

    A plain rule cuts the same sentence in the same way in every text.
    """
    cut = re.split(r"(?<=[.!?])\s+", text.strip())
    return {piece for piece in cut if len(piece.split()) >= 6}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def questions(
    sets: Sequence[Asked],
    pool: Mapping[str, Text],
    rng: Random,
    *,
    cropped: float = 0.5,
    others: float = 0.15,
) -> Iterator[Row]:
    """Right answers and near misses, about two wrong ones for each right one.

    A share `cropped` of the premises is cut to the sentences around the answer, and a share
    `others` has another passage of the article, found in `pool`, next to the gold one.
    """
    known = Around.of(sets, pool)
    names = [a for item in sets for a in item.answers[:1] if edits.kind(a) == "name"]
    for item in sets:
        yield from _of_question(item, known, names, rng, cropped, others)


def _of_question(
    item: Asked, known: Around, names: Sequence[str], rng: Random, cropped: float, others: float
) -> Iterator[Row]:
    question, answer, gold = item.question, item.answers[0], item.gold
    siblings = known.siblings(item)

    def show(text: str, keep: str) -> str:
        body = crop(text, keep, rng, question) if rng.random() < cropped else text
        parts = [gold.shown(body, rng, 0.8)]
        if siblings and rng.random() < others:
            parts.append(rng.choice(siblings).premise)
            rng.shuffle(parts)
        return "\n".join(parts)

    def row(
        premise: str, question: str, answer: str, recipe: str, label: str = "not_entailed"
    ) -> Row:
        return Row(premise, phrased(question, answer, rng), label, f"{item.source}/{recipe}")

    yield row(show(gold.text, answer), question, answer, "answer", "entailed")

    of = edits.kind(answer)
    beside = [other.answers[0] for other in known.beside[gold.id]]
    near = [span for span in beside if not item.overlaps(span)]
    near_alike = [a for a in near if edits.kind(a) == of]
    around = f"{gold.title}. {gold.text}"
    wrong = None
    if near_alike and rng.random() < 0.6:
        wrong = rng.choice(near_alike)
    elif of in {"year", "number", "date", "name"}:
        counted = find_spans(answer, of)[:1] if of == "number" else [answer]
        put = edits.another(counted[0], of, around, rng, names) if counted else None
        wrong = replace_span(answer, counted[0], put) if put else None
    if wrong is None and near:
        wrong = rng.choice(near)
    if wrong and not item.overlaps(wrong):
        yield row(show(gold.text, answer), question, wrong, "other answer")

    choice = rng.random()
    if choice < 0.3 and siblings:
        yield row(rng.choice(siblings).premise, question, answer, "same article")
    elif choice < 0.5 and near:
        other = rng.choice(known.beside[gold.id])
        if not other.overlaps(answer) and other.question != question:
            yield row(show(gold.text, answer), other.question, answer, "other question")
    elif choice < 0.75:
        changed = edits.substitute(question, around, rng, names)
        if changed and not overlap(changed[2], answer):
            yield row(show(gold.text, answer), changed[0], answer, "edited question")
    elif wrong and of in {"year", "number", "date", "name"}:
        # The passage now says something else: the model must not rely on what it has memorized.
        edited = replace_span(gold.text, answer, wrong)
        if edited != gold.text:
            said, label = (answer, "not_entailed") if rng.random() < 0.5 else (wrong, "entailed")
            yield row(show(edited, wrong), question, said, "edited passage", label)


class _Excerpt(NamedTuple):
    """A sentence of a passage, and its surroundings."""

    sentence: str
    body: str
    """The sentence with some of the sentences before and after it."""
    premise: str
    """The same, with or without the title above it."""
    rest: list[str]
    """The other sentences of the passage."""

    @classmethod
    def draw(
        cls, text: Text, rng: Random, *, longest: int, room: int, titled: float
    ) -> _Excerpt | None:
        """A random sentence of six to `longest` words, or None if the passage has none.

        It has at most `room` sentences on either side; a share `titled` of the premises has the
        title.
        """
        spans = split(text.text)
        whole = [text.text[s.start : s.end] for s in spans]
        usable = [i for i, s in enumerate(whole) if 6 <= len(s.split()) <= longest]
        if not usable:
            return None
        at = rng.choice(usable)
        first = max(0, at - rng.randint(0, room))
        last = min(len(spans) - 1, at + rng.randint(0, room))
        body = text.text[spans[first].start : spans[last].end]
        return cls(whole[at], body, text.shown(body, rng, titled), whole[:at] + whole[at + 1 :])


def _names(texts: Sequence[Text]) -> list[str]:
    return [text.title for text in texts if edits.kind(text.title) == "name"]


def sentences(texts: Sequence[Text], source: str, rng: Random) -> Iterator[Row]:
    """One sentence of each passage, copied or edited, against the sentences around it."""
    names = _names(texts)

    def row(premise: str, hypothesis: str, label: str, recipe: str) -> Row:
        return Row(premise, hypothesis, label, f"{source}/{recipe}")

    for text in texts:
        excerpt = _Excerpt.draw(text, rng, longest=40, room=3, titled=0.8)
        if excerpt is None:
            continue
        sentence, body, premise, others = excerpt
        claim = edits.shorten(sentence) if rng.random() < 0.6 else sentence
        kind = rng.random()
        if kind < 0.28:
            yield row(premise, claim, "entailed", "copy")
        elif kind < 0.55:
            if changed := edits.substitute(claim, premise, rng, names):
                new, old, put = changed
                yield row(premise, new, "not_entailed", "substitution")
                edited = replace_span(premise, old, put)
                if rng.random() < 0.3:
                    yield row(edited, new, "entailed", "edited premise")
                elif rng.random() < 0.3:
                    yield row(edited, claim, "not_entailed", "edited premise")
                elif rng.random() < 0.25:
                    both = [body, replace_span(body, old, put)]
                    rng.shuffle(both)
                    said = rng.choice([claim, new])
                    yield row("\n".join(both), said, "contradiction", "premises disagree")
        elif kind < 0.65:
            if negated := edits.negate(claim, rng):
                yield row(premise, negated, "contradiction", "negation")
        elif kind < 0.82:
            if scoped := edits.rescope(claim, rng):
                yield row(premise, scoped, "not_entailed", "scope")
        elif kind < 0.92:
            if reversed_ := edits.reverse(claim, rng):
                yield row(premise, reversed_, "not_entailed", "roles")
        elif text.title in sentence and names:
            other = rng.choice(names)
            if not overlap(other, text.title):
                swapped = replace_span(claim, text.title, other)
                yield row(premise, swapped, "not_entailed", "other entity")
        elif len(others) >= 3:
            rest = " ".join(others)
            yield row(f"Title: {text.title}\n{rest}", claim, "neutral", "left out")


def twins(texts: Sequence[Text], source: str, rng: Random) -> Iterator[Row]:
    """Pairs of rows that differ in one word or two, one entailed and the other not.

    If possible, the replacement of a name or number occurs elsewhere in the premise, so that
    occurring there is not enough.
    """
    names = _names(texts)
    for text in texts:
        excerpt = _Excerpt.draw(text, rng, longest=35, room=1, titled=0.7)
        if excerpt is None:
            continue
        premise = excerpt.premise
        claim = edits.plainer(excerpt.sentence, text.title, rng)
        changes = [edits.negate, edits.rescope, edits.rescope, edits.reverse, edits.reverse]
        rng.shuffle(changes)
        changed = next((new for edit in changes if (new := edit(claim, rng))), None)
        right, wrong = claim, changed
        swapped = edits.substitute(claim, premise, rng, names)
        if swapped and (changed is None or rng.random() < 0.6):
            wrong, old, put = swapped
            edited = replace_span(premise, old, put)
            if rng.random() < 0.4 and replace_span(edited, put, old) == premise:
                # The same two claims the other way round: common knowledge must not help.
                premise, right, wrong = edited, wrong, claim
        if wrong:
            yield Row(premise, right, "entailed", f"{source}/twins")
            yield Row(premise, wrong, "not_entailed", f"{source}/twins")


def neighbours(rows: Sequence[Row], rng: Random) -> Iterator[Row]:
    """True claims against the evidence of another claim that shares a name with them.

    Neither the other claim's first name nor its evidence matches the first name of the true claim,
    about which it might say the same.
    """
    by_name: dict[str, list[Row]] = defaultdict(list)
    gold: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        gold[row.hypothesis] |= pieces(row.premise)
        for name in find_spans(row.hypothesis, "name"):
            by_name[name].append(row)
    for row in rows:
        names = find_spans(row.hypothesis, "name")
        if not row.entailed or not names:
            continue
        near = [
            other
            for name in names
            for other in by_name[name]
            if not overlap(names[0], find_spans(other.hypothesis, "name")[0])
            and not overlap(names[0], other.premise)
            and gold[row.hypothesis].isdisjoint(pieces(other.premise))
        ]
        if near:
            yield replace(
                row,
                premise=rng.choice(near).premise,
                label="neutral",
                source=f"{row.source}/neighbour",
            )


def together(rows: Sequence[Row], rng: Random) -> Iterator[Row]:
    """Two claims in one, entailed only if each is, by its own part of the premise."""
    pool = [r for r in rows if len(r.hypothesis.split()) <= 18 and len(r.premise.split()) <= 90]
    rng.shuffle(pool)
    for one, two in zip(pool[::2], pool[1::2], strict=False):
        if one.source != two.source:
            continue
        first, second = one.hypothesis.rstrip(". "), two.hypothesis.rstrip(". ")
        hypothesis = f"{first}, and {second}."
        if rng.random() < 0.4:
            hypothesis = f"{first}. {second}."
        premises = [one.premise, two.premise]
        entailed = one.entailed and two.entailed
        if entailed and rng.random() < 0.35:
            premises.pop(rng.randrange(2))
            entailed = False
        rng.shuffle(premises)
        label = "entailed" if entailed else "not_entailed"
        yield Row("\n".join(premises), hypothesis, label, f"{one.source}/together")


def among(rows: Sequence[Row], texts: Sequence[Text], rng: Random) -> Iterator[Row]:
    """The same pairs with one or two other passages around the premise."""
    for row in rows:
        parts = [row.premise, *(t.premise for t in rng.sample(texts, rng.randint(1, 2)))]
        rng.shuffle(parts)
        label = row.label if row.label != "contradiction" else "not_entailed"
        yield replace(row, premise="\n".join(parts), label=label, source=f"{row.source}/among")
