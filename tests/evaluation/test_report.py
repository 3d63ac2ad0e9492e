from __future__ import annotations

import json
import random
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from citeproof import Claim, Usage, Verdict, build_vtg
from citeproof.errors import InputError, MissingExtraError
from citeproof.evaluation.entries import COLUMNS
from citeproof.evaluation.examples import Mode, Scores
from citeproof.evaluation.report import Report, markdown, report
from citeproof.evaluation.report_page import curve, render_report
from citeproof.evaluation.report_plots import Point, Series, plot
from citeproof.evaluation.report_tables import Table
from citeproof.evaluation.results import Failure, Result, lines_of, read_results
from citeproof.evaluation.runner import run
from citeproof.evaluation.runs import Run, open_run
from citeproof.evaluation.scorecard import Judge, make_scorecard, read_scorecard, write_scorecard
from citeproof.evaluation.statistics import Estimate, estimate, estimate_all
from citeproof.files import write_whole
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair
from citeproof.tools.entailment.base import mark_unread
from citeproof.types import Answer
from tests.console.test_page import EVIL, SEEN, Page, skeleton
from tests.evaluation.scripted import examples, judge, toolbox


async def made(folder: Path, count: int = 4, **parameters: Any) -> Path:
    """A run of VTG over scripted questions."""
    graph = build_vtg(toolbox(), **{"max_claims": 1, **parameters})
    await run(graph, "vtg", examples(folder.parent, count), folder)
    return folder


async def kept(folder: Path, **parameters: Any) -> Path:
    """A run that is scored."""
    own = open_run(await made(folder, **parameters))
    write_scorecard(own, await make_scorecard(own, judge(), mode="corrected"))
    return folder


def cells(text: str, title: str) -> list[list[str]]:
    """A table of a report in Markdown."""
    part = text.split(f"## {title}\n\n")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in part.split("\n")]
    return [rows[0], *rows[2:]]


async def test_a_second_scoring_asks_the_judge_nothing(tmp_path: Path) -> None:
    folder = await made(tmp_path / "a")
    first = judge()
    card = await make_scorecard(open_run(folder), first, mode="corrected")
    assert len(first.pairs) == 4
    assert card.metrics["citation_f1"].model_dump() == {"value": 1, "low": 1, "high": 1, "n": 4}
    assert set(card.examples) == {"q0", "q1", "q2", "q3"}
    again = judge()
    assert await make_scorecard(open_run(folder), again, mode="corrected") == card
    assert again.pairs == []


@pytest.mark.parametrize(
    ("name", "mode", "told"),
    [
        ("table", "corrected", "judged by table, not by TRUE (T5-XXL): citation metrics and"),
        ("table", "strict", "not comparable with published ALCE numbers."),
        ("google/t5_xxl_true_nli_mixture", "corrected", "were counted in strict mode"),
        ("/models/t5_xxl_true_nli_mixture", "strict", None),
    ],
)
async def test_scores_tell_their_judge_and_whether_they_compare_with_alce(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: Mode, told: str | None
) -> None:
    async def score(items: Sequence[Any], *_: Any, **__: Any) -> list[Scores]:
        return [{"hit": 1.0} for _ in items]  # strict needs a package that may not be there

    monkeypatch.setattr("citeproof.evaluation.scorecard.score", score)
    own = open_run(await made(tmp_path / "a"))
    card = await make_scorecard(own, TableEntailment({}, name=name), mode=mode)
    assert card.entailment is not None
    assert (card.mode, card.entailment.name, card.entailment.threshold) == (mode, name, 0.5)
    assert len(card.caveats) == (told is not None)
    assert told is None or told in card.caveats[0]


async def test_without_a_judge_citations_are_left_out(tmp_path: Path) -> None:
    card = await make_scorecard(open_run(await made(tmp_path / "a")), None, mode="corrected")
    assert card.caveats[0].startswith("Not scored with an entailment model")
    assert "citation_f1" not in card.metrics
    assert card.metrics["em_recall"].value == 1


async def test_verdicts_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    class Mumbling(TableEntailment):
        async def scores(self, pairs: Sequence[Pair]) -> list[float]:
            mark_unread(pairs[0])
            return await super().scores(pairs)

    own = open_run(await made(tmp_path / "a"))
    card = await make_scorecard(own, Mumbling({}), mode="corrected")
    assert "The judge gave no readable verdict on 1 pair, " in card.caveats[-1]
    card = await make_scorecard(own, judge(), mode="corrected")
    assert len(card.caveats) == 1


