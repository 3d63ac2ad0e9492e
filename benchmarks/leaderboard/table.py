"""Judges the answers of `run.sh` by two models, and writes tables and plots.

    python benchmarks/leaderboard/table.py RUNS --out FOLDER [--against METHOD] [--judge KIND]

RUNS is the folder that `run.sh` has written, or is still writing: RUNS/<set>/<round>/<method>.
Judgements are kept in RUNS/judged.sqlite, so a second run judges only new answers. FOLDER/table.md
holds the tables; the plots are SVG files next to it.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from citeproof import Settings
from citeproof.console.verifier import open_verifier
from citeproof.errors import InputError
from citeproof.evaluation.examples import Example, Scores
from citeproof.evaluation.report_plots import Point, Series, plot
from citeproof.evaluation.results import Result
from citeproof.evaluation.runs import Run, open_run
from citeproof.evaluation.scoring import score
from citeproof.evaluation.statistics import Estimate, estimate, format_cell, name_metric
from citeproof.files import write_whole
from citeproof.markdown import row
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.cache import CachedEntailment

JUDGES = {"cross-encoder": "by the verifier", "judge": "by the language model"}
"""Back end of `citeproof score` → heading suffix of the columns that it judges."""
JUDGED = ("citation_recall", "citation_precision", "citation_f1", "wrongly_proved")
ANSWERS = ("em_recall", "rouge_lsum", "gold_cited", "missed", "abstention_recall", "length")
"""Measures that need no judge. `missed`: nothing was answered although there is an answer."""
COSTS = ("llm_calls", "tokens", "seconds")
BRIEF = ("em_recall", "rouge_lsum", "citation_f1", "wrongly_proved", "gold_cited", "llm_calls")
"""Columns of the tables of single sets."""
PLOTS = (("citation_f1", "tokens"), ("em_recall", "tokens"), ("wrongly_proved", "tokens"))

Rows = dict[str, Scores]
"""`<set>/<id of the question>` → scores and costs of one method's answer, by one judge."""
Board = dict[str, dict[str, Rows]]
"""Judge → method → rows."""


def find_runs(folder: Path) -> list[Run]:
    """All runs with at least one result."""
    manifests = sorted(folder.glob("*/*/*/manifest.json"))
    return [open_run(own.parent) for own in manifests if _begun(own.parent)]


def _begun(folder: Path) -> bool:
    results = folder / "results.jsonl"
    return results.is_file() and b"\n" in results.read_bytes()


async def judge_runs(runs: Sequence[Run], entailment: Entailment) -> dict[str, Rows]:
    """Each method's rows by one judge. Questions that ended in an error have no row."""
    board: dict[str, Rows] = {run.method: {} for run in runs}
    for run in runs:  # one by one, so that a killed run keeps its judgements
        items = run.items()
        scored = await score(items, entailment)
        for (example, result), scores in zip(items, scored, strict=True):
            key = f"{run.path.parent.parent.name}/{example.id}"
            board[run.method][key] = scores | _more(example, result, scores)
    return board


def _more(example: Example, result: Result, scores: Scores) -> Scores:
    assert result.answer is not None
    usage = result.answer.usage
    return {
        "missed": scores["not_found"] if example.answerable else None,
        "llm_calls": float(usage.llm_calls),
        "tokens": float(usage.prompt_tokens + usage.completion_tokens),
        "seconds": usage.seconds,
    }


def table(board: Board, metrics: Sequence[str], name: str = "", base: str = "") -> list[str]:
    """A row for each method, and a column for each metric; judged metrics have one for each judge.

    Args:
        board: All rows.
        metrics: Columns; empty ones are left out.
        name: Restricts the table to the questions of this set.
        base: Shows differences to this method, on the questions that both have answered.
    """
    first, *_ = board
    columns = [(judge, metric) for metric in metrics for judge in _judges(board, metric)]
    found: dict[str, list[Estimate | None]] = {}
    numbers = {}
    for method in board[first]:
        theirs = board[first].get(base, {})
        keys = [key for key in board[first][method] if key.startswith(name)]
        shared = [key for key in keys if not base or key in theirs]
        if method != base and shared:
            numbers[method] = len(shared)
            found[method] = [
                estimate(
                    [board[judge][method][key] for key in shared],
                    metric,
                    [board[judge][base][key] for key in shared] if base else None,
                )
                for judge, metric in columns
            ]
    kept = [n for n in range(len(columns)) if any(own[n] is not None for own in found.values())]
    lines = [row(["method", "n", *(_head(board, *columns[n]) for n in kept)])]
    lines.append(f"|{'---|' * (2 + len(kept))}")
    for method, own in found.items():
        cells = [format_cell(own[n], numbers[method], sign=bool(base)) for n in kept]
        lines.append(row([method, str(numbers[method]), *cells]))
    return [*lines, ""]


