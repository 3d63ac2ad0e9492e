"""Makes labelled pairs of what the product meets, from question sets, passages and NLI rows.

The recipes, each a function that yields rows: `questions` (a question with its answer, right or a
near miss, against the passage), `sentences` (a sentence of a passage, copied or edited), `twins`
(two rows that differ in a word or two), `neighbours` (a true claim against evidence about something
else), `together` (two claims that need two passages), `among` (the premise among other passages).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from citeproof.tools.sentences import split
from training import edits
from training.rows import Row


@dataclass(frozen=True)
class Text:
    """A passage of the pool."""

    id: str
    title: str
    text: str

    @property
    def premise(self) -> str:
        """As the product shows it to the model: a title line, then the text."""
        return f"Title: {self.title}\n{self.text}"


@dataclass(frozen=True)
class Asked:
    """A question, its answers, and the passage that holds them."""

    question: str
    answers: tuple[str, ...]
    gold: Text
    source: str


@dataclass(frozen=True)
class Around:
    """The surroundings of a question: the others of its passage, the passages of its article."""

    beside: Mapping[str, Sequence[Asked]]
    """By the id of the passage."""
    article: Mapping[str, Sequence[Text]]
    """By the title."""

    @classmethod
    def of(cls, sets: Sequence[Asked], pool: Mapping[str, Text]) -> Around:
        """That of all questions of some sets."""
        beside: dict[str, list[Asked]] = defaultdict(list)
        article: dict[str, list[Text]] = defaultdict(list)
        for item in sets:
            beside[item.gold.id].append(item)
        for text in pool.values():
            article[text.title].append(text)
        return cls(beside, article)

    def siblings(self, item: Asked) -> list[Text]:
        """The other passages of the article, but for those that hold an answer."""
        return [
            text
            for text in self.article[item.gold.title]
            if text.id != item.gold.id and not any(holds(text.text, a) for a in item.answers)
        ]


def asked(rows: Sequence[dict[str, object]], pool: Mapping[str, Text], source: str) -> list[Asked]:
    """The questions of a set whose answer stands in a gold passage."""
    found = []
    for row in rows:
        pairs = row.get("qa_pairs") or [
            {"question": row["question"], "short_answers": row["answers"]}
        ]
        for pair in pairs:  # type: ignore[attr-defined]
            answers = tuple(a for a in pair["short_answers"] if a)
            for key in row["gold_passages"]:  # type: ignore[attr-defined]
                if key in pool and any(holds(pool[key].text, a) for a in answers):
                    inside = tuple(sorted(answers, key=lambda a: not holds(pool[key].text, a)))
                    found.append(Asked(pair["question"], inside, pool[key], source))
                    break
    return found


def holds(text: str, answer: str) -> bool:
    """Whether an answer stands in a text, in any case, as whole words."""
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.I) is not None


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
    """The sentences around an answer: shorter to read, as hard to judge.

    Of several that hold the answer the one is kept that shares most words with the question.
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

    Cut by a plain rule, which cuts the same sentence the same way in every text.
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
    """Right answers and near misses, about two wrong ones for a right one.

    Args:
        sets: Questions with their passages.
        pool: All passages, for another one of the same article.
        rng: Where chance comes from.
        cropped: Share of premises cut to the sentences around the answer.
        others: Share of premises with another passage of the article beside the gold one.
    """
    known = Around.of(sets, pool)
    all_names = [a for item in sets for a in item.answers[:1] if edits.kind(a) == "name"]
    for item in sets:
        answer, gold = item.answers[0], item.gold
        of = edits.kind(answer)
        near = [
            other.answers[0]
            for other in known.beside[gold.id]
            if not any(edits.same(other.answers[0], a) for a in item.answers)
        ]
        near_alike = [a for a in near if edits.kind(a) == of]
        siblings = known.siblings(item)

        def show(text: str, keep: str, siblings: list[Text] = siblings, item: Asked = item) -> str:
            body = crop(text, keep, rng, item.question) if rng.random() < cropped else text
            parts = [f"Title: {item.gold.title}\n{body}" if rng.random() < 0.8 else body]
            if siblings and rng.random() < others:
                parts.append(rng.choice(siblings).premise)
                rng.shuffle(parts)
            return "\n".join(parts)

        def row(
            premise: str, hypothesis: str, label: str, recipe: str, source: str = item.source
        ) -> Row:
            return Row(premise, hypothesis, label, f"{source}/{recipe}")

        yield row(
            show(gold.text, answer), phrased(item.question, answer, rng), "entailed", "answer"
        )

        around = f"{gold.title}. {gold.text}"
        wrong = None
        if near_alike and rng.random() < 0.6:
            wrong = rng.choice(near_alike)
        elif of in {"year", "number", "date", "name"}:
            counted = edits.spans(answer, of)[:1] if of == "number" else [answer]
            put = edits.another(counted[0], of, around, rng, all_names) if counted else None
            wrong = edits.swap(answer, counted[0], put) if put else None
        if wrong is None and near:
            wrong = rng.choice(near)
        if wrong and not any(edits.same(wrong, a) for a in item.answers):
            yield row(
                show(gold.text, answer),
                phrased(item.question, wrong, rng),
                "not_entailed",
                "other answer",
            )

        choice = rng.random()
        if choice < 0.3 and siblings:
            yield row(
                rng.choice(siblings).premise,
                phrased(item.question, answer, rng),
                "not_entailed",
                "same article",
            )
        elif choice < 0.5 and len(near):
            other = rng.choice(known.beside[gold.id])
            if (
                not any(edits.same(answer, a) for a in other.answers)
                and other.question != item.question
            ):
                yield row(
                    show(gold.text, answer),
                    phrased(other.question, answer, rng),
                    "not_entailed",
                    "other question",
                )
        elif choice < 0.75:
            changed = edits.substitute(item.question, around, rng, all_names)
            if changed and not edits.same(changed[2], answer):
                yield row(
                    show(gold.text, answer),
                    phrased(changed[0], answer, rng),
                    "not_entailed",
                    "edited question",
                )
        elif wrong and of in {"year", "number", "date", "name"}:
            # The passage says something else now: what the model knows by heart must not count.
            edited = edits.swap(gold.text, answer, wrong)
            if edited != gold.text:
                if rng.random() < 0.5:
                    yield row(
                        show(edited, wrong),
                        phrased(item.question, answer, rng),
                        "not_entailed",
                        "edited passage",
                    )
                else:
                    yield row(
                        show(edited, wrong),
                        phrased(item.question, wrong, rng),
                        "entailed",
                        "edited passage",
                    )


