"""Turns public sets for reading comprehension into rows: questions with right and wrong answers.

Each set has texts that tell what is asked, and texts that are much like them and do not. The files
have the format of the sets' repositories.

python -m training.public_reading condaqa condaqa_dev.json conda_fewshot_test_*.json --out FILE
python -m training.public_reading timeqa human_train.easy.json human_train.hard.json --out FILE
python -m training.public_reading bbq Age.jsonl Nationality.jsonl --out FILE
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from random import Random
from typing import Any

import typer

from citeproof.tools.citations.marks import content
from training.make import holds, phrased
from training.public import Files, Out, join_tokens
from training.public_questions import read_items, save_rows, share_of
from training.rows import Row, answer_row, show
from training.search import search_in

app = typer.Typer(no_args_is_help=True)

_Item = Mapping[str, Any]
_YEAR = re.compile(r"\b[12]\d{3}\b")


@app.command()
def condaqa(files: Files, out: Out, most: int = 14000) -> None:
    """CondaQA: what a negation implies, in edited passages (Ravichander et al. 2022; Apache 2.0).

    Each question is asked of up to four passages that differ by an edit; "don't know" means that
    the passage does not settle it.
    """
    rng = Random(73)
    items = {(row["sentence1"], row["sentence2"]): row for row in read_items(files)}
    texts = {f"{row['PassageID']}": row["original passage"] for row in items.values()}
    groups: dict[tuple[int, str], list[_Item]] = defaultdict(list)
    for row in items.values():
        if row.get("Passage is enough") != "External knowledge required":
            groups[row["PassageID"], row["QuestionID"]].append(row)
    search = search_in(texts)
    open_, said, opposite = "DON'T KNOW", {"YES": "Yes", "NO": "No"}, {"YES": "No", "NO": "Yes"}

    def settles(group: Sequence[_Item]) -> Iterator[Row]:
        asked, own = group[0]["sentence2"], f"{group[0]['PassageID']}"
        unknown = [row for row in group if row["label"] == open_]
        known = [row for row in group if row["label"] != open_]
        for row in unknown:
            yield answer_row(row["sentence1"], asked, False, "condaqa/not settled")
        if unknown or rng.random() < 0.5:
            for row in rng.sample(known, min(len(known), max(1, len(unknown)))):
                yield answer_row(row["sentence1"], asked, True, "condaqa/settled")
        if not unknown and rng.random() < 0.3:
            near = [texts[key] for key in search(asked, 6) if key != own]
            near = [text for text in near if share_of(content(asked), content(text)) < 0.7]
            if near:
                yield answer_row(near[0], asked, False, "condaqa/like passage")

    def answers(group: Sequence[_Item]) -> Iterator[Row]:
        contrast = len({row["label"] for row in group}) > 1
        for row in group:
            text, asked, label = row["sentence1"], row["sentence2"], row["label"]
            if label == open_:
                claim = phrased(asked, rng.choice(("Yes", "No")), rng)
                yield Row(text, claim, "not_entailed", "condaqa/answer to open question")
                continue
            right = label not in said or rng.random() < 0.5
            if right or contrast:
                claim = phrased(asked, said.get(label, f"{label}"), rng)
                yield Row(text, claim, "entailed", "condaqa/answer")
            if label in said and (not right or contrast):
                claim = phrased(asked, opposite[label], rng)
                yield Row(text, claim, "not_entailed", "condaqa/opposite answer")

    asked = list(groups.values())
    rng.shuffle(asked)
    # Those whose answer changes with the edit come first: they are the ones to keep.
    asked.sort(key=lambda group: len({row["label"] for row in group}) == 1)
    made = [row for group in asked for row in settles(group)]
    for group in asked:
        if len(made) < most:
            made += answers(group)
    save_rows(out, made)


@app.command()
def timeqa(files: Files, out: Out) -> None:
    """TimeQA, questions written by people: who held what, when (Chen et al. 2021; BSD).

    The text is a few sentences: those with the answer, those with the answer for another time, or,
    if the article has no answer, those that share most words with the question.
    """
    rng = Random(75)
    groups: dict[str, list[_Item]] = defaultdict(list)
    years: dict[str, set[str]] = defaultdict(set)
    for item in read_items(files):
        groups[item["idx"].rpartition("#")[0]].append(item)
        # The easy and the hard question of an answer have the same key, but other dates.
        years[item["idx"]] |= set(_YEAR.findall(item["question"]))

    def window(item: _Item, at: int) -> str:
        first, last = max(0, at - rng.randint(0, 2)), at + rng.randint(1, 3)
        texts = [part["text"].strip() for part in item["paragraphs"][first:last]]
        title = item["idx"].partition("#")[0].rpartition("/")[2].replace("_", " ")
        return show(title, _clean(" ".join(texts)), rng, 0.95)

    def rows(item: _Item, group: Sequence[_Item]) -> Iterator[Row]:
        asked, answers = _clean(item["question"]), [_clean(text) for text in item["targets"]]
        words = content(asked)
        if answers == [""]:
            fit = [(len(words & content(p["text"])), at) for at, p in enumerate(item["paragraphs"])]
            for _, best in nlargest(2, fit):
                yield answer_row(window(item, best), asked, False, "timeqa/no answer")
            return
        at = _spot(item)
        if at is None or any(holds(asked, answer) for answer in answers):
            return
        text = window(item, at)
        # Without its date or its subject, the text does not tell what is asked.
        dated = years[item["idx"]] & set(_YEAR.findall(text))
        words = {word for word in words if not word[0].isdigit()}
        if not dated or share_of(words, content(text)) < 0.4:
            return
        yield answer_row(text, asked, True, "timeqa/answer")
        yield Row(text, phrased(asked, answers[0], rng), "entailed", "timeqa/answer")
        others = [
            (other, there)
            for other in group
            if other["targets"] != [""] and not set(other["targets"]) & set(item["targets"])
            if (there := _spot(other)) is not None
        ]
        if others:
            other, there = rng.choice(others)
            wrong = _clean(other["targets"][0])
            if not any(holds(answer, wrong) or holds(wrong, answer) for answer in answers):
                claim = phrased(asked, wrong, rng)
                yield Row(window(item, at), claim, "not_entailed", "timeqa/other time")
            shown = window(other, there)
            if not any(holds(shown, answer) for answer in answers):
                yield answer_row(shown, asked, False, "timeqa/other time")

    save_rows(
        out, (row for group in groups.values() for item in group for row in rows(item, group))
    )


def _spot(item: _Item) -> int | None:
    """The paragraph with the first answer, which TimeQA's context has at `from`."""
    end = 0
    for index, part in enumerate(item["paragraphs"]):
        start = item["context"].find(part["text"].strip(), end)
        if start < 0:
            return None
        end = start + len(part["text"].strip())
        if start <= item["from"][0] < end:
            return index if item["targets"][0] in part["text"] else None
    return None


