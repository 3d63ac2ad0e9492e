"""Measures the entailment tool: its speed against a plain loop, and its calibration.

    python benchmarks/entailment.py speed --pool POOL.jsonl --set QUESTIONS.jsonl
    python benchmarks/entailment.py scoring --pool POOL.jsonl --pairs 200
    python benchmarks/entailment.py band --set PAIRS.jsonl:300 --set … [--model FOLDER]
        --out SCORES.jsonl
    python benchmarks/entailment.py diagram --set SCORES.jsonl --out DIAGRAM.svg

`speed` scores 1,000 pairs as VTG asks for them, with the repetitions of its two tiers and of its
simplifier, with the same model: once through the tool and once one pair at a time in full
precision. It prints the ratio within this run. `scoring` does the same for the metrics of answers,
which the tool scores all at once: four sentences each with two or three citations, of which some
are needed, and some wrong. `band` writes the scores that `training/ship.py`
fits the cascade on. `diagram` draws how often pairs of a score are entailed, from the scores of
`band` or of `verifiers.py`, which measures how good a model is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from common import drawing

from citeproof import Passage, Settings
from citeproof.evaluation.examples import Example, Scores
from citeproof.evaluation.results import Result
from citeproof.evaluation.scoring import score
from citeproof.models.merged import ENTAILMENT
from citeproof.tools.entailment import Entailment, Pair
from citeproof.tools.entailment.cache import CachedEntailment
from citeproof.tools.entailment.cross_encoder import CrossEncoder
from citeproof.tools.entailment.labels import entailment_index
from citeproof.tools.entailment.opening import open_first
from citeproof.tools.entailment.windows import windows
from citeproof.tools.sentences import sentences
from training import measure
from training.rows import lines, sample

T = TypeVar("T")


def vtg_pairs(pool: Path, questions: Path, count: int) -> list[Pair]:
    """Pairs as a VTG run asks for them: the cited passage, the memory, the simplifier's subsets.

    A claim is checked against its cited passages; if they fail, against the memory of five; then
    against each subset that drops one citation. A claim that is rewritten, or checked again later,
    asks for the same pairs again.
    """
    rng = random.Random(5)
    passages = {row["id"]: f"Title: {row['title']}\n{row['text']}" for row in lines(pool)}
    ids = list(passages)
    pairs: list[Pair] = []
    rows = lines(questions)
    rng.shuffle(rows)
    for row in rows:
        gold = [key for key in row["gold_passages"] if key in passages]
        memory = [passages[key] for key in (*gold[:1], *rng.sample(ids, 4))]
        for answer in row["answers"][:2]:
            claim = f"{row['question'].rstrip('?')}: {answer}."
            two = memory[:2]
            asked = ["\n".join(two), *two, "\n".join(memory)] if rng.random() < 0.4 else two[:1]
            repeats = 2 if rng.random() < 0.5 else 1
            pairs += [Pair(premise, claim) for premise in asked] * repeats
    return pairs[:count]


class PlainLoop:
    """One pair at a time in full precision, as a naive program would do it.

    Like the tool, it reads long premises to their end, and in the same windows. Truncated, or cut
    elsewhere, they would be different inputs.
    """

    name, place = "plain", ""

    def __init__(self, folder: str, threshold: float) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self._label = entailment_index(self._model.config.id2label, folder)
        self.threshold = threshold

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The probability of entailment of each pair, in order."""
        import torch

        with torch.inference_mode():
            return [self._score(pair) for pair in pairs]

    def _score(self, pair: Pair) -> float:
        tokenizer = self._tokenizer

        def length(text: str) -> int:
            return len(tokenizer.encode(text, add_special_tokens=False))

        room = (tokenizer.model_max_length - length(pair.hypothesis) - 8) // 16 * 16
        best = 0.0
        for window in windows(pair.premise, room, length):
            ids = tokenizer(window, pair.hypothesis, truncation="only_first", return_tensors="pt")
            best = max(best, float(self._model(**ids).logits.softmax(-1)[0, self._label]))
        return best


def speed(arguments: argparse.Namespace) -> None:
    """Print the ratio, and how often both agree."""
    pairs = vtg_pairs(arguments.pool, Path(arguments.set[0]), arguments.pairs)
    tool, loop = both_ways()
    ours, seconds = took(tool.scores(pairs))
    plain, plain_seconds = took(loop.scores(pairs))
    alike = sum(
        (a >= tool.threshold) == (b >= tool.threshold) for a, b in zip(ours, plain, strict=True)
    )
    print(
        f"{len(pairs)} pairs, {len(set(pairs))} distinct: {seconds:.1f} s, one by one in full "
        f"precision {plain_seconds:.1f} s: {plain_seconds / seconds:.1f} times as fast; "
        f"{alike / len(pairs):.1%} of the decisions agree"
    )