def sentences(texts: Sequence[Text], source: str, rng: Random, *, room: int = 4) -> Iterator[Row]:
    """One sentence of each passage, copied or edited, against the sentences around it."""
    names = [t.title for t in texts if edits.kind(t.title) == "name"]
    for text in texts:
        spans = split(text.text)
        whole = [text.text[s.start : s.end] for s in spans]
        usable = [i for i, s in enumerate(whole) if 6 <= len(s.split()) <= 40]
        if not usable:
            continue
        at = rng.choice(usable)
        sentence = whole[at]
        first = max(0, at - rng.randint(0, room - 1))
        body = text.text[
            spans[first].start : spans[min(len(spans) - 1, at + rng.randint(0, room - 1))].end
        ]
        premise = f"Title: {text.title}\n{body}" if rng.random() < 0.8 else body
        claim = edits.shorten(sentence) if rng.random() < 0.6 else sentence

        def row(premise: str, hypothesis: str, label: str, recipe: str) -> Row:
            return Row(premise, hypothesis, label, f"{source}/{recipe}")

        kind = rng.random()
        if kind < 0.28:
            yield row(premise, claim, "entailed", "copy")
        elif kind < 0.55:
            changed = edits.substitute(claim, premise, rng, names)
            if changed:
                new, old, put = changed
                yield row(premise, new, "not_entailed", "substitution")
                if rng.random() < 0.3:
                    yield row(edits.swap(premise, old, put), new, "entailed", "edited premise")
                elif rng.random() < 0.3:
                    yield row(
                        edits.swap(premise, old, put), claim, "not_entailed", "edited premise"
                    )
                elif rng.random() < 0.25:
                    both = [body, edits.swap(body, old, put)]
                    rng.shuffle(both)
                    yield row(
                        "\n".join(both),
                        rng.choice([claim, new]),
                        "contradiction",
                        "premises disagree",
                    )
        elif kind < 0.65:
            negated = edits.negate(claim, rng)
            if negated:
                yield row(premise, negated, "contradiction", "negation")
        elif kind < 0.82:
            scoped = edits.rescope(claim, rng)
            if scoped:
                yield row(premise, scoped, "not_entailed", "scope")
        elif kind < 0.92:
            reversed_ = edits.reverse(claim, rng)
            if reversed_:
                yield row(premise, reversed_, "not_entailed", "roles")
        elif text.title in sentence and names:
            other = rng.choice(names)
            if not edits.same(other, text.title):
                yield row(
                    premise, edits.swap(claim, text.title, other), "not_entailed", "other entity"
                )
        elif len(whole) >= 4:
            rest = " ".join(s for i, s in enumerate(whole) if i != at)
            yield row(f"Title: {text.title}\n{rest}", claim, "neutral", "left out")


