"""Which metrics apply to which answers, and what they ask of the entailment model."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pytest

from citeproof.evaluation.examples import Example, Mode, Scores, Task
from citeproof.evaluation.results import Result
from citeproof.evaluation.scoring import METRICS, score
from citeproof.evaluation.statistics import estimate_all
from citeproof.testing import TableEntailment, passage
from citeproof.types import Answer

TOWER = passage("Ann Lee built the tower.", title="Tower", id="p1")
LIGHT = passage("Bo Ray kept the light.", id="p2#3")
PASSAGES = (TOWER, LIGHT)
JUDGED = {"citation_recall", "citation_precision", "citation_f1", "claim_recall"}


def example(task: Task = "qa", **known: Any) -> Example:
    return Example.model_validate({"id": "1", "question": "Who?", "task": task} | known)


def output(
    text: str, retrieved: Sequence[str] | None = None, answer: Answer | None = None
) -> Result:
    found = None if retrieved is None else tuple(retrieved)
    known = {"docs": PASSAGES, "retrieved": found, "answer": answer}
    return Result(id="1", question="Who?", output=text, **known)


def always(score: float = 1.0) -> TableEntailment:
    return TableEntailment(lambda premise, hypothesis: score)


def means(rows: Sequence[Scores]) -> dict[str, float]:
    return {name: own.value for name, own in estimate_all(rows).items()}


def applying(scores: dict[str, float | None]) -> set[str]:
    return {key for key, value in scores.items() if value is not None}


CITED = {"citation_recall", "citation_precision", "citation_f1"}
ALWAYS = {"not_found", "length"}
FOUND = {"em_recall", "hit"}
SHORT = FOUND | {"exact_match", "token_f1", "token_precision", "token_recall"}
LISTED = {
    "qampari_precision",
    "qampari_recall",
    "qampari_recall_5",
    "qampari_f1",
    "qampari_f1_5",
    "predictions",
}


@pytest.mark.parametrize("mode", ["strict", "corrected"])
@pytest.mark.parametrize(
    ("task", "known", "apply"),
    [
        ("qa", {"answers": [["Ann Lee"]]}, SHORT),
        ("qa", {"answers": [[]]}, FOUND),
        ("qa", {"references": ["Ann built it."]}, {"rouge_lsum"}),
        ("qa", {"answers": [["Ann"]], "answerable": False}, {"abstention_recall"}),
        ("eli5", {"claims": ["Old."], "answerable": False}, {"abstention_recall"}),
        ("asqa", {"answers": [["Ann"], ["Bo"]], "references": ["Ann."]}, FOUND | {"rouge_lsum"}),
        (
            "eli5",
            {"claims": ["It is old."], "references": ["Old."]},
            {"claim_recall", "rouge_lsum"},
        ),
        ("qampari", {"answers": [["Ann"], ["Bo"]]}, LISTED),
        ("qa", {"gold": ["p1"]}, {"gold_cited", "gold_retrieved"}),
    ],
)
async def test_each_task_has_its_metrics(
    task: Task, known: dict[str, Any], apply: set[str], mode: Mode
) -> None:
    items = [(example(task, **known), output("Ann Lee built it [1].", ["p1"]))]
    [found] = await score(items, always(), mode=mode)
    assert list(found) == list(METRICS)
    assert applying(found) == CITED | ALWAYS | apply
    [unjudged] = await score(items, None, mode=mode)
    assert unjudged == found | dict.fromkeys(JUDGED)


async def test_three_calls_of_distinct_pairs_for_all_answers() -> None:
    """Joint checks and claims; each of several citations alone; what is left without one."""
    texts = ["It is old [1][2]. It is tall [1].", "It is old [1][2]."]
    items = [(example("eli5", claims=["It is old.", "It is new."]), output(text)) for text in texts]
    table = TableEntailment(lambda premise, _: float("Ann" in premise and "Bo" in premise))
    found = await score(items, table)
    # The second answer adds only its two claims: its statement is one of the first's.
    assert table.batches == [2 + 2 + 2, 2, 2]
    asked = [(pair.premise, pair.hypothesis) for pair in table.pairs]
    assert asked[:2] == [
        (f"{TOWER.premise}\n{LIGHT.premise}", "It is old."),
        (TOWER.premise, "It is tall."),
    ]
    assert asked[6:8] == [(TOWER.premise, "It is old."), (LIGHT.premise, "It is old.")]
    # Neither alone, and neither without the other: both are needed.
    assert [own["citation_precision"] for own in found] == [2 / 3, 1]


async def test_a_score_on_the_threshold_entails() -> None:
    items = [(example(), output("It is old [1]."))]
    for threshold, recall in ((0.7, 1), (0.71, 0)):
        table = TableEntailment(lambda premise, hypothesis: 0.7, threshold=threshold)
        [found] = await score(items, table)
        assert found["citation_recall"] == recall


async def test_claim_recall_reads_the_whole_answer_without_marks() -> None:
    said = "It is old. It is tall."
    table = TableEntailment({(said, "Old."): 1.0, (said, "Tall."): 1.0})
    known = example("eli5", claims=["Old.", "Tall.", "New."])
    [found] = await score([(known, output("It is old [1]. It is tall."))], table)
    assert found["claim_recall"] == 2 / 3
    assert len(table.pairs) == 4  # the uncited statement is wrong without being judged


async def test_gold_passages_that_are_cited_and_met() -> None:
    """p2 is long, so the index holds its pieces."""
    known = example(gold=["p1", "p2", "p9"])
    rows = [
        (known, output("Old [1].", ["p1", "p2#1", "p9"])),
        (known, output("Old [2][1].", ["p2#1"])),
        (known, output("Old.")),
    ]
    found = await score(rows, None)
    assert [own["gold_cited"] for own in found] == [1 / 3, 2 / 3, 0]
    assert [own["gold_retrieved"] for own in found] == [1, 1 / 3, None]


async def test_abstention_precision_and_recall_are_means() -> None:
    """3 abstentions, 2 of them right; 4 questions without an answer, 2 abstained from."""
    none = [example(id=str(n), answerable=False) for n in range(4)]
    some = [example(id=str(n), answers=[["Ann"]]) for n in range(5, 7)]
    texts = ["", " \n", "Old [1].", "Old.", "", "Ann [1]."]
    rows = [(own, output(text)) for own, text in zip([*none, *some], texts, strict=True)]
    found = means(await score(rows, None))
    assert found["abstention_precision"] == pytest.approx(2 / 3)
    assert found["abstention_recall"] == 2 / 4
    assert found["not_found"] == 3 / 6


async def test_the_answer_says_whether_it_is_an_abstention() -> None:
    answer = Answer(question="Who?", method="vtg", status="not_found", text="I do not know.")
    answered = Answer(question="Who?", method="vtg", status="partial")
    rows = [(example(), output(own.text, answer=own)) for own in (answer, answered)]
    assert [own["not_found"] for own in await score(rows, None)] == [1, 0]


def claim(text: str, number: int, status: str) -> dict[str, Any]:
    citation = {"number": number, "passage_id": PASSAGES[number - 1].id}
    return {"text": text, "citations": [citation], "verdict": {"status": status}}


async def test_proofs_that_the_judge_does_not_share() -> None:
    """Two claims are given as proved, one of them by a passage that does not state it."""
    claims = [
        claim("Ann Lee built it.", 1, "supported"),
        claim("Ann Lee kept it.", 2, "supported"),
        claim("Cy sold it.", 2, "unsupported"),
    ]
    known = {"question": "Who?", "method": "vtg", "passages": PASSAGES}
    some = Answer.model_validate({**known, "status": "partial", "claims": claims})
    none = Answer.model_validate({**known, "status": "partial", "claims": claims[2:]})
    table = TableEntailment(lambda premise, text: float(text.split()[0] in premise))
    found = await score([(example(), output("", answer=own)) for own in (some, none)], table)
    assert [own["wrongly_proved"] for own in found] == [1 / 2, None]
    assert [pair.hypothesis for pair in table.pairs] == ["Ann Lee built it.", "Ann Lee kept it."]


class Reader:
    """Finds the words that follow the question's last one."""

    def answers(self, asked: Sequence[tuple[str, str]]) -> list[str]:
        return [text.partition(question.rstrip("?").split()[-1])[2] for question, text in asked]