async def test_scores_of_other_or_fewer_answers_do_not_count(tmp_path: Path) -> None:
    file = tmp_path / "result.json"

    def written(*outputs: str) -> Run:
        rows = [{"question": "Who?", "answers": ["Ann"], "output": output} for output in outputs]
        file.write_text(json.dumps(rows), "utf-8")
        return open_run(file)

    own = written("Ann.")
    card = await make_scorecard(own, judge(), mode="corrected")
    path = write_scorecard(own, card)
    assert read_scorecard(written("Ann."), "corrected") == card
    assert read_scorecard(written("Bo."), "corrected") is None
    assert read_scorecard(written("Ann.", "Bo."), "corrected") is None
    write_whole(path, "{}")
    with pytest.raises(InputError, match=r"scores-corrected.json contains no scores"):
        read_scorecard(own, "corrected")


async def test_examples_that_ended_in_an_error_are_left_out_and_told(tmp_path: Path) -> None:
    folder = await made(tmp_path / "a")
    results = list(read_results(folder / "results.jsonl").values())
    error = Failure(type="ModelError", message="no answer")
    results[1] = Result(id="q1", question="?", error=error)
    write_whole(folder / "results.jsonl", lines_of(results))
    card = await make_scorecard(open_run(folder), judge(), mode="corrected")
    assert (card.errors, set(card.examples)) == (1, {"q0", "q2", "q3"})
    text = markdown(await report([folder]))
    assert cells(text, "Runs")[1][4:7] == ["3", "0", "1"]
    assert "1 example ended in an error and is left out of all means." in text
    results[2] = Result(id="q2", question="?", error=error)
    write_whole(folder / "results.jsonl", lines_of(results))
    text = markdown(await report([folder]))
    assert "2 examples ended in an error and are left out of all means." in text


def test_estimates_are_means_with_an_interval() -> None:
    chance = random.Random(1)
    rows: list[Scores] = []
    for number in range(60):
        recall, precision = float(chance.random() < 0.7), chance.random()
        both = {"citation_recall": recall, "citation_precision": precision, "citation_f1": 0.0}
        rows.append({**both, "em_recall": recall if number % 3 else None, "hit": None})
    found = estimate_all(rows)
    recall, precision = (
        fmean(row[name] or 0 for row in rows) for name in ("citation_recall", "citation_precision")
    )
    assert {name: own.value for name, own in found.items()} == {
        "citation_recall": pytest.approx(recall),
        "citation_precision": pytest.approx(precision),
        "citation_f1": pytest.approx(2 * recall * precision / (recall + precision)),
        "em_recall": pytest.approx(sum(row["em_recall"] or 0 for row in rows) / 40),
    }
    assert (found["em_recall"].n, found["citation_f1"].n) == (40, 60)
    own = found["citation_recall"]
    # The normal approximation, which 60 answers nearly reach: 1.96 standard errors to each side.
    wide = 1.96 * (own.value * (1 - own.value) / 60) ** 0.5
    assert own.value - own.low == pytest.approx(wide, rel=0.2)
    assert own.high - own.value == pytest.approx(wide, rel=0.2)
    assert estimate(rows, "hit") is None
    assert estimate([], "hit") is None


def test_differences_are_paired() -> None:
    chance = random.Random(2)
    rows: list[Scores] = [{"hit": chance.random()} for _ in range(50)]
    better: list[Scores] = [{"hit": (row["hit"] or 0) + 0.1} for row in rows]
    found = estimate(better, "hit", rows)
    assert found is not None
    # Far surer than either mean, since what is hard for one is hard for the other.
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))
    alone = estimate(rows, "hit")
    assert alone is not None
    assert alone.high - alone.low > 0.1
    one: list[Scores] = [{"hit": 1.0}, {"hit": None}]
    found = estimate(one, "hit", [{"hit": 0.0}, {"hit": 1.0}])
    assert found is not None
    assert (found.value, found.n) == (1.0, 1)