def twins(texts: Sequence[Text], source: str, rng: Random) -> Iterator[Row]:
    """Pairs of rows that differ in one word or two, one entailed and the other not.

    The replacement of a name or a number stands elsewhere in the premise if possible: occurring
    there must not be enough.
    """
    names = [t.title for t in texts if edits.kind(t.title) == "name"]
    for text in texts:
        spans = split(text.text)
        usable = [
            i for i, s in enumerate(spans) if 6 <= len(text.text[s.start : s.end].split()) <= 35
        ]
        if not usable:
            continue
        at = rng.choice(usable)
        first, last = max(0, at - rng.randint(0, 1)), min(len(spans) - 1, at + rng.randint(0, 1))
        body = text.text[spans[first].start : spans[last].end]
        premise = f"Title: {text.title}\n{body}" if rng.random() < 0.7 else body
        claim = edits.plainer(text.text[spans[at].start : spans[at].end], text.title, rng)
        changes = [edits.negate, edits.rescope, edits.rescope, edits.reverse, edits.reverse]
        rng.shuffle(changes)
        changed = next((new for edit in changes if (new := edit(claim, rng))), None)
        swapped = edits.substitute(claim, premise, rng, names)
        if swapped and (changed is None or rng.random() < 0.6):
            new, old, put = swapped
            edited = edits.swap(premise, old, put)
            if rng.random() < 0.4 and edits.swap(edited, put, old) == premise:
                # The same two claims the other way round: what everyone knows does not count.
                yield Row(edited, new, "entailed", f"{source}/twins")
                yield Row(edited, claim, "not_entailed", f"{source}/twins")
            else:
                yield Row(premise, claim, "entailed", f"{source}/twins")
                yield Row(premise, new, "not_entailed", f"{source}/twins")
        elif changed:
            yield Row(premise, claim, "entailed", f"{source}/twins")
            yield Row(premise, changed, "not_entailed", f"{source}/twins")


def neighbours(rows: Sequence[Row], rng: Random) -> Iterator[Row]:
    """True claims against the evidence of another claim that shares a name with them.

    Neither that claim nor its evidence names what is named first, of which they might say the same.
    """
    by_name: dict[str, list[Row]] = defaultdict(list)
    gold: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        gold[row.hypothesis] |= pieces(row.premise)
        for name in edits.spans(row.hypothesis, "name"):
            by_name[name].append(row)
    for row in rows:
        names = edits.spans(row.hypothesis, "name")
        if not row.entailed or not names:
            continue
        near = [
            other
            for name in names
            for other in by_name[name]
            if not edits.same(names[0], edits.spans(other.hypothesis, "name")[0])
            and not edits.same(names[0], other.premise)
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
    """Two claims in one: entailed only where each is, by its own part of the premise."""
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


def among(rows: Sequence[Row], texts: Sequence[Text], rng: Random, most: int = 3) -> Iterator[Row]:
    """The same pairs with other passages around the premise."""
    for row in rows:
        parts = [row.premise, *(t.premise for t in rng.sample(texts, rng.randint(1, most)))]
        rng.shuffle(parts)
        label = row.label if row.label != "contradiction" else "not_entailed"
        yield replace(row, premise="\n".join(parts), label=label, source=f"{row.source}/among")
