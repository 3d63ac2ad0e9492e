"""Makes pairs of a text and a question for yes or no: does the text settle the question?

A text may settle it without saying yes or no. BoolQ and PubMedQA have such questions as people ask
them. A passage of another article that has the question's words settles none. Questions made from
claims ("Was the pier built in 1931?") are asked of the passage that tells it, of the same passage
without it, of another sentence, and of another passage of the article. Pairs of NLI sets give the
hardest: a premise that neither entails nor contradicts a claim does not settle the question made
from it.

    python -m training.yes_no --data DATA --boolq dev.jsonl --pubmedqa ori_pqal.json --out SETS
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import typer

from citeproof.tools.citations.marks import content
from citeproof.tools.sentences import sentences
from training.build import QUESTIONS, apart, asked_of, is_ours
from training.claims import Declarer
from training.make import Around, Asked, Text, crop
from training.rows import Row, answer_row, lines, read, save, show
from training.search import search_in
from training.sections import shorten

_NLI = ("cad_snli", "mnli_val_m", "snli_test1k")
"""Sets of pairs with three labels."""
_TITLED = 0.9
"""Share of the passages with their title."""
_SAME = 0.8
"""A passage with this share of a question's content words may settle it too."""
_WRONG = 0.4
"""Share of the claims with another answer of their passage, where it has one."""
_SUBJECT = 9
"""Most words before the verb of a claim that becomes a question."""
_STARTS = re.compile(
    r"^(?:The|An?|His|Her|Its|Their|One|Most|Many|All|Some|Nearly|About|Two|Three|People|Every"
    r"|It|They|He|She|We|You|There|This|That|These|Those|My|Your|Our)\b"
)
_MOVED = re.compile(
    r"(?P<subject>.+?) (?P<verb>is|are|was|were|can|will|would|could) (?P<rest>.+)\."
)


class Settled(NamedTuple):
    """A question for yes or no, and a text that settles it."""

    question: str
    title: str
    text: str
    source: str


def read_boolq(path: Path) -> Iterator[Settled]:
    """The questions of a file of BoolQ; every second one as typed, the others as sentences."""
    for number, row in enumerate(lines(path)):
        asked = row["question"]
        question = f"{asked[0].upper()}{asked[1:]}?" if number % 2 else asked
        text = re.sub("``|''", '"', row["passage"])
        yield Settled(question, row.get("title", ""), text, "boolq")


def read_pubmedqa(path: Path) -> Iterator[Settled]:
    """The questions of PubMedQA that have an answer, with the conclusion of their article."""
    for row in json.loads(path.read_text(encoding="utf-8")).values():
        if row["final_decision"] != "maybe":
            yield Settled(row["QUESTION"], "", shorten(row["LONG_ANSWER"]), "pubmedqa")


def natural(found: Sequence[Settled], rng: Random) -> Iterator[Row]:
    """Each question with its text, and with passages that share words with it."""
    by_key = {f"{number}": item for number, item in enumerate(found)}
    search = search_in({key: f"{item.title}\n{item.text}" for key, item in by_key.items()})
    for key, item in by_key.items():
        shown = _shown(item, rng)
        yield answer_row(shown, item.question, True, f"{item.source}/passage")
        near = [by_key[other] for other in search(item.question, 8) if other != key]
        asked = content(item.question)
        near = [
            other
            for other in near
            if (not item.title or other.title != item.title)
            and len(asked & content(f"{other.title} {other.text}")) < _SAME * len(asked)
        ]
        for other in near[: rng.choice((1, 1, 2))]:
            yield answer_row(_shown(other, rng), item.question, False, f"{item.source}/near")


