"""Means over seeds and temperatures, CaLM's average, and the overall means of VTG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from citeproof.evaluation.examples import Example, Scores, Task
from citeproof.evaluation.manifest import Data, Manifest
from citeproof.evaluation.report import markdown, report
from citeproof.evaluation.results import Result, lines_of
from citeproof.evaluation.runs import open_run
from citeproof.evaluation.scorecard import Judge, make_scorecard, write_scorecard
from citeproof.evaluation.statistics import estimate_all, mean_of_runs
from citeproof.files import write_whole
from tests.evaluation.test_report import cells

JUDGE = Judge(name="t5_xxl_true_nli_mixture", threshold=0.5)


async def kept(
    folder: Path,
    rows: list[Scores],
    *,
    task: Task = "asqa",
    mauve: float | None = None,
    data: str = "asqa.json",
    parameters: dict[str, Any] | None = None,
    judge: Judge = JUDGE,
    **llm: Any,
) -> Path:
    """A run with these scores for its questions."""
    examples = [Example(id=str(n), question="Who?", task=task) for n, _ in enumerate(rows)]
    manifest = Manifest(
        method="vtg",
        parameters=parameters or {"k": 5},
        settings={"llm": llm},
        models={"llm": {"name": "gpt"}},
        prompts={},
        data=Data(name=data, examples=len(rows), chosen=data),
    )
    folder.mkdir()
    manifest.write(folder)
    write_whole(folder / "examples.jsonl", lines_of(examples))
    results = (Result(id=own.id, question=own.question, output="Ann.") for own in examples)
    write_whole(folder / "results.jsonl", lines_of(results))
    run = open_run(folder)
    card = await make_scorecard(run, None, mode="strict")
    scores = {own.id: row for own, row in zip(examples, rows, strict=True)}
    own = {"entailment": judge, "metrics": estimate_all(rows), "mauve": mauve, "examples": scores}
    write_scorecard(run, card.model_copy(update=own))
    return folder


def cited(recall: float, precision: float, **more: float) -> Scores:
    both = 2 * recall * precision / (recall + precision)
    scores = {"citation_recall": recall, "citation_precision": precision, "citation_f1": both}
    return {**scores, **more}


def test_the_mean_of_runs_has_an_interval_of_questions_and_runs() -> None:
    runs: list[list[Scores]] = [
        [{"em_recall": float(n < most)} for n in range(10)] for most in (5, 6, 7)
    ]
    found = mean_of_runs(runs, "em_recall")
    assert found is not None
    mean, deviation = found
    assert (mean.value, deviation) == pytest.approx((0.6, 0.1))
    assert mean.n == 10
    alone = estimate_all(runs[1])["em_recall"]
    assert mean.low < alone.low + 0.05
    assert mean.low < 0.6 < mean.high
    same = mean_of_runs([runs[1]] * 3, "em_recall")
    assert same is not None
    assert (same[0].low, same[0].high, same[1]) == (alone.low, alone.high, 0)
    assert mean_of_runs([*runs, [{"em_recall": None}] * 10], "em_recall") is None


def test_the_runs_of_a_mean_share_their_resamples_where_a_metric_applies_to_fewer_answers() -> None:
    values = [n / 40 for n in range(40)]
    whole: list[Scores] = [{"em_recall": value} for value in values]
    none: list[Scores] = [{"em_recall": None}]
    found = mean_of_runs([none * least + whole[least:] for least in (0, 1, 2)], "em_recall")
    assert found is not None
    alone = estimate_all(whole)["em_recall"]
    assert found[0].n == 38
    assert found[0].high - found[0].low == pytest.approx(alone.high - alone.low, rel=0.05)
    rare = mean_of_runs([whole[:1] + none, none + whole[20:21]], "em_recall")
    assert rare is not None
    assert (rare[0].value, rare[0].low, rare[0].high) == (0.25, 0, 0.5)


def test_the_mean_of_runs_has_the_f1_of_each_run() -> None:
    found = mean_of_runs([[cited(1, 0.5)], [cited(0.5, 0.5)]], "citation_f1")
    assert found is not None
    assert found[0].value == pytest.approx((2 / 3 + 0.5) / 2)


async def test_runs_that_differ_by_chance_alone_are_put_together(tmp_path: Path) -> None:
    many = [
        await kept(
            tmp_path / str(seed), [{"em_recall": value}], mauve=value, seed=seed, temperature=value
        )
        for seed, value in ((1, 0.4), (2, 0.5), (3, 0.6))
    ]
    other = await kept(tmp_path / "other", [{"em_recall": 0.9}], parameters={"k": 9}, seed=4)
    strange = Judge(name="other", threshold=0.5)
    unlike = await kept(tmp_path / "judged", [{"em_recall": 0.9}], judge=strange, seed=5)
    made = await report([*many, other, unlike])
    head, *rows = cells(markdown(made), "Means over runs, strict")
    assert head == ["runs", "method", "varied", "n", "EM recall", "MAUVE"]
    assert [row[:4] for row in rows] == [
        ["1, 2, 3", "vtg", "settings.llm.seed, settings.llm.temperature", "1"]
    ]
    assert rows[0][4].startswith("0.500 ± 0.100 [0.4")
    assert rows[0][5] == "0.500 ± 0.100"
    assert "Means over runs" not in markdown(await report([many[0], other]))
    narrow = cells(markdown(made.only(["mauve"])), "Means over runs, strict")
    assert narrow[0][4:] == ["MAUVE"]


@pytest.mark.parametrize(
    ("task", "scores", "mauve", "average"),
    [
        # Table 2, ICLCite: 74.73, 39.32, 67.36 and 69.48 make 62.72.
        ("asqa", cited(0.6736, 0.6948, em_recall=0.3932), 0.7473, "0.627"),
        # Table 3, the same: 12.47, 10.28, 12.60 and 11.62 make 11.74; MAUVE is no part of it.
        (
            "qampari",
            cited(0.1162, 0.126, qampari_precision=0.1247, qampari_recall_5=0.1028),
            None,
            "0.117",
        ),
        # Table 4, the same: 25.33, 12.90, 44.63 and 49.34 make 33.05.
        ("eli5", cited(0.4934, 0.4463, claim_recall=0.129), 0.2533, "0.331"),
        ("eli5", cited(0.4934, 0.4463, claim_recall=0.129), None, None),
        ("qa", cited(0.5, 0.5, em_recall=0.5), 0.5, None),
    ],
)
async def test_the_average_of_calms_tables(
    tmp_path: Path, task: Task, scores: Scores, mauve: float | None, average: str | None
) -> None:
    text = markdown(await report([await kept(tmp_path / "a", [scores], task=task, mauve=mauve)]))
    head, row = cells(text, "Quality, strict")
    assert ("average" in head) == (average is not None)
    if average is not None:
        assert row[head.index("average")] == average
        assert "- average: mean of correctness" in text


async def test_the_overall_means_of_vtgs_table(tmp_path: Path) -> None:
    """Tables 1 and 2, Vicuna-13B, VANILLA: 35.64 and 55.19 over five data sets."""
    table: list[tuple[str, Task, float, float]] = [
        ("wiki", "qa", 0.234, 0.2539),
        ("webq", "qa", 0.558, 0.6397),
        ("nq", "qa", 0.548, 0.662),
        ("asqa", "asqa", 0.32, 0.6701),
        ("eli5", "eli5", 0.122, 0.5341),
    ]
    paths = [
        await kept(
            tmp_path / name,
            [cited(f1, f1, **{"claim_recall" if task == "eli5" else "em_recall": correct})],
            task=task,
            data=f"{name}.json",
            parameters={"max_trials": number},  # tuned for each set
        )
        for number, (name, task, correct, f1) in enumerate(table)
    ]
    [_, row] = cells(markdown(await report(paths)), "Overall, strict")
    assert row == ["vtg", "gpt", "5", "1, 2, 3, 4, 5", "0.356", "0.552"]
    ablation = await kept(
        tmp_path / "ablation", [cited(1, 1, em_recall=1)], parameters={"verify": False}
    )
    asqa = await kept(tmp_path / "again", [cited(1, 1, em_recall=1)])
    # Which of two configurations would stand for the set?
    assert "Overall" not in markdown(await report([*paths, ablation, asqa]))
    assert "Overall" not in markdown(await report(paths[:1]))
