"""Turns public sets for finding the text that answers a question into rows.

Each question has a text that answers it, and one that shares words with it, but does not. The
files have the format of the sets' repositories; `public_reading` and
`public_roles` have the sets with right and wrong answers.

python -m training.public_questions selqa selqa-ass-dev.json selqa-ass-test.json --out FILE
python -m training.public_questions boolq test.jsonl v6_dev.json --apart val.jsonl --out FILE
python -m training.public_questions covidqa 200423_covidQA.json --out FILE
python -m training.public_questions free FILE FILE --pool passages.jsonl
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from citeproof.tools.citations.marks import content
from training.make import pieces
from training.public import File, Files, Out, letters
from training.rows import Row, answer_row, lines, read, show, write
from training.yes_no import Settled, natural

app = typer.Typer(no_args_is_help=True)


@app.command()
def selqa(files: Files, out: Out, sections: bool = False) -> None:
    """SelQA: sentences of a section that answer a question (Jurczyk et al. 2016; Apache 2.0).

    The sentences that share most words with the question, but do not answer it, are the others;
    with `sections`, the whole section is, and the section without the sentences that answer.
    """
    rng = Random(71)

    def row(item: Mapping[str, Any], text: str, answers: bool, recipe: str) -> Row:
        shown = show(item["article"], text, rng, 0.9 if sections else 0.7)
        return answer_row(shown, item["question"], answers, f"selqa/{recipe}")

    def rows() -> Iterator[Row]:
        for item in read_items(files):
            asked, said, right = content(item["question"]), item["candidates"], item["answers"]
            rest = [text for index, text in enumerate(said) if index not in right]
            shares = Counter({text: len(asked & content(text)) for text in rest})
            if sections:
                if len(rest) > 2 and any(shares.values()):
                    yield row(item, " ".join(said), True, "section")
                    yield row(item, " ".join(rest), False, "section without it")
                continue
            for index in sorted(set(right)):
                yield row(item, said[index], True, "sentence")
            near = [text for text, _ in shares.most_common(rng.choice((1, 1, 2)))]
            far = [text for text in rest if text not in near]
            for text in near + (rng.sample(far, 1) if far and rng.random() < 0.2 else []):
                yield row(item, text, False, "other sentence")

    save_rows(out, rows())


@app.command()
def boolq(
    files: Files,
    out: Out,
    apart: Annotated[Path, typer.Option(help="BoolQ's development set, which is left out.")],
) -> None:
    """BoolQ: questions for yes or no as people type them (Clark et al. 2019; CC BY-SA 3.0)."""
    used = {letters(row[name]) for row in lines(apart) for name in ("question", "passage")}
    found = []
    for row in read_items(files):
        asked, title = row["question"], row.get("title", "")
        text = re.sub("``|''", '"', row["passage"])
        # Some versions have the title in the passage.
        start, dashes, rest = text.partition(" -- ")
        if dashes and len(start) <= 80:
            title, text = start, rest
        if used.isdisjoint((letters(asked), letters(row["passage"]), letters(text))):
            used.add(letters(asked))
            found.append(Settled(asked, title, text, "boolq_more"))
    save_rows(out, natural(found, Random(74)))


@app.command()
def covidqa(file: File, out: Out) -> None:
    """COVID-QA: experts' questions about papers (Möller et al. 2020; Apache 2.0, papers CC BY).

    The text is a paragraph with the answer, or another of the paper that shares words with it.
    """
    rng = Random(77)

    def rows(paper: Mapping[str, Any]) -> Iterator[Row]:
        whole = paper["context"]
        title, blocks = whole.partition("\n")[0].strip(), _blocks(whole)
        for item in paper["qas"]:
            asked, (answer, *_) = " ".join(item["question"].split()), item["answers"]
            words, said, at = content(asked), answer["text"], answer["answer_start"]
            # Short questions and those about "this study" need the paper to be understood.
            if len(words) < 3 or re.search(r"\bth(?:is|e) (?:stud|repo|pape|arti)", asked):
                continue
            own = [b for b in blocks if b[0] <= at and at + len(said) <= b[0] + len(b[1])]
            if not own:
                continue
            shown = show(title, " ".join(own[0][1].split()), rng, 0.8)
            yield answer_row(shown, asked, True, "covidqa/paragraph")
            others = [
                block
                for start, block in blocks
                # An abstract tells the paper's answers in other words.
                if start != own[0][0]
                and not block.startswith("Abstract")
                and said.lower() not in block.lower()
                and share_of(words, content(block)) < 0.7
                and share_of(content(said), content(block)) < 0.5
            ]
            if others:
                near = max(others, key=lambda block: len(words & content(block)))
                shown = show(title, " ".join(near.split()), rng, 0.8)
                yield answer_row(shown, asked, False, "covidqa/other paragraph")

    data = json.loads(file.read_text(encoding="utf-8"))["data"]
    papers = [part for paper in data for part in paper["paragraphs"]]
    save_rows(out, (row for paper in papers if _is_free(paper["context"]) for row in rows(paper)))


@app.command()
def free(files: Files, pool: Annotated[Path, typer.Option(help="Passages of the tests.")]) -> None:
    """Leave out of these files of rows those that share a sentence with a passage of the tests."""
    kept = set().union(*(pieces(row["text"]) for row in lines(pool)))
    for file in files:
        rows = [row for row in read(file) if kept.isdisjoint(pieces(row.premise))]
        typer.echo(f"{file}: {write(file, rows)}")


def _is_free(paper: str) -> bool:
    licence = re.search(r"License:\s*([\w-]+)", paper)
    return licence is not None and licence[1].lower() in ("cc-by", "cc0")


def _blocks(text: str, most: int = 900) -> list[tuple[int, str]]:
    """The paragraphs of a paper, long ones cut after a sentence, with where they start."""
    found = []
    for block in re.finditer(r"[^\n]+(?:\n(?!\n)[^\n]+)*", text):
        start = block.start()
        for sentence in re.finditer(r".+?(?:(?<=[.?!])\s+(?=[A-Z])|\Z)", block[0], re.S):
            end = block.start() + sentence.end()
            if end - start >= most or end == block.end():
                if end - start > 150:
                    found.append((start, text[start:end]))
                start = end
    return found


def read_items(files: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    """The objects of files that are a list in JSON or lines of JSON."""
    for file in files:
        text = file.read_text(encoding="utf-8")
        yield from json.loads(text) if text.startswith("[") else map(json.loads, text.splitlines())


def share_of(few: set[str], many: set[str]) -> float:
    """The share of the first words that are among the others."""
    return len(few & many) / max(1, len(few))


def save_rows(out: Path, rows: Iterable[Row]) -> None:
    """Write each row once; a pair with both labels is left out."""
    unique = list(dict.fromkeys(rows))
    labels: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in unique:
        labels[row.premise, row.hypothesis].add(row.label)
    kept = [row for row in unique if len(labels[row.premise, row.hypothesis]) == 1]
    typer.echo(f"{write(out, kept)} rows, {sum(row.entailed for row in kept)} entailed")


if __name__ == "__main__":
    app()