async def test_a_report_compares_methods_costs_and_configurations(tmp_path: Path) -> None:
    plain = await kept(tmp_path / "plain", verify=False)
    whole = await kept(tmp_path / "whole")
    text = markdown(await report([whole], against=plain))
    runs = cells(text, "Runs")
    assert [row[:3] for row in runs[1:]] == [["1", "plain", "vtg"], ["2", "whole", "vtg"]]
    assert runs[1][-1] == "table (from 0.5)"
    quality = cells(text, "Quality, corrected")
    place = quality[0].index("citation F1")
    assert quality[1][place] == "1.000 [1.000, 1.000]"
    differences = cells(text, "Differences to plain, corrected")
    assert [row[:3] for row in differences[1:]] == [["2", "whole", "4"]]
    assert differences[1][place] == "+0.000 [+0.000, +0.000]"
    cost = cells(text, "Cost")
    assert cost[2][cost[0].index("LLM calls")] == "2.0 [2.0, 2.0] (1.00×)"
    shares = [row[cost[0].index("cached tokens")].rpartition(", ")[2] for row in cost[1:]]
    assert all(re.fullmatch(r"\d+% of the prompt", share) for share in shares)
    assert cost[1][cost[0].index("NLI pairs")] == "0.000 [0.000, 0.000]"
    assert cells(text, "Where they differ") == [
        ["what", "1 plain", "2 whole"],
        ["parameters.verify", "False", "True"],
    ]
    assert "not by TRUE (T5-XXL)" in text
    assert "strict reproduces ALCE's released evaluator" in text
    assert "- citation recall: " in text


async def test_a_report_may_be_narrowed_to_some_metrics_and_costs(tmp_path: Path) -> None:
    paths = [await kept(tmp_path / "plain", verify=False), await kept(tmp_path / "whole")]
    whole = await report(paths, against=paths[0])
    narrow = whole.only(["seconds", "citation_recall", "claim_recall"])
    text = markdown(narrow)
    assert cells(text, "Quality, corrected")[0] == ["#", "run", "n", "citation recall"]
    assert cells(text, "Differences to plain, corrected")[1][2] == "4"
    assert cells(text, "Cost")[0] == ["#", "run", "seconds"]
    assert "- citation recall: " in text
    assert "- EM recall: " not in text
    assert "- No run has claim recall." in text
    assert narrow.plotted == ["citation_recall"]
    assert "## Cost" not in markdown(whole.only(["em_recall"]))
    costs = markdown(whole.only(["llm_calls"]))
    assert "## Quality" not in costs
    assert "## Differences" not in costs
    assert markdown(whole.only(COLUMNS)) == markdown(whole)
    with pytest.raises(InputError, match=r"no metric or cost 'recall'. Known: citation_recall, .*"):
        whole.only(["em_recall", "recall"])
    with pytest.raises(InputError, match="No metric is named"):
        whole.only([])


async def test_mauve_is_a_number_of_the_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[str], str]] = []

    def mauve(items: Sequence[Any], *, mode: Mode) -> float:
        asked.append(([result.output for _, result in items], mode))
        return 0.8125

    monkeypatch.setattr("citeproof.evaluation.scorecard.mauve_of", mauve)
    own = open_run(await made(tmp_path / "own"))
    card = await make_scorecard(own, judge(), mode="corrected", mauve=True)
    write_scorecard(own, card)
    assert asked == [([result.output for _, result in own.items()], "corrected")]
    assert "mauve" not in card.metrics
    assert read_scorecard(own, "corrected") == card
    made_of = await report([own.path, await kept(tmp_path / "other")], against=own.path)
    text = markdown(made_of)
    quality = cells(text, "Quality, corrected")
    assert [row[-1] for row in quality] == ["MAUVE", "0.812", "–"]
    assert "MAUVE is unstable, as its authors say" in text
    assert "- MAUVE: how close the answers are" in text
    assert "MAUVE" not in cells(text, "Differences to own, corrected")[0]
    only = markdown(made_of.only(["mauve"]))
    assert cells(only, "Quality, corrected")[1] == ["1", "own", "4", "0.812"]
    assert "MAUVE" not in cells(markdown(made_of.only(["hit"])), "Quality, corrected")[0]


async def test_mauve_that_cannot_be_had_is_told_before_the_judge_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mauve", None)
    own, asked = open_run(await made(tmp_path / "own")), judge()
    with pytest.raises(MissingExtraError, match=r"pip install \"citeproof\[mauve\]\""):
        await make_scorecard(own, asked, mode="corrected", mauve=True)
    assert asked.pairs == []


