"""R²-MGA's modules (section "Method"), branch by branch, on scripted models."""

from __future__ import annotations

import pytest

from citeproof.memory.bank import Bank, Case
from citeproof.state import Reflection
from citeproof.text import count
from tests.graphs.r2_mga_scripts import (
    ACTIONS,
    BAD,
    FINAL,
    FIRST,
    GOOD,
    PLAN,
    QUESTION,
    Script,
)
from tests.graphs.scripts import A, B, C

ONLY = "Ann Lee built the tower [1]."
"""The first answer, numbered in order of first use."""
OTHER = "Who built the tower, and when was it lit at last?"


# The modules


async def test_an_answer_is_written_assessed_refined_and_verified() -> None:
    script = Script()
    result = await script.run()
    answer = result["answer"]
    assert (answer.method, answer.text, answer.status) == ("r2-mga", FINAL, "answered")
    assert answer.passages == (A, B)
    assert [(c.verdict.status, c.verdict.score) for c in answer.claims] == [("supported", 0.9)] * 2
    assert script.entailment.batches == [2], "all claims are checked at once"
    assert result["rounds"] == [
        Reflection(number=1, answer=FIRST, feedback=BAD, correct=True, actions=ACTIONS)
    ]
    assert result["case_id"] == ""
    assert script.counts == (1, 1, 1, 1, 0), "without a bank nothing is assessed again"


async def test_an_answer_that_needs_no_refinement_is_left_alone() -> None:
    script = Script(answerer=[FINAL], assessor=[GOOD])
    result = await script.run()
    assert script.counts == (1, 1, 0, 0, 0)
    assert result["answer"].text == FINAL
    assert [(r.feedback, r.actions) for r in result["rounds"]] == [(GOOD, ())]


# The memory bank


async def test_a_right_answer_becomes_the_demonstration_of_the_next_question(bank: Bank) -> None:
    """It is assessed again before it is kept."""
    script = Script(bank=bank)
    result = await script.run()
    assert script.counts == (1, 2, 1, 1, 0)
    assert [r.answer for r in result["rounds"]] == [FIRST, FINAL]
    assert f"Answer: {FINAL}\n" in script.calls("assessor")[1].prompt
    snippet = await bank.best("generation", question=QUESTION, passages=[A, B, C])
    assert snippet is not None
    assert result["case_id"] == snippet.case_id != ""
    assert snippet.case == Case(
        question=QUESTION,
        passages=(A, B, C),
        answer=FIRST,
        feedback=BAD,
        actions=ACTIONS,
        final=FINAL,
        method="r2-mga",
        score=1.0,
    )

    script = Script(bank=bank, demonstrator=["Why one.", "Why two.", "Why three."])
    await script.run(OTHER)
    shown = {role: script.calls(role)[0].prompt for role in [*script.usual][:3]}
    for prompt, reason in zip(shown.values(), ("one", "two", "three"), strict=True):
        assert f"<example>\nQuestion: {QUESTION}\n" in prompt
        assert f"Why {reason}." in prompt
    final = "Answer: Ann Lee built the tower [101]. The tower was lit in 1871 [102]."
    assert final in shown["answerer"]


async def test_without_the_entailment_model_the_answer_says_so(bank: Bank) -> None:
    script = Script(bank=bank)
    answer = (await script.run(gate="llm"))["answer"]
    assert script.entailment.pairs == []
    assert (answer.text, answer.status) == (FINAL, "partial")
    assert answer.reason == "The claims were not checked."


async def test_read_only_leaves_the_bank_alone(bank: Bank) -> None:
    script = Script(bank=bank, assessor=[BAD])
    result = await script.run(remember=False)
    assert (result["case_id"], await bank.count()) == ("", 0)
    assert script.counts == (1, 1, 1, 1, 0), "nobody has use for a further assessment"


# Switches


async def test_no_refinement_is_the_first_answer_and_no_case(bank: Bank) -> None:
    script = Script(bank=bank)
    result = await script.run(refine=False)
    assert script.counts == (1, 0, 0, 0, 0)
    assert (result["rounds"], result["case_id"]) == ([], "")
    assert result["answer"].claims[0].verdict.status == "unsupported"


@pytest.mark.parametrize(
    ("rounds", "assessments", "refined", "counts"),
    [
        (1, [BAD], [ONLY], (1, 1, 1, 1, 0)),
        (2, [BAD, BAD], [ONLY, FINAL], (1, 2, 2, 2, 0)),
        (3, [BAD, BAD, GOOD], [ONLY, FINAL], (1, 3, 2, 2, 0)),
        (10, [BAD, GOOD], [ONLY], (1, 2, 1, 1, 0)),
        (5, [BAD], [FIRST], (1, 1, 1, 1, 0)),
    ],
)
async def test_rounds_go_on_until_nothing_is_refined(
    rounds: int, assessments: list[str], refined: list[str], counts: tuple[int, ...]
) -> None:
    script = Script(assessor=assessments, planner=[PLAN] * 2, refiner=refined)
    result = await script.run(rounds=rounds)
    assert script.counts == counts
    assert [r.number for r in result["rounds"]] == list(range(1, counts[1] + 1))


# What goes wrong


async def test_an_unreadable_plan_leaves_the_answer() -> None:
    script = Script(planner=["?", "?"])
    result = await script.run()
    assert result["answer"].text == f"{ONLY} [unverified]"
    assert [note.split(":")[0] for note in result["answer"].notes] == ["planner"]
    assert script.counts == (1, 1, 2, 0, 0)


async def test_a_model_that_abstains_is_not_assessed() -> None:
    script = Script(answerer=["DONE"])
    answer = (await script.run(may_abstain=True))["answer"]
    assert (answer.status, script.counts) == ("not_found", (1, 0, 0, 0, 0))


@pytest.mark.parametrize(("calls", "text"), [(1, ONLY), (2, ONLY), (3, ONLY), (4, FINAL)])
async def test_a_budget_ends_the_run_with_the_answer_so_far(
    bank: Bank, calls: int, text: str
) -> None:
    result = await Script(bank=bank).run(max_calls=calls)
    answer = result["answer"]
    assert (answer.text, answer.status) == (text, "partial")
    told = "The claim was" if text == ONLY else "The claims were"
    assert answer.reason == f"The budget of {count(calls, 'call')} is spent. {told} not checked."
    assert (answer.usage.llm_calls, result["case_id"]) == (calls, "")


async def test_the_entailment_model_may_assess_in_place_of_the_language_model(bank: Bank) -> None:
    script = Script(bank=bank, assessor=[])
    result = await script.run(assess="nli")
    first, second = result["rounds"]
    assert first.feedback.endswith("[1] states this, not [3]: Ann Lee built the tower.")
    assert first.actions == ACTIONS
    assert (second.correct, second.cited, second.faulty) == (True, True, False)
    assert script.counts == (1, 0, 1, 1, 0)
    [entry] = await bank.cases()
    assert result["case_id"] == entry.id