def made(sets: Sequence[Asked], pool: Mapping[str, Text], rng: Random) -> Iterator[Row]:
    """Questions made from claims, right and wrong, of which a passage settles both."""
    declarer, around = Declarer.of(list(pool.values())), Around.of(sets, pool)
    for item in sets:
        source, answer = f"{item.source}/yes or no", item.answers[0]
        beside = [o.answers[0] for o in around.beside[item.gold.id] if o.answers != item.answers]
        claimed = rng.choice(beside) if beside and rng.random() < _WRONG else answer
        question = ask(declarer.sentence(item.question, claimed) or "")
        if not question:
            continue
        body = item.gold.text
        if rng.random() < 0.5:
            body = crop(body, answer, rng, item.question)
        yield answer_row(item.gold.shown(body, rng, _TITLED), question, True, f"{source}, passage")
        if rng.random() < 0.3 and (right := declarer.sentence(item.question, answer)):
            yield answer_row(right, question, True, f"{source}, claim")
        if siblings := around.siblings(item):
            other = rng.choice(siblings)
            shown = other.shown(other.text, rng, _TITLED)
            yield answer_row(shown, question, False, f"{source}, same article")
        rest = [text for text in sentences(item.gold.text) if not item.is_answered_in(text)]
        if rest and rng.random() < 0.6:
            near = max(rest, key=lambda text: len(content(text) & content(question)))
            shown = item.gold.shown(near, rng, _TITLED)
            yield answer_row(shown, question, False, f"{source}, other sentence")
        if len(rest) > 1 and rng.random() < 0.6:
            shown = item.gold.shown(" ".join(rest), rng, _TITLED)
            yield answer_row(shown, question, False, f"{source}, passage without it")


def judged(rows: Sequence[Row]) -> Iterator[Row]:
    """Questions made from the claims of NLI pairs; neutral premises do not settle them."""
    for row in rows:
        question = ask(f"{row.hypothesis.removesuffix('.')}.")
        if question:
            settles = row.label != "neutral"
            yield answer_row(row.premise, question, settles, f"{row.source}/yes or no")


def ask(claim: str) -> str:
    """The question for yes or no that a claim answers; empty for a claim of another form.

    >>> ask("The pier was built in 1931."), ask("Ada wrote it.")
    ('Was the pier built in 1931?', '')
    """
    found = _MOVED.fullmatch(claim)
    if not found or len(found["subject"].split()) > _SUBJECT:
        return ""
    subject = _STARTS.sub(lambda start: start[0].lower(), found["subject"])
    return f"{found['verb'].capitalize()} {subject} {found['rest']}?"


def _shown(item: Settled, rng: Random) -> str:
    return show(item.title, item.text, rng, _TITLED) if item.title else item.text


def build(
    data: Annotated[Path, typer.Option(help="Folder of passages and questions.")],
    boolq: Annotated[Path, typer.Option(help="File of BoolQ, in JSON lines.")],
    pubmedqa: Annotated[Path, typer.Option(help="Labelled questions of PubMedQA, in JSON.")],
    out: Annotated[Path, typer.Option(help="Folder with final/ and held/ to write to.")],
) -> None:
    """Write the pairs, three fifths of the texts to `final/` and the others to `held/`."""
    passages = lines(data / "passages.jsonl")
    pool = {p["id"]: Text(p["id"], p["title"], p["text"]) for p in passages}
    unseen = {name: asked_of(data, name, pool) for name in QUESTIONS}
    free = apart(pool, {item.gold.title for items in unseen.values() for item in items})
    asked = {"squad": asked_of(data, "squad", free)} | unseen
    typed = {"boolq": list(read_boolq(boolq)), "pubmedqa": list(read_pubmedqa(pubmedqa))}
    for folder, ours in (("final", True), ("held", False)):
        for name, found in typed.items():
            kept = [item for item in found if is_ours(item.text) is ours]
            save(out, f"{folder}/yes_no_{name}", dict.fromkeys(natural(kept, Random(61))))
        for name, items in asked.items():
            chosen = [item for item in items if is_ours(item.gold.text) is ours]
            near = free if name == "squad" else pool
            save(out, f"{folder}/yes_no_{name}", dict.fromkeys(made(chosen, near, Random(62))))
        for name in _NLI:
            rows = read(data / "nli" / f"{name}.jsonl")
            ones = [row for row in rows if is_ours(row.premise) is ours]
            save(out, f"{folder}/yes_no_{name}", dict.fromkeys(judged(ones)))


if __name__ == "__main__":
    typer.run(build)