async def test_a_run_that_was_scored_in_another_mode_has_no_differences(tmp_path: Path) -> None:
    one, other = await kept(tmp_path / "one"), await made(tmp_path / "other")
    card = await make_scorecard(open_run(other), judge(), mode="corrected")
    write_scorecard(open_run(other), card.model_copy(update={"mode": "strict"}))
    made_of = await report([one, other], against=one)
    assert not [table.title for table in made_of.tables if table.title.startswith("Differences")]
    told = "other and one were scored in different modes, so they have no differences."
    assert told in made_of.notes


async def test_questions_that_share_but_a_place_in_a_file_are_not_compared(
    tmp_path: Path,
) -> None:
    first, second, third, fourth = examples(tmp_path, 4)
    asked = {"one": (first, second), "half": (first, third), "none": (third, fourth)}
    for name, own in asked.items():
        placed = [e.model_copy(update={"id": str(n)}) for n, e in enumerate(own, start=1)]
        await run(build_vtg(toolbox(), max_claims=1), "vtg", placed, tmp_path / name)
    one, half, none = (tmp_path / name for name in asked)
    text = markdown(await report([one, half], against=one))
    differences = cells(text, "Differences to one, corrected")
    assert [row[:3] for row in differences[1:]] == [["2", "half", "1"]]
    with pytest.raises(InputError, match="none and one share no example"):
        await report([one, none], against=one)


