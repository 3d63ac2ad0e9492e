"""Times the scoring of generated answers: in rounds of distinct pairs, against one pair at a time.

    python benchmarks/scoring.py --pool POOL.jsonl --model FOLDER [--answers 200] [--plain]

The answers consist of sentences of the pool: four statements each, with two or three citations.
One passage supports some statements, several support others, and none the rest. Both ways use the
same cross-encoder. The plain way asks as a naive program would, up to seven times for a statement,
and caches nothing. With `--plain` it also computes in full precision; without, it uses the tool's
faster forward pass, and the ratio measures the rounds alone. The printed ratio compares times
within one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from citeproof import Passage
from citeproof.evaluation.examples import Example, Mode, Scores
from citeproof.evaluation.results import Result
from citeproof.evaluation.scoring import score
from citeproof.tools.entailment import Entailment, Pair
from citeproof.tools.entailment.cross_encoder import CrossEncoder
from citeproof.tools.sentences import split

Items = list[tuple[Example, Result]]
READ = 5
"""Passages of each answer."""
PASSAGES = 4000
"""Passages of the pool to draw from."""


def made(pool: Path, answers: int, seed: int = 0) -> Items:
    """Answers to no particular question, each over its own passages."""
    with pool.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in islice(file, PASSAGES)]
    rng = random.Random(seed)
    items: Items = []
    for number in range(answers):
        passages = [
            Passage(id=row["id"], title=row["title"], text=row["text"])
            for row in rng.sample(rows, READ)
        ]
        text = " ".join(_statement(passages, rng) for _ in range(4))
        example = Example(id=str(number), question="What is known?", task="eli5")
        result = Result(id=example.id, question="", output=text, docs=tuple(passages))
        items.append((example, result))
    return items


def _statement(passages: Sequence[Passage], rng: random.Random) -> str:
    """A sentence of one passage or two, with two or three marks; one in three cites others."""
    cited = rng.sample(range(READ), rng.choice((2, 2, 3)))
    others = [n for n in range(READ) if n not in cited]
    told = rng.choice([cited[:1], cited[:2], others[:1]])
    said = " and ".join(_sentence(passages[n].text, rng) for n in told)
    return f"{said} {''.join(f'[{n + 1}]' for n in cited)}."


def _sentence(text: str, rng: random.Random) -> str:
    spans = split(text)
    span = rng.choice(spans)
    return text[span.start : span.end].rstrip(".!?")


@dataclass
class Counted:
    """Passes pairs on, all at once or one by one, and keeps the verdicts."""

    model: Entailment
    at_once: bool
    calls: list[int] = field(default_factory=list)
    """Pairs of each call."""
    verdicts: dict[Pair, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.name, self.threshold = self.model.name, self.model.threshold

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """The model's scores, in order."""
        found: list[float] = []
        for some in [pairs] if self.at_once else [[pair] for pair in pairs]:
            self.calls.append(len(some))
            found += await self.model.scores(some)
        for pair, score_ in zip(pairs, found, strict=True):
            self.verdicts[pair] = score_ >= self.threshold
        return found


def compare(items: Items, model: Entailment, mode: Mode, other: Entailment | None = None) -> str:
    """One line with both times, their ratio, and how often both agree.

    Args:
        items: The answers.
        model: The tool.
        mode: The mode of scoring.
        other: The model of the plain way; defaults to `model`.
    """
    rounds, plain = Counted(model, at_once=True), Counted(other or model, at_once=False)
    seconds: list[float] = []
    found: list[list[Scores]] = []
    for parts, counted in (([items], rounds), ([[item] for item in items], plain)):
        begun = time.perf_counter()
        scored = [asyncio.run(score(part, counted, mode=mode)) for part in parts]
        seconds.append(time.perf_counter() - begun)
        found.append([scores for part in scored for scores in part])
    both = rounds.verdicts.keys() & plain.verdicts.keys()
    alike = sum(rounds.verdicts[pair] == plain.verdicts[pair] for pair in both)
    same = sum(one == other for one, other in zip(*found, strict=True))
    return (
        f"{len(items)} answers, {mode}, {model.name}: {sum(rounds.calls)} pairs in "
        f"{len(rounds.calls)} calls {seconds[0]:.1f} s, {sum(plain.calls)} one by one "
        f"{seconds[1]:.1f} s: {seconds[1] / seconds[0]:.1f} times as fast; {alike} of {len(both)} "
        f"verdicts and the scores of {same} of {len(items)} answers identical"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pool", type=Path, required=True, help="passages as JSON lines")
    parser.add_argument("--model", required=True, help="a cross-encoder, by name or folder")
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--plain", action="store_true", help="one by one in full precision")
    parser.add_argument("--mode", choices=["strict", "corrected"], default="corrected")
    arguments = parser.parse_args()
    model = CrossEncoder(arguments.model)
    asyncio.run(model.scores([Pair("Warm.", "Warm.")]))
    plain = None
    if arguments.plain:
        from entailment import PlainLoop  # beside this file

        plain = PlainLoop(arguments.model, model.threshold)
    print(compare(made(arguments.pool, arguments.answers), model, arguments.mode, plain))


if __name__ == "__main__":
    main()