async def test_disambig_f1_and_dr() -> None:
    """`the Ann` is half right against `Ann Lee`, `Bo` is wholly right, `Cy` is not there."""
    known = example(
        "asqa",
        answers=[["Ann Lee"], ["Bo"], ["Cy"]],
        sub_questions=["Who built?", "Who kept?", "Who sold?"],
        references=["kept Bo"],
    )
    [found] = await score([(known, output("kept Bo [1]"))], None, reader=Reader())
    assert found["disambig_f1"] == 1 / 3
    assert found["rouge_lsum"] == 1
    assert found["dr"] == pytest.approx(math.sqrt(1 / 3))
    assert found["dr_mean"] == pytest.approx((1 / 3 + 1) / 2)
    assert (found["qa_em"], found["qa_hit"]) == (1 / 3, 0)
    [other] = await score([(known, output("built the Ann"))], None, reader=Reader())
    assert other["disambig_f1"] == pytest.approx((2 / 3) / 3)
    assert other["dr"] == 0


def test_means_over_the_answers_that_a_metric_applies_to() -> None:
    rows: list[dict[str, float | None]] = [
        {"citation_recall": 1.0, "citation_precision": 0.5, "citation_f1": 2 / 3, "hit": 1.0},
        {"citation_recall": 0.0, "citation_precision": 0.0, "citation_f1": 0.0, "hit": None},
        {"citation_recall": None, "citation_precision": None, "citation_f1": None},
    ]
    assert means(rows) == {
        "citation_recall": 0.5,
        "citation_precision": 0.25,
        "citation_f1": pytest.approx(1 / 3),  # of 0.5 and 0.25, as in the papers' tables
        "hit": 1.0,
    }
    assert means([]) == {}