async def test_a_base_is_one_run_however_its_path_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await made(tmp_path / "a", 2)
    other = await made(tmp_path / "b", 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for written in (Path("a"), Path("~/a"), tmp_path / "b" / ".." / "a"):
        found = await report([other, folder], against=written)
        assert [entry.name for entry in found.entries] == ["b", "a"]
        assert "## Differences to a, corrected" in markdown(found)


async def test_a_file_of_alces_runner_is_compared_as_well(tmp_path: Path) -> None:
    own = await kept(tmp_path / "own")
    file = own / "alce.json"
    card = await make_scorecard(open_run(file), judge(), mode="corrected")
    path = write_scorecard(open_run(file), card)
    assert path == own / "alce.scores-corrected.json"
    ours = (await make_scorecard(open_run(own), judge(), mode="corrected")).metrics
    assert card.metrics == {name: ours[name] for name in ours if name != "wrongly_proved"}
    text = markdown(await report([own, file]))
    assert [row[1:4] for row in cells(text, "Runs")[1:]] == [
        ["own", "vtg", "–"],
        ["alce", "–", "–"],
    ]
    assert [row[1] for row in cells(text, "Cost")[1:]] == ["own"]


@pytest.mark.parametrize("strange", [{"name": "another"}, {"threshold": 0.8}])
async def test_other_judges_and_unfinished_runs_are_told(
    tmp_path: Path, strange: dict[str, Any]
) -> None:
    one, other = await kept(tmp_path / "one"), await kept(tmp_path / "other")
    told = "scored with different entailment models, thresholds"
    assert told not in markdown(await report([one, other]))
    table, of = TableEntailment({}, **strange), open_run(other)
    write_scorecard(of, await make_scorecard(of, table, mode="corrected"))
    text = markdown(await report([one, other], against=one))
    assert told in text
    assert "citation F1" in cells(text, "Quality, corrected")[0]
    head = cells(text, "Differences to one, corrected")[0]
    assert "EM recall" in head
    assert "citation F1" not in head
    assert "is not finished" not in text
    results = one / "results.jsonl"
    results.write_bytes(results.read_bytes().splitlines(keepends=True)[0])  # killed after one
    text = markdown(await report([one, other]))
    assert "one is not finished: 3 examples to go." in text


async def test_the_judge_of_each_mode_is_named_where_they_differ(tmp_path: Path) -> None:
    own = open_run(await kept(tmp_path / "a"))
    card = read_scorecard(own, "corrected")
    assert card is not None
    other = {"mode": "strict", "entailment": Judge(name="org/true", threshold=0.5)}
    write_scorecard(own, card.model_copy(update=other))
    told = "corrected: table (from 0.5); strict: org/true (from 0.5)"
    assert cells(markdown(await report([own.path])), "Runs")[1][-1] == told


STRANGE = "a|b `x` [l](http://e) <img src=x onerror=alert(1)>"


async def strange(folder: Path) -> Report:
    path = await kept(folder / "vtg")
    target = folder / STRANGE.replace("/", "∕")
    path.rename(target)
    return await report([target, await kept(folder / "two", verify=False)])


async def test_every_text_of_a_report_is_escaped(tmp_path: Path) -> None:
    def filled(text: str) -> str:
        tables = [Table(text, [["#", text, text], ["1", text, text]], [text]) for _ in range(2)]
        return render_report(replace(found, tables=tables, notes=[text], columns=("em_recall",)))

    found = await strange(tmp_path)
    page = filled(EVIL)
    assert skeleton(page) == skeleton(filled("peace"))
    assert Page(page).text.count(SEEN) == 2 * 6 + 1
    assert "\x1b" not in page


async def test_a_page_is_whole_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    found = await strange(tmp_path)
    row = r"| 1 | a\|b \`x\` [l\](http:∕∕e) &lt;img src=x onerror=alert(1)> | vtg |"
    assert row in markdown(found)
    page = render_report(found)
    assert "<img" not in page
    assert "onerror=alert(1)&gt;" in page
    assert "{{" not in page
    assert re.findall(r"<script>(.*?)</script>", page) == [""]
    assert "default-src 'none'" in page
    assert not re.findall(r'(?:src|href|style)="', page)
    for drawing in re.findall(r"<svg .*?</svg>", page):
        ET.fromstring(drawing)
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert captions[:2] == ["citation F1 against tokens", "citation F1 against seconds"]
    drawn = re.findall(r"<figcaption>citation F1 against tokens</figcaption>(<svg .*?</svg>)", page)
    titles = [title.text or "" for title in ET.fromstring(drawn[0]).iter("title")]
    assert titles[0].startswith("1 a|b")
    assert titles[1].startswith("2 two: citation F1 1 [1, 1] at tokens per question ")


async def test_a_page_counts_answers_and_plots_no_cost_that_no_run_has(tmp_path: Path) -> None:
    found = await report([await kept(tmp_path / "one"), await kept(tmp_path / "two")])
    assert "2 runs · 8 answers" in render_report(found)
    none = Estimate(value=0.0, low=0.0, high=0.0, n=4)
    free = {"prompt_tokens": none, "completion_tokens": none}
    entries = [replace(entry, costs=entry.costs | free) for entry in found.entries]
    page = render_report(replace(found, entries=entries))
    assert "citation F1 against seconds" in page
    assert "against tokens" not in page


def test_a_plot_places_points_where_their_values_are() -> None:
    series = [
        Series(1, "a", [Point(0, 0.0), Point(50, 0.5), Point(100, 1.0)]),
        Series(2, "b", [Point(100, 0.5, 0.25, 0.75)]),
    ]
    root = ET.fromstring(plot(series, "tokens", "quality"))
    dots = [
        (float(dot.attrib["cx"]), float(dot.attrib["cy"]))
        for dot in root.iter("circle")
        if dot.attrib["r"] == "3"
    ]
    (x0, y0), (x1, y1), (x2, y2), other = dots
    assert (x1, y1) == pytest.approx(((x0 + x2) / 2, (y0 + y2) / 2))
    assert other == pytest.approx((x2, y1))
    [span] = [line for line in root.iter("line") if line.attrib.get("class") == "span"]
    assert float(span.attrib["y1"]) - float(span.attrib["y2"]) == pytest.approx((y0 - y2) / 2)
    texts = [text.text for text in root.iter("text")]
    assert {"0", "20", "100", "0.0", "0.2", "1.0", "tokens", "quality"} <= set(texts)
    assert [series.attrib["class"] for series in root if "series" in series.get("class", "")] == [
        "series c0",
        "series c1",
    ]


async def test_a_drawing_stands_by_itself(tmp_path: Path) -> None:
    found = await strange(tmp_path)
    drawn = found.draw("citation_recall")
    root = ET.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    [style] = root.iter(f"{space}style")
    assert "".join(root.itertext()).count("onerror") == 2  # a title, and a name below
    used = set(re.findall(r"var\(--(\w+)\)", style.text or ""))
    assert used == set(re.findall(r"--(\w+):", style.text or ""))
    assert not re.search(r"url\(|@import", style.text or "")
    assert not {"src", "href", "style"} & {key for own in root.iter() for key in own.attrib}
    texts = [text.text or "" for text in root.iter(f"{space}text")]
    assert {"tokens per question", "citation recall", "two"} <= set(texts)
    assert [text for text in texts if text.startswith("a|b")]
    tall = float(root.attrib["height"])
    places = [float(dot.attrib["cy"]) for dot in root.iter(f"{space}circle")]
    assert all(0 < place <= tall - 9 for place in places)
    assert "LLM calls per question" in found.draw("em_recall", "llm_calls")
    with pytest.raises(InputError, match="no cost 'money'. Known: tokens, llm_calls"):
        found.draw("em_recall", "money")
    with pytest.raises(InputError, match="'claim_recall' cannot be drawn .* citation_recall, "):
        found.draw("claim_recall")


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0, 1e-9, 123456.0])
def test_a_plot_of_one_value_has_axes(value: float) -> None:
    nearly = Point(0, value, value - 1e-16, value + 1e-16)
    root = ET.fromstring(plot([Series(1, "a", [nearly])], "x", "y"))
    assert len([line for line in root.iter("line") if "class" not in line.attrib]) > 2
    for element in root.iter():
        for key in ("x", "y", "cx", "cy", "x1", "y2"):
            assert 0 <= float(element.attrib.get(key, 0)) <= 460