@app.command()
def bbq(files: Files, out: Out, most: int = 3000) -> None:
    """BBQ: a context that tells who did something, and one that does not (Parrish et al. 2022).

    CC BY 4.0. Both contexts of a question are taken, with the same claims.
    """
    rng = Random(76)
    items = list(read_items(files))
    # An ambiguous context is followed by the same one with the answer.
    both = list(zip(items[::2], items[1::2], strict=True))
    rng.shuffle(both)
    made: list[Row] = []
    times: Counter[str] = Counter()
    for open_, told in both:
        asked, hidden, text = told["question"], open_["context"], told["context"]
        if len(made) >= most or times[asked] >= 4:
            continue
        times[asked] += 1
        names = [re.sub("^The ", "the ", told[f"ans{index}"]) for index in range(3)]
        right, unknown = names[told["label"]], names[open_["label"]]
        wrong = next(name for name in names if name not in (right, unknown))
        made += [
            answer_row(text, asked, True, "bbq/told"),
            answer_row(hidden, asked, False, "bbq/open"),
            Row(text, phrased(asked, right, rng), "entailed", "bbq/answer"),
        ]
        if rng.random() < 0.5:
            made.append(Row(hidden, phrased(asked, right, rng), "not_entailed", "bbq/open answer"))
        else:
            made.append(Row(text, phrased(asked, wrong, rng), "not_entailed", "bbq/wrong answer"))
    save_rows(out, made)


def _clean(text: str) -> str:
    """A tokenized text with its usual spaces, also before full stops of initials."""
    return re.sub(r"(?<=\w) \.(?= |$)", ".", join_tokens(" ".join(text.split())))


if __name__ == "__main__":
    app()