def page(board: Board, against: Sequence[str]) -> str:
    """The page with all tables and links to the plots."""
    lines = ["# Leaderboard", "", _asked(board), ""]
    for title, metrics in (("Answers", ANSWERS), ("Citations", JUDGED), ("Cost", COSTS)):
        lines += [f"## {title}", "", *table(board, metrics)]
        for base in against:
            lines += [f"Differences to {base}, on the questions that both have answered:", ""]
            lines += table(board, metrics, base=base)
    lines += ["## Plots", ""]
    for name, title in plots(board):
        lines += [f"![{title}]({name})", ""]
    for own in _sets(board):
        lines += [f"## {own}", "", *table(board, BRIEF, f"{own}/")]
    return "\n".join(lines)


def plots(board: Board) -> dict[tuple[str, str], str]:
    """(File, title) of each plot → its SVG."""
    drawn: dict[tuple[str, str], str] = {}
    for metric, cost in PLOTS:
        for judge in _judges(board, metric):
            if series := list(_series(board[judge], metric, cost)):
                title, said = _head(board, judge, metric), f"{name_metric(cost)} per question"
                file = f"{metric}-{judge}.svg" if metric in JUDGED else f"{metric}.svg"
                drawn[file, f"{title} against {name_metric(cost)}"] = plot(
                    series, said, title, alone=True
                )
    return drawn


def _series(methods: dict[str, Rows], metric: str, cost: str) -> Iterator[Series]:
    for number, (method, rows) in enumerate(methods.items(), start=1):
        own, spent = estimate([*rows.values()], metric), estimate([*rows.values()], cost)
        if own is not None and spent is not None:
            point = Point(spent.value, own.value, own.low, own.high)
            yield Series(number, method, [point])


def _judges(board: Board, metric: str) -> list[str]:
    """The judges of a metric; any single one if the metric needs none."""
    return list(board) if metric in JUDGED else list(board)[:1]


def _head(board: Board, judge: str, metric: str) -> str:
    return f"{name_metric(metric)} {JUDGES[judge]}" if metric in JUDGED else name_metric(metric)


def _sets(board: Board) -> list[str]:
    return sorted(
        {key.partition("/")[0] for own in board.values() for rows in own.values() for key in rows}
    )


def _asked(board: Board) -> str:
    keys = {key for own in board.values() for rows in own.values() for key in rows}
    each = [f"{name} {sum(key.startswith(f'{name}/') for key in keys)}" for name in _sets(board)]
    return (
        f"{len(keys)} questions ({', '.join(each)}); n: those that a method has answered. Means "
        "with 95% bootstrap intervals over questions; in brackets how many a metric applies to."
    )


def main() -> None:
    """Judge the answers, and write tables and plots."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--against", action="append", help="a method; default: vanilla")
    parser.add_argument("--judge", action="append", choices=JUDGES, help="default: both")
    parser.add_argument("--config", type=Path, help="settings, with the judging model")
    given = parser.parse_args()
    runs, board = find_runs(given.runs), {}
    if not runs:
        raise InputError(f"{given.runs} holds no answers", fix="Ask first: run.sh.")
    for kind in given.judge or JUDGES:
        settings = Settings.load(given.config, **{"entailment.kind": kind})
        with open_verifier(settings, Console(stderr=True)) as entailment:
            kept = CachedEntailment(entailment, file=given.runs / "judged.sqlite")
            board[kind] = asyncio.run(judge_runs(runs, kept))
    given.out.mkdir(parents=True, exist_ok=True)
    for (name, _), drawn in plots(board).items():
        write_whole(given.out / name, f"{drawn}\n")
    write_whole(given.out / "table.md", page(board, given.against or ["vanilla"]))


if __name__ == "__main__":
    main()