def details(*rounds: dict[str, Any]) -> Result:
    return Result(id="a", question="?", details={"rounds": list(rounds)})


def proved(*trials: int) -> Result:
    """An answer with a claim for each; below 0, one that is not proved."""
    verdicts = [
        Verdict(status="supported" if n > 0 else "unsupported", trials=abs(n)) for n in trials
    ]
    claims = tuple(Claim(text="A.", verdict=verdict) for verdict in verdicts)
    answer = Answer(question="?", method="m", status="answered", claims=claims, usage=Usage())
    return Result(id="a", question="?", answer=answer)


WHOLE = {"complete": True, "correct": True, "cited": True}
BY_NLI = {**WHOLE, "complete": None}
"""As the entailment model assesses, which cannot tell whether an answer is complete."""
SEARCH = {"retrieval": {"rounds": [{"sufficient": None}, {"sufficient": True}]}}


@pytest.mark.parametrize(
    ("results", "of", "shares"),
    [
        ([proved(1, 3, -3, 1)], "claims proved", (0.5, 0.5, 0.75)),
        ([proved(1)], "", ()),
        (
            [details({"agreed": False}, {"agreed": True}), details({"agreed": True}), details()],
            "answers agreed on",
            (1 / 3, 2 / 3),
        ),
        ([details({**WHOLE, "cited": False}, WHOLE)], "answers without fault", (0, 1)),
        ([details({**BY_NLI, "cited": False}, BY_NLI)], "answers without fault", (0, 1)),
        (
            [Result(id="a", question="?", details=SEARCH)],
            "questions whose passages suffice",
            (0, 1),
        ),
    ],
)
def test_curves_tell_how_far_methods_had_come(
    results: list[Result], of: str, shares: tuple[float, ...]
) -> None:
    assert curve(results) == ((of, shares) if shares else None)


@pytest.mark.parametrize(
    ("caption", "changes"),
    [
        ("EM recall as the bank grows", [{"bank": n} for n in range(12)]),
        (
            "Answers agreed on, by iteration",
            [{"details": {"rounds": [{"agreed": n > 2}, {"agreed": True}]}} for n in range(6)],
        ),
    ],
)
async def test_a_growing_bank_and_rounds_are_plotted(
    tmp_path: Path, caption: str, changes: list[dict[str, Any]]
) -> None:
    file = await made(tmp_path / "a", len(changes)) / "results.jsonl"
    results = zip(read_results(file).values(), changes, strict=True)
    write_whole(file, lines_of(own.model_copy(update=change) for own, change in results))
    page = render_report(await report([tmp_path / "a"]))
    [found] = re.findall(rf"<figcaption>{caption}</figcaption>(<svg .*?</svg>)", page)
    dots = [dot for dot in ET.fromstring(found).iter("circle") if dot.attrib["r"] == "3"]
    assert len(dots) == (6 if "bank" in caption else 2)