def test_dr_of_many_is_made_of_two_means() -> None:
    rows: list[dict[str, float | None]] = [
        {"disambig_f1": 0.2, "rouge_lsum": 0.5, "dr": 0.1**0.5},
        {"disambig_f1": 0.6, "rouge_lsum": 0.3, "dr": 0.18**0.5},
        {"rouge_lsum": 0.9},
    ]
    assert means(rows)["dr"] == pytest.approx(math.sqrt(0.4 * 0.4))
    assert means(rows)["rouge_lsum"] == pytest.approx(1.7 / 3)
    # VTG's Table 2: 31.64 and 39.45 make 35.55, where the geometric mean is 35.33.
    paper: dict[str, float | None] = {"disambig_f1": 31.64, "rouge_lsum": 39.45}
    paper |= {"dr": 0.0, "dr_mean": 0.0}  # computed anew
    assert means([paper])["dr_mean"] == pytest.approx(35.545)
    assert means([paper])["dr"] == pytest.approx(35.33, abs=0.01)


@pytest.mark.parametrize(
    ("most", "recall", "precision"), [(1, 0, 0), (2, 0, 0), (3, 1, 1 / 3), (4, 1, 1 / 4)]
)
@pytest.mark.parametrize("mode", ["strict", "corrected"])
async def test_as_many_citations_count_as_are_asked_for(
    mode: Mode, most: int, recall: float, precision: float
) -> None:
    table = TableEntailment(lambda premise, _: float("third" in premise))
    passages = [passage(f"The {n}.", id=n) for n in ("first", "second", "third", "fourth")]
    text = Result(id="1", question="Who?", output="It is old [1][2][3][4].", docs=tuple(passages))
    [found] = await score([(example(), text)], table, mode=mode, at_most_citations=most)
    assert (found["citation_recall"], found["citation_precision"]) == (recall, precision)


@pytest.mark.parametrize(
    ("mode", "text", "cot", "listed", "cited"),
    [
        ("strict", "Rome is one, and: Ann [1], Bo [1]", True, 2, 3),
        ("corrected", "Rome is one, and: Ann [1], Bo [1]", True, 2, 2),
        ("corrected", "First\nRome, so: Ann [1]", True, 1, 1),
        ("strict", "Ann [1], Bo [1]", True, 0, 2),
        ("corrected", "Ann [1], Bo [1]", True, 0, 0),
        ("corrected", "Ann [1], Bo [1]", False, 2, 2),
    ],
)
async def test_a_reasoning_before_a_list(
    mode: Mode, text: str, cot: bool, listed: int, cited: int
) -> None:
    """ALCE's --cot: its evaluator leaves the reasoning among the statements that are judged."""
    table = always()
    own = example("qampari", answers=[["Ann"], ["Bo"]])
    [found] = await score([(own, output(text))], table, mode=mode, cot=cot)
    assert found["predictions"] == listed
    marks = text.count("[1]") if cited else 0
    expected = marks / cited if cited else 0
    assert found["citation_recall"] == expected
    assert found["length"] == len(
        re.sub(r" \[1\]", "", text.split("\n")[0] if mode == "strict" else text).split()
    )
