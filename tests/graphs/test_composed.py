"""The composed flow, route by route, on scripted models."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof import Answer, Passage, Verdict
from citeproof.graphs.composed import build_composed
from citeproof.memory.bank import Bank
from citeproof.state import Reflection
from citeproof.testing import Choice, TableEntailment
from citeproof.text import count
from tests.graphs.composed_scripts import QUESTION, Script, cite
from tests.graphs.r2_mga_scripts import ACTIONS, BAD, GOOD, PLAN, WHY
from tests.graphs.scripts import BUILT, LIT, A, B, C, D

flow: Any = partial(build_composed, assess="llm")
WRONG = "Cy Fox built the tower."
ONE = "Ann Lee built the tower [1]."
BOTH = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."
OTHER = "Who built the tower, and when was it lit at last?"
WRITING = {"retrieval_verifier": 1, "claim_generator": 2, "citation_generator": 1}
HALF: dict[str, Any] = {
    "claim_generator": [WRONG, WRONG, BUILT, "DONE"],
    "citation_generator": [cite(1)] * 3,
    "evidence_finder": [{"questions": ["?"]}] * 2,
}
"""With `max_trials=0` the first of two claims stays unproved."""
WORSE_NOTE = "the refined answer was not proved as well; the previous one stands"


def refined(*texts: str, **more: Any) -> Script:
    """The first answer, ONE, is found faulty; `texts` are the replies of the refiner."""
    replies = {"assessor": [BAD], "planner": [PLAN], "refiner": texts, **more}
    return Script(**replies)


# Search


async def test_llatrievals_candidates_are_not_those_of_the_answerability_verifier() -> None:
    script = Script()
    searches: list[int] = []

    class Counting:
        async def retrieve(self, query: str, k: int) -> list[Passage]:
            searches.append(k)
            return [A, B][:k]

    tools = script.toolbox(retriever=Counting(), answerability=script.entailment)
    await flow(tools, candidates=6).ainvoke({"question": QUESTION})
    assert searches == [5, 20, 6, 20]


@pytest.mark.parametrize("answers", [0.82, 0.9])
async def test_llatrieval_does_not_search_if_the_passages_found_answer(answers: float) -> None:
    script = Script()
    judge = TableEntailment(lambda premise, _: answers if "built" in premise else 0.1)
    result = await flow(script.toolbox(answerability=judge)).ainvoke({"question": "Who made it?"})
    assert (result["answer"].text, result["answer"].status) == (ONE, "answered")
    assert result["retrieval"] is None
    written = {"claim_generator": 2, "citation_generator": 1, "assessor": 1}
    assert script.counts == (written if answers < 0.85 else {})


@pytest.mark.parametrize("yes", [0.1, 0.4])
async def test_llatrieval_searches_if_the_passages_found_may_not_answer(yes: float) -> None:
    """Afterwards, passages that still only may answer are tried."""
    script = Script(
        judge=[Choice(Yes=yes, No=1 - yes)] * 2,
        missing_info=["Ann Lee"],
        document_selector=[{"numbers": [2]}],
        retrieval_verifier=["No", "Yes"],
        passages={"": [B], "Ann Lee": [A]},
    )
    judge = TableEntailment(lambda premise, _: 0.9 if "built" in premise else 0.55)
    tools = script.toolbox(answerability=judge)
    result = await flow(tools, k=1).ainvoke({"question": "Who made it?"})
    assert (result["answer"].text, result["answer"].status) == (ONE, "answered")
    assert [one.query for one in result["retrieval"].rounds] == ["Who made it?", "Ann Lee"]


async def test_passages_that_suffice_at_once_are_not_chosen_from() -> None:
    script = Script()
    result = await script.run(k=2)
    retrieval = result["retrieval"]
    assert retrieval is not None
    assert (retrieval.verified, retrieval.passages) == (True, (A, B))
    assert script.counts == {**WRITING, "assessor": 1}
    assert script.retriever.queries == [QUESTION]
    answer = result["answer"]
    assert (answer.method, answer.text, answer.status) == ("composed", ONE, "answered")
    assert answer.claims[0].verdict == Verdict(status="supported", tier="cited", score=0.9)
    assert C.text not in script.calls("claim_generator")[0].prompt


async def test_candidates_are_read_in_one_window_and_summarised_only_if_asked() -> None:
    found = {"": [A, B, C, D]}
    for summarize, summaries in ((False, 0), (True, 4)):
        script = Script(
            retrieval_verifier=["No", "Yes"],
            document_selector=[{"numbers": [1, 2]}],
            summarizer=["It helps."] * summaries,
            passages=found,
        )
        await script.run(k=2, summarize=summarize, refine=False)
        assert script.counts.get("summarizer", 0) == summaries
        assert script.counts["document_selector"] == 1


# The assessment by entailment, which is the default


async def test_an_answer_that_is_proved_is_neither_assessed_by_a_model_nor_refined(
    bank: Bank,
) -> None:
    script = Script(bank=bank)
    result = await script.run(assess="nli")
    assert script.counts == WRITING
    [done] = result["rounds"]
    assert (done.complete, done.correct, done.cited, done.actions) == (None, True, True, ())
    [entry] = await bank.cases()
    assert result["case_id"] == entry.id
    assert entry.case.feedback == done.feedback


async def test_what_could_not_be_proved_is_refined() -> None:
    script = Script(
        claim_generator=[WRONG, WRONG, "DONE"],
        citation_generator=[cite(1), cite(1)],
        planner=["1. Say who built the tower [1]."],
        refiner=[f"Refined answer: {ONE}"],
    )
    result = await script.run(assess="nli", max_trials=0, memory=False)
    [done] = result["rounds"]
    assert done.feedback == f"Correct: no. No passage states this: {WRONG}"
    assert "assessor" not in script.counts
    assert done.feedback in script.calls("planner")[0].prompt
    assert result["answer"].text == ONE


# The demonstration


async def test_a_proved_answer_demonstrates_how_the_next_question_is_answered(bank: Bank) -> None:
    first = await Script(bank=bank).run()
    [entry] = await bank.cases()
    assert first["case_id"] == entry.id != ""
    assert (entry.case.method, entry.case.score) == ("composed", 1.0)
    assert (entry.case.answer, entry.case.final, entry.case.actions) == (ONE, ONE, ())
    assert entry.case.feedback == GOOD

    script = Script(bank=bank, demonstrator=[WHY, "Why two."])
    await script.run(OTHER, demonstrate=True)
    writing = [call.prompt for call in script.calls("claim_generator")]
    for prompt in writing:
        assert f"<example>\nQuestion: {QUESTION}\n" in prompt
        assert "Answer: Ann Lee built the tower [101]." in prompt
        assert WHY in prompt
    assert "Why two." in script.calls("assessor")[0].prompt


async def test_a_proved_answer_to_another_question_is_no_case(bank: Bank) -> None:
    found = {"": [Passage(id="p", title="Tower", text=f"{BUILT} It was lit in 1871.")]}
    model = TableEntailment(lambda text, _: 0.82 if "1871" in text else 0.05)
    script = Script(bank=bank, passages=found)
    graph = build_composed(script.toolbox(answerability=model))
    result: Any = await graph.ainvoke({"question": "When was the tower lit?"})
    assert (result["answer"].status, result["case_id"]) == ("not_found", "")
    assert await bank.count() == 0


# Proof and refinement


async def test_an_answer_assessed_as_right_is_left_alone() -> None:
    """Without a bank a built-in case is shown, and nothing is kept."""
    script = Script()
    result = await script.run(demonstrate=True)
    assert "Marl Street" in script.calls("claim_generator")[0].prompt
    assert (result["case_id"], "demonstrator" in script.counts) == ("", False)
    assert result["rounds"] == [
        Reflection(number=1, answer=ONE, feedback=GOOD, complete=True, correct=True, cited=True)
    ]
    assert script.counts == {**WRITING, "assessor": 1}


async def test_a_faulty_answer_is_refined_and_what_comes_of_it_is_proved(bank: Bank) -> None:
    script = refined(f"Refined answer: {BOTH}", bank=bank)
    result = await script.run()
    answer = result["answer"]
    assert (answer.text, answer.status, answer.notes) == (BOTH, "answered", ())
    assert [claim.verdict.status for claim in answer.claims] == ["supported", "supported"]
    assert [(r.answer, r.feedback, r.actions) for r in result["rounds"]] == [(ONE, BAD, ACTIONS)]
    assert script.counts == {**WRITING, "assessor": 1, "planner": 1, "refiner": 1}
    [entry] = await bank.cases()
    assert (entry.id, entry.case.score) == (result["case_id"], 1.0)
    assert (entry.case.answer, entry.case.final) == (ONE, BOTH)
    assert entry.case.actions == ACTIONS


async def test_a_refined_answer_that_is_proved_less_gives_way_to_the_first(bank: Bank) -> None:
    script = refined(f"{ONE} {WRONG[:-1]} [2].", bank=bank, evidence_finder=[{"questions": ["?"]}])
    result = await script.run(max_trials=0)
    answer = result["answer"]
    assert (answer.text, answer.status, answer.notes) == (ONE, "answered", (WORSE_NOTE,))
    assert await bank.cases() == [], "the feedback found fault with what was proved"


async def test_the_first_answer_stands_with_what_was_left_out_of_it() -> None:
    script = refined("Di Moe kept it [1].", **HALF)
    answer = (await script.run(max_trials=0, unverified="drop"))["answer"]
    assert (answer.text, answer.status) == (ONE, "partial")
    assert answer.reason == "1 unproved claim was left out."


async def test_an_answer_of_which_nothing_is_left_is_not_assessed() -> None:
    nothing = {**HALF, "claim_generator": [WRONG, WRONG, "DONE"]}
    script = Script(**nothing)
    answer = (await script.run(max_trials=0, unverified="drop"))["answer"]
    assert answer.reason == "No claim could be proved from the passages."
    assert "assessor" not in script.counts


async def test_refinement_and_demonstration_can_be_left_out(bank: Bank) -> None:
    script = Script(bank=bank)
    result = await script.run(refine=False)
    assert script.counts == WRITING
    assert (result["rounds"], result["case_id"], await bank.count()) == ([], "", 0)
    await Script(bank=bank).run()
    script = Script(bank=bank)
    await script.run(OTHER, refine=False)
    assert "<example>" not in script.calls("claim_generator")[0].prompt
    assert "demonstrator" not in script.counts


async def test_without_the_verifier_claims_stay_unchecked() -> None:
    script = refined(f"Refined answer: {BOTH}")
    answer = (await script.run(verify=False, unverified="keep"))["answer"]
    assert answer.text == BOTH
    assert {claim.verdict.status for claim in answer.claims} == {"unchecked"}
    assert script.entailment.pairs == []


# Budgets, input, parameters


async def test_a_budget_spent_in_the_second_proof_leaves_the_first_answer(bank: Bank) -> None:
    script = refined(f"{ONE} {WRONG[:-1]} [2].", bank=bank)
    result = await script.run(max_calls=7)
    answer = result["answer"]
    assert (answer.text, answer.status) == (ONE, "partial")
    assert answer.reason == "The budget of 7 calls is spent."
    assert (answer.usage.llm_calls, answer.notes) == (7, (WORSE_NOTE,))


@pytest.mark.parametrize(("calls", "text"), [(1, ""), (2, ""), (3, ONE), (6, ONE), (7, BOTH)])
async def test_a_budget_ends_the_run_with_what_is_proved(calls: int, text: str) -> None:
    answer = (await refined(f"Refined answer: {BOTH}").run(max_calls=calls))["answer"]
    assert (answer.text, answer.usage.llm_calls) == (text, calls)
    spent = f"The budget of {count(calls, 'call')} is spent."
    assert answer.reason == ("" if calls == 7 else spent)


async def reviewed(script: Script, decision: str, text: str = "", assess: str = "llm") -> Answer:
    """The answer where a person decides so on the one claim that nothing proves."""
    parameters = {"review": True, "max_trials": 0, "assess": assess}
    graph = flow(script.toolbox(), checkpointer=InMemorySaver(), **parameters)
    thread: Any = {"configurable": {"thread_id": "t"}}
    [interrupt] = (await graph.ainvoke({"question": QUESTION}, thread))["__interrupt__"]
    assert interrupt.value["claim"]["text"] == WRONG
    decided: Any = Command(resume={"decision": decision, "text": text})
    answer: Answer = (await graph.ainvoke(decided, thread))["answer"]
    return answer


@pytest.mark.parametrize(
    ("decision", "edited", "text", "status"),
    [
        ("edit", LIT, BOTH, "answered"),
        ("approve", "", f"{ONE} {WRONG[:-1]} [1]. [unverified]", "partial"),
    ],
)
async def test_claims_of_a_refinement_are_reviewed_as_well(
    decision: str, edited: str, text: str, status: str
) -> None:
    script = refined(
        f"Refined answer: {ONE} {WRONG[:-1]} [1].", evidence_finder=[{"questions": ["Who?"]}]
    )
    answer = await reviewed(script, decision, text=edited)
    assert (answer.text, answer.status, answer.notes) == (text, status, ())
    assert len(script.calls("refiner")) == 1


@pytest.mark.parametrize("assess", ["nli", "llm"])
@pytest.mark.parametrize(
    ("decision", "text", "reason"),
    [
        (
            "approve",
            f"{WRONG[:-1]} [1]. [unverified] {ONE}",
            "1 of 2 claims could not be proved.",
        ),
        ("drop", ONE, "1 unproved claim was left out."),
    ],
)
async def test_what_a_person_has_decided_is_not_refined(
    decision: str, text: str, reason: str, assess: str
) -> None:
    script = refined(f"Refined answer: {BOTH}", **HALF)
    answer = await reviewed(script, decision, assess=assess)
    assert (answer.text, answer.status, answer.reason) == (text, "partial", reason)
    assert not {"assessor", "planner", "refiner"} & script.counts.keys()


# What every graph can do


async def test_every_prompt_of_a_run_begins_with_the_same_passages(bank: Bank) -> None:
    await Script(bank=bank).run()
    script = refined(f"Refined answer: {BOTH}", bank=bank, demonstrator=[WHY] * 3)
    await script.run(OTHER, demonstrate=True)
    prompts = [call.prompt for role in script.usual for call in script.calls(role)]
    assert len(prompts) == 9
    shared = prompts[0][: prompts[0].rindex("</passage>")]
    assert all(text in shared for text in (A.text, B.text, C.text))
    assert all(prompt.startswith(shared) for prompt in prompts)