def scoring(arguments: argparse.Namespace) -> None:
    """Print the ratio, and how often both give an answer the same scores."""
    items = cited_answers(lines(arguments.pool)[:4000], arguments.pairs)
    tool, loop = both_ways()
    ours, seconds = took(score(items, tool))

    async def one_by_one() -> list[Scores]:
        return [found for item in items for found in await score([item], loop)]

    plain, plain_seconds = took(one_by_one())
    same = sum(one == other for one, other in zip(ours, plain, strict=True))
    print(
        f"{len(items)} answers: {seconds:.1f} s, one by one in full precision "
        f"{plain_seconds:.1f} s: {plain_seconds / seconds:.1f} times as fast; "
        f"the scores of {same} are identical"
    )


def both_ways() -> tuple[Entailment, PlainLoop]:
    """The shipped model in the tool, loaded and with its cache, and in the loop."""
    folder = str(ENTAILMENT.make_folder(Settings.load().models))
    threshold = ENTAILMENT.calibration.threshold
    asyncio.run((encoder := CrossEncoder(folder, threshold)).scores([Pair("Warm.", "Warm.")]))
    return CachedEntailment(encoder), PlainLoop(folder, threshold)


def took(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """A result, and the seconds until it was there."""
    begun = time.perf_counter()
    return asyncio.run(work), time.perf_counter() - begun


def cited_answers(rows: list[Any], count: int) -> list[tuple[Example, Result]]:
    """Answers to no particular question, each over five passages of its own."""
    rng = random.Random(0)

    def sentence(row: Any) -> str:
        return rng.choice(sentences(row["text"])).rstrip(".!?")

    def statement(read: list[Any]) -> str:
        cited = rng.sample(range(5), rng.choice((2, 2, 3)))
        other = next(n for n in range(5) if n not in cited)
        said = " and ".join(sentence(read[n]) for n in rng.choice([cited[:1], cited[:2], [other]]))
        return f"{said} {''.join(f'[{n + 1}]' for n in cited)}."

    items = []
    for number in range(count):
        read = rng.sample(rows, 5)
        example = Example(id=str(number), question="What is known?", task="eli5")
        text = " ".join(statement(read) for _ in range(4))
        docs = tuple(Passage(id=r["id"], title=r["title"], text=r["text"]) for r in read)
        items.append((example, Result(id=example.id, question="", output=text, docs=docs)))
    return items


def band(arguments: argparse.Namespace) -> None:
    """Write the scores of the cross-encoder, and of the judge for pairs that the cascade asks."""
    from citeproof.tools.entailment.judge import Judge
    from citeproof.tools.llm.opening import open_llm

    settings = Settings.load(entailment={"kind": "cross-encoder"})
    model = (
        CrossEncoder(arguments.model)
        if arguments.model
        else open_first(settings.entailment, settings.models)
    )
    low, high = ENTAILMENT.calibration.band
    judge = Judge(open_llm(settings.llm, settings.models).for_role("judge"))
    for entry in arguments.set:
        name, rows = sample(entry)
        scores = measure.scored(model, rows)
        unsure = [i for i, score in enumerate(scores) if low <= score < high]
        judged = measure.scored(judge, [rows[i] for i in unsure])
        known = dict(zip(unsure, judged, strict=True))
        print(f"{name}: {len(rows)} pairs, {len(unsure)} judged", flush=True)
        with arguments.out.open("a", encoding="utf-8") as file:
            for index, (row, score) in enumerate(zip(rows, scores, strict=True)):
                kept: dict[str, Any] = {"set": name, "source": row.source, "group": row.group}
                kept |= {"entailed": row.entailed, "score": score}
                kept |= {"judge": known[index]} if index in known else {}
                file.write(json.dumps(kept) + "\n")


def diagram(arguments: argparse.Namespace) -> None:
    """Draw the reliability of scores: on the diagonal, a score equals the entailed share."""
    rows = lines(Path(arguments.set[0]))
    cells = measure.bins([row["score"] for row in rows], [row["entailed"] for row in rows])
    with drawing(arguments.out, 4.2, 4.2) as axes:
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
        axes.plot([s for s, _, _ in cells], [t for _, t, _ in cells], color="#1f6f5c", marker="o")
        for score, share, count in cells:
            beside: dict[str, Any] = {"xytext": (5, -10), "textcoords": "offset points"}
            axes.annotate(str(count), (score, share), fontsize=7, **beside)
        axes.set(xlabel="score", ylabel="share of pairs entailed", xlim=(0, 1), ylim=(0, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["speed", "scoring", "band", "diagram"])
    parser.add_argument("--pool", type=Path, help="passages as JSON lines")
    parser.add_argument("--set", action="append", help="FILE or FILE:COUNT")
    parser.add_argument("--pairs", type=int, default=1000, help="or answers, for `scoring`")
    parser.add_argument("--model", help="a cross-encoder folder instead of the shipped model")
    parser.add_argument("--out", type=Path, help="file to append scores to, or of the drawing")
    arguments = parser.parse_args()
    {"speed": speed, "scoring": scoring, "band": band, "diagram": diagram}[arguments.what](
        arguments
    )


if __name__ == "__main__":
    main()
