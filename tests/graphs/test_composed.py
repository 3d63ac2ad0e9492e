"""The composed flow, route by route, on scripted models."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from citeproof import LLM, Answer, Passage, Toolbox, Verdict
from citeproof.errors import InputError, ModelOutageError, SettingsError
from citeproof.graphs.composed import ComposedParameters, build_composed
from citeproof.memory.bank import Bank
from citeproof.runtime.events import AnswerReady, LLMCalled
from citeproof.state import Reflection
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment
from tests.agents.evidence_log import Log
from tests.graphs.composed_scripts import QUESTION, ROLES, Script, cite
from tests.graphs.r2_mga_scripts import ACTIONS, BAD, GOOD, PLAN, WHY
from tests.graphs.scripts import BUILT, KEPT, LIT, A, B, C, D, timeless
from tests.watching import started, watch

flow: Any = partial(build_composed, assess="llm")
WRONG = "Cy Fox built the tower."
ONE = "Ann Lee built the tower [1]."
BOTH = "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."
OTHER = "Who built the tower, and when was it lit at last?"
WRITING = {"retrieval_verifier": 1, "claim_generator": 2, "citation_generator": 1}
WORSE_NOTE = "the refined answer was not proved as well; the one before it stands"


def refined(*texts: str, **more: Any) -> Script:
    """The first answer, ONE, is found faulty; `texts` are the replies of the refiner."""
    replies = {"assessor": [BAD], "planner": [PLAN], "refiner": texts, **more}
    return Script(**replies)


# Search


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


async def test_passages_that_do_not_suffice_are_chosen_anew_from_all_candidates() -> None:
    script = Script(
        retrieval_verifier=["No", "Yes"],
        document_selector=[{"numbers": [1, 3]}],
        claim_generator=[KEPT, "DONE"],
        citation_generator=[cite(3)],
    )
    result = await script.run(k=2)
    retrieval = result["retrieval"]
    assert retrieval is not None
    assert (retrieval.verified, retrieval.passages, retrieval.candidates) == (True, (A, C), 3)
    assert result["answer"].passages == (C,)
    prompt = script.calls("claim_generator")[0].prompt
    assert C.text in prompt
    assert B.text not in prompt


async def test_what_is_missing_is_searched_for_until_the_rounds_are_over() -> None:
    script = Script(
        retrieval_verifier=["No", "No", "No"],
        document_selector=[{"numbers": [1, 2]}, {"numbers": [1, 3]}],
        missing_info=["A storm came."],
        passages={"": [A, B, C], "A storm": [D]},
    )
    result = await script.run(k=2, search_rounds=2)
    retrieval = result["retrieval"]
    assert retrieval is not None
    assert [done.query for done in retrieval.rounds] == [QUESTION, "A storm came."]
    assert (retrieval.verified, retrieval.passages) == (False, (A, D))
    assert result["answer"].text == ONE, "passages that may not suffice are answered from"


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


async def test_without_search_the_k_best_passages_are_read() -> None:
    script = Script()
    result = await script.run(k=2, search=False)
    assert result["retrieval"] is None
    assert "retrieval_verifier" not in script.counts
    assert script.retriever.queries == [QUESTION]
    prompt = script.calls("claim_generator")[0].prompt
    assert (B.text in prompt, C.text in prompt) == (True, False)


async def test_no_passages_is_an_abstention_without_a_call(bank: Bank) -> None:
    for search in (True, False):
        script = Script(passages={}, bank=bank)
        result = await script.run(search=search)
        answer = result["answer"]
        assert (answer.status, answer.claims) == ("not_found", ())
        assert answer.reason == "No passage was found for the question."
        assert (script.counts, result["case_id"], result["rounds"]) == ({}, "", [])


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
    await script.run(OTHER)
    writing = [call.prompt for call in script.calls("claim_generator")]
    for prompt in writing:
        assert f"<example>\nQuestion: {QUESTION}\n" in prompt
        assert "Answer: Ann Lee built the tower [101]." in prompt
        assert WHY in prompt
    assert "Why two." in script.calls("assessor")[0].prompt


async def test_without_a_bank_a_built_in_case_is_shown_and_nothing_is_kept() -> None:
    script = Script()
    result = await script.run()
    assert "Marl Street" in script.calls("claim_generator")[0].prompt
    assert (result["case_id"], "demonstrator" in script.counts) == ("", False)


async def test_demonstrate_false_writes_without_an_example(bank: Bank) -> None:
    await Script(bank=bank).run()
    script = Script(bank=bank)
    await script.run(OTHER, demonstrate=False, refine=False)
    assert "<example>" not in script.calls("claim_generator")[0].prompt
    assert "demonstrator" not in script.counts


async def test_no_best_match_shows_the_built_in_case(bank: Bank) -> None:
    await Script(bank=bank).run()
    script = Script(bank=bank)
    await script.run(OTHER, best_match=False)
    assert "Marl Street" in script.calls("claim_generator")[0].prompt


async def test_no_rationale_shows_the_case_alone(bank: Bank) -> None:
    await Script(bank=bank).run()
    script = Script(bank=bank)
    await script.run(OTHER, rationale=False)
    assert f"Question: {QUESTION}\n" in script.calls("claim_generator")[0].prompt
    assert "demonstrator" not in script.counts


# Proof and refinement


async def test_an_unproved_claim_is_written_anew_from_new_evidence() -> None:
    script = Script(
        claim_generator=[WRONG, KEPT, "DONE"],
        citation_generator=[cite(1), cite(3)],
        evidence_finder=[{"questions": ["Who kept it?"]}],
        passages={"": [A, B], "kept": [C]},
    )
    result = await script.run()
    assert result["answer"].text == "Bo Ray kept the light [1]."
    assert result["answer"].passages == (C,)
    assert script.retriever.queries == [QUESTION, "Who kept it?"]


async def test_an_answer_assessed_as_right_is_left_alone() -> None:
    script = Script()
    result = await script.run()
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


async def test_a_wrong_citation_of_the_refined_answer_is_mended() -> None:
    script = refined("Refined answer: Ann Lee built the tower [1]. The tower was lit in 1871 [3].")
    answer = (await script.run())["answer"]
    assert (answer.text, answer.passages) == (BOTH, (A, B))
    assert [claim.verdict.tier for claim in answer.claims] == ["cited", "memory"]


async def test_a_refined_claim_is_handed_in_again_in_the_same_words() -> None:
    """New evidence proves it; the writer of the first answer has no part in it."""
    script = refined(
        f"Refined answer: {ONE} {KEPT[:-1]} [2].",
        evidence_finder=[{"questions": ["Who kept it?"]}],
        passages={"": [A, B], "kept": [C]},
    )
    answer = (await script.run())["answer"]
    assert answer.text == "Ann Lee built the tower [1]. Bo Ray kept the light [2]."
    assert answer.claims[1].verdict == Verdict(
        status="supported", tier="memory", score=0.9, trials=2
    )
    assert script.counts["claim_generator"] == 2


async def test_a_refined_answer_that_is_proved_less_gives_way_to_the_first(bank: Bank) -> None:
    script = refined(f"{ONE} {WRONG[:-1]} [2].", bank=bank, evidence_finder=[{"questions": ["?"]}])
    result = await script.run(max_trials=0)
    answer = result["answer"]
    assert (answer.text, answer.status, answer.notes) == (ONE, "answered", (WORSE_NOTE,))
    assert await bank.cases() == [], "the feedback found fault with what was proved"


async def test_as_many_proved_claims_as_before_let_the_refined_answer_stand() -> None:
    wrong = f"{WRONG[:-1]} [1]."
    script = refined(
        f"{wrong} {LIT[:-1]} [2].",
        claim_generator=[WRONG, WRONG, BUILT, "DONE"],
        citation_generator=[cite(1)] * 3,
        evidence_finder=[{"questions": ["?"]}] * 2,
    )
    answer = (await script.run(max_trials=0))["answer"]
    assert [claim.text for claim in answer.claims] == [WRONG, LIT]
    assert answer.reason == "1 of 2 claims could not be proved."
    assert answer.notes == ()


async def test_claims_that_were_dropped_count_as_unproved() -> None:
    """All that is left of the refined answer is supported, but it was proved less."""
    script = refined(f"{ONE} {WRONG[:-1]} [2].", evidence_finder=[{"questions": ["?"]}])
    answer = (await script.run(max_trials=0, unverified="drop"))["answer"]
    assert (answer.text, answer.status) == (ONE, "answered")
    assert WORSE_NOTE in answer.notes


async def test_the_first_answer_stands_with_what_was_left_out_of_it() -> None:
    script = refined(
        "Di Moe kept it [1].",
        claim_generator=[WRONG, WRONG, BUILT, "DONE"],
        citation_generator=[cite(1)] * 3,
        evidence_finder=[{"questions": ["?"]}] * 2,
    )
    answer = (await script.run(max_trials=0, unverified="drop"))["answer"]
    assert (answer.text, answer.status) == (ONE, "partial")
    assert answer.reason == "1 unproved claim was left out."


async def test_an_answer_of_which_nothing_is_left_is_not_assessed() -> None:
    script = Script(
        claim_generator=[WRONG, WRONG, "DONE"],
        citation_generator=[cite(1)] * 2,
        evidence_finder=[{"questions": ["?"]}],
    )
    answer = (await script.run(max_trials=0, unverified="drop"))["answer"]
    assert answer.reason == "No claim could be proved from the passages."
    assert "assessor" not in script.counts


async def test_refine_false_ends_with_the_first_answer_and_leaves_no_case(bank: Bank) -> None:
    script = Script(bank=bank)
    result = await script.run(refine=False)
    assert script.counts == WRITING
    assert (result["rounds"], result["case_id"], await bank.count()) == ([], "", 0)


async def test_an_unreadable_assessment_leaves_the_answer_and_no_case(bank: Bank) -> None:
    result = await Script(bank=bank, assessor=["?", "?"]).run()
    assert (result["answer"].text, result["case_id"]) == (ONE, "")
    assert [note.split(":")[0] for note in result["answer"].notes] == ["assessor"]


async def test_a_plan_without_actions_leaves_the_answer() -> None:
    script = refined(planner=["?", "?"])
    result = await script.run()
    assert result["answer"].text == ONE
    assert "refiner" not in script.counts
    assert [note.split(":")[0] for note in result["answer"].notes] == ["planner"]


@pytest.mark.parametrize("replies", [("", "Done!"), (f"{WRONG[:-1]} [1]. {ONE}",)])
async def test_a_refinement_that_changes_nothing_is_not_proved(replies: tuple[str, ...]) -> None:
    script = refined(
        *replies,
        claim_generator=[WRONG, WRONG, BUILT, "DONE"],
        citation_generator=[cite(1)] * 3,
        evidence_finder=[{"questions": ["?"]}],
    )
    graph = flow(script.toolbox(), max_trials=0)
    moments = await watch(graph, {"question": QUESTION})
    events = [moment.event for moment in moments]
    assert started(moments)[-4:] == [
        "draft_refiner",
        "refinement_selector",
        "case_recorder",
        "answer_composer",
    ]
    [ready] = [event for event in events if isinstance(event, AnswerReady)]
    assert [claim.text for claim in ready.answer.claims] == [WRONG, BUILT]


async def test_without_the_verifier_claims_stay_unchecked() -> None:
    script = refined(f"Refined answer: {BOTH}")
    answer = (await script.run(verify=False, unverified="keep"))["answer"]
    assert answer.text == BOTH
    assert {claim.verdict.status for claim in answer.claims} == {"unchecked"}
    assert script.entailment.pairs == []


# The memory bank


async def test_remember_false_reads_the_bank_and_writes_nothing(bank: Bank) -> None:
    await Script(bank=bank).run()
    [before] = await bank.cases()
    script = Script(bank=bank, demonstrator=[WHY, WHY])
    result = await script.run(OTHER, remember=False)
    assert f"Question: {QUESTION}\n" in script.calls("claim_generator")[0].prompt
    [after] = await bank.cases()
    assert (result["case_id"], after.id, after.rationales) == ("", before.id, {})


async def test_an_answer_that_is_not_proved_leaves_no_case(bank: Bank) -> None:
    script = Script(
        bank=bank,
        claim_generator=[WRONG, WRONG, BUILT, "DONE"],
        citation_generator=[cite(1)] * 3,
        evidence_finder=[{"questions": ["?"]}],
    )
    assert (await script.run(max_trials=0))["case_id"] == ""
    again = Script(
        bank=bank,
        claim_generator=[WRONG, WRONG, BUILT, "DONE"],
        citation_generator=[cite(1)] * 3,
        evidence_finder=[{"questions": ["?"]}],
    )
    assert (await again.run(max_trials=0, least_score=0.5))["case_id"] != ""


async def test_an_answer_that_lost_a_claim_leaves_no_case(bank: Bank) -> None:
    """All that is left of it is supported."""
    script = Script(
        bank=bank,
        claim_generator=[WRONG, WRONG, BUILT, "DONE"],
        citation_generator=[cite(1)] * 3,
        evidence_finder=[{"questions": ["?"]}],
    )
    result = await script.run(unverified="drop", assess="nli", max_trials=0)
    assert (result["answer"].text, result["answer"].status) == (ONE, "partial")
    assert (result["case_id"], await bank.count()) == ("", 0)


async def test_a_namespace_has_its_own_cases(bank: Bank) -> None:
    await Script(bank=bank).run(namespace="other")
    assert (await bank.count(), await bank.within("other").count()) == (0, 1)
    script = Script(bank=bank)
    await script.run(OTHER)
    assert "Marl Street" in script.calls("claim_generator")[0].prompt


# Budgets, input, parameters


async def test_a_budget_spent_in_the_second_proof_leaves_the_first_answer(bank: Bank) -> None:
    script = refined(f"{ONE} {WRONG[:-1]} [2].", bank=bank)
    result = await script.run(max_calls=7)
    answer = result["answer"]
    assert (answer.text, answer.status) == (ONE, "partial")
    assert answer.reason == "The budget of 7 calls is spent."
    assert (answer.usage.llm_calls, answer.notes) == (7, (WORSE_NOTE,))


@pytest.mark.parametrize(
    ("calls", "text"), [(1, ""), (2, ""), (3, ONE), (4, ONE), (5, ONE), (6, ONE), (7, BOTH)]
)
async def test_a_budget_ends_the_run_with_what_is_proved(calls: int, text: str) -> None:
    answer = (await refined(f"Refined answer: {BOTH}").run(max_calls=calls))["answer"]
    assert (answer.text, answer.usage.llm_calls) == (text, calls)
    spent = f"The budget of {calls} calls is spent."
    assert answer.reason == ("" if calls == 7 else spent)


async def test_the_search_keeps_to_the_budget_of_the_run() -> None:
    script = Script(retrieval_verifier=["No"], document_selector=[{"numbers": [3]}])
    result = await script.run(k=2, max_calls=2)
    assert script.counts == {"retrieval_verifier": 1, "document_selector": 1}
    assert result["retrieval"] is not None
    assert result["retrieval"].reason == "The budget of 2 calls is spent."
    assert result["answer"].reason == "The budget of 2 calls is spent."


async def test_the_search_counts_towards_the_cost() -> None:
    usage = (await Script().run())["answer"].usage
    assert (usage.llm_calls, usage.retrievals, usage.nli_pairs) == (5, 1, 1)


@pytest.mark.parametrize("search", [True, False])
def test_an_empty_question_is_an_error(search: bool) -> None:
    graph = flow(Script().toolbox(), search=search)
    with pytest.raises(InputError, match="question is empty"):
        graph.invoke({"question": " "})


@pytest.mark.parametrize("search", [True, False])
async def test_documents_replace_the_index_from_first_to_last(search: bool) -> None:
    """Also where evidence is looked for."""
    script = Script(
        claim_generator=[WRONG, KEPT, "DONE"],
        citation_generator=[cite(1), cite(2)],
        evidence_finder=[{"questions": ["Who kept the light?"]}],
    )
    graph = flow(script.toolbox(), k=1, search=search)
    result = await graph.ainvoke(
        {"question": "Who built the tower?", "documents": [BUILT, KEPT, "Cats sleep."]}
    )
    assert result["answer"].text == "Bo Ray kept the light [1]."
    assert script.retriever.queries == []


@pytest.mark.parametrize("search", [True, False])
def test_neither_retriever_nor_documents_is_an_error(search: bool) -> None:
    graph = flow(Script().toolbox(retriever=None), search=search)
    with pytest.raises(InputError, match="nothing to answer from"):
        graph.invoke({"question": "Who?"})


def test_unknown_and_impossible_parameters_are_errors() -> None:
    tools = Script().toolbox()
    with pytest.raises(SettingsError, match="Unknown parameter rounds"):
        flow(tools, rounds=2)
    impossible: dict[str, Any] = {
        "k": 0,
        "search_rounds": 0,
        "candidates": 101,
        "namespace": "a b",
        "least_score": 0.0,
        "answer_tokens": 1,
        "max_trials": 21,
    }
    for name, value in impossible.items():
        with pytest.raises(SettingsError, match=f"{name} cannot be"):
            flow(tools, **{name: value})


async def test_a_run_may_override_the_parameters_that_the_graph_was_built_with() -> None:
    script = Script()
    graph = flow(script.toolbox(), refine=True)
    context: Any = {"refine": False, "search": False, "demonstrate": False}
    await graph.ainvoke({"question": QUESTION}, context=context)
    assert script.counts == {"claim_generator": 2, "citation_generator": 1}


def test_the_defaults() -> None:
    defaults = ComposedParameters()
    assert (defaults.search, defaults.search_rounds, defaults.candidates) == (True, 2, 20)
    assert (defaults.summarize, defaults.demonstrate, defaults.refine) == (False, True, True)
    assert (defaults.remember, defaults.least_score, defaults.max_trials) == (True, 1.0, 2)


def test_the_graph_shows_the_parts_of_three_methods() -> None:
    drawn = flow(Script().toolbox()).get_graph()
    assert set(drawn.nodes) == {
        "__start__",
        "__end__",
        "__default_error_handler__",
        "question_reader",
        "question_rewriter",
        "answerability_verifier",
        "answer_composer",
        "assessment_demonstrator",
        "answerer",
        "assessor",
        "case_recorder",
        "claims_assessor",
        "citation_generator",
        "claim_acceptor",
        "claim_source",
        "claim_generator",
        "refinement_selector",
        "evidence_finder",
        "generation_demonstrator",
        "generation_verifier",
        "memory_verifier",
        "planner",
        "planning_demonstrator",
        "draft_refiner",
        "reviewer",
        "retrieval_stage",
        "simplifier",
    }
    again = {edge.target for edge in drawn.edges if edge.source == "evidence_finder"}
    assert again == {"claim_generator", "claim_source"}


async def test_claims_of_a_refinement_are_reviewed_as_well() -> None:
    script = refined(
        f"Refined answer: {ONE} {WRONG[:-1]} [1].", evidence_finder=[{"questions": ["Who?"]}]
    )
    tools = script.toolbox()
    parameters = {"review": True, "max_trials": 0, "assess": "llm"}
    graph = flow(tools, checkpointer=InMemorySaver(), **parameters)
    thread: Any = {"configurable": {"thread_id": "t"}}
    [interrupt] = (await graph.ainvoke({"question": QUESTION}, thread))["__interrupt__"]
    assert interrupt.value["claim"]["text"] == WRONG
    decision = {"decision": "edit", "text": LIT}
    answer = (await graph.ainvoke(Command(resume=decision), thread))["answer"]
    assert (answer.text, answer.status) == (BOTH, "answered")
    assert len(script.calls("refiner")) == 1


async def reviewed(script: Script, decision: str, **parameters: Any) -> Answer:
    """The answer where a person decides so on the one claim that nothing proves."""
    graph = build_composed(
        script.toolbox(), checkpointer=InMemorySaver(), review=True, max_trials=0, **parameters
    )
    thread: Any = {"configurable": {"thread_id": "t"}}
    [interrupt] = (await graph.ainvoke({"question": QUESTION}, thread))["__interrupt__"]
    assert interrupt.value["claim"]["text"] == WRONG
    result = await graph.ainvoke(Command(resume={"decision": decision}), thread)
    answer: Answer = result["answer"]
    return answer


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
    script = refined(
        f"Refined answer: {BOTH}",
        claim_generator=[WRONG, WRONG, BUILT, "DONE"],
        citation_generator=[cite(1)] * 3,
        evidence_finder=[{"questions": ["?"]}],
    )
    answer = await reviewed(script, decision, assess=assess)
    assert (answer.text, answer.status, answer.reason) == (text, "partial", reason)
    assert not {"assessor", "planner", "refiner"} & script.counts.keys()


async def test_a_claim_of_a_refinement_that_a_person_approves_stands() -> None:
    script = refined(
        f"Refined answer: {ONE} {WRONG[:-1]} [1].", evidence_finder=[{"questions": ["?"]}]
    )
    answer = await reviewed(script, "approve", assess="llm")
    assert answer.text == f"{ONE} {WRONG[:-1]} [1]. [unverified]"
    assert (answer.status, answer.notes) == ("partial", ())


# What every graph can do


async def test_every_prompt_of_a_run_begins_with_the_same_passages(bank: Bank) -> None:
    await Script(bank=bank).run()
    script = refined(f"Refined answer: {BOTH}", bank=bank, demonstrator=[WHY] * 3)
    await script.run(OTHER)
    prompts = [call.prompt for role in ROLES for call in script.calls(role)]
    assert len(prompts) == 9
    shared = prompts[0][: prompts[0].rindex("</passage>")]
    assert all(text in shared for text in (A.text, B.text, C.text))
    assert all(prompt.startswith(shared) for prompt in prompts)


async def test_events_tell_the_search_and_the_writing() -> None:
    graph = flow(refined(f"Refined answer: {BOTH}").toolbox())
    moments = await watch(graph, {"question": QUESTION})
    events = [moment.event for moment in moments]
    assert [event.role for event in events if isinstance(event, LLMCalled)] == [
        "retrieval_verifier",
        "claim_generator",
        "citation_generator",
        "claim_generator",
        "assessor",
        "planner",
        "refiner",
    ]
    nodes = started(moments)
    assert nodes[:3] == ["question_reader", "retrieval_stage", "question_reader"]
    assert nodes[-1] == "answer_composer"
    [ready] = [event for event in events if isinstance(event, AnswerReady)]
    assert ready.answer.text == BOTH


async def test_invoke_and_ainvoke_agree() -> None:
    graph = flow(refined(f"Refined answer: {BOTH}").toolbox())
    sync = graph.invoke({"question": QUESTION})
    later = await refined(f"Refined answer: {BOTH}").run()
    assert timeless(sync["answer"]) == timeless(later["answer"])
    assert (sync["retrieval"], sync["rounds"]) == (later["retrieval"], later["rounds"])


async def test_what_is_cited_is_recorded() -> None:
    log = Log()
    graph = flow(refined(f"Refined answer: {BOTH}").toolbox(evidence=log))
    await graph.ainvoke({"question": QUESTION})
    assert [(r["claim"], r["status"], r["method"]) for r in log.records] == [
        (BUILT, "supported", "composed"),
        (LIT, "supported", "composed"),
    ]


async def test_a_second_question_on_a_thread_starts_from_nothing(bank: Bank) -> None:
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    first = refined(f"{ONE} {WRONG[:-1]} [2].", evidence_finder=[{"questions": ["?"]}], bank=bank)
    graph = flow(first.toolbox(), checkpointer=saver, max_trials=0)
    told = await graph.ainvoke({"question": QUESTION}, config)
    assert (told["answer"].notes, bool(told["case_id"])) == ((WORSE_NOTE,), False)
    second = Script(
        question_rewriter=["When was it lit?"],
        passages={"": [B]},
        claim_generator=[LIT, "DONE"],
    )
    graph = flow(second.toolbox(), checkpointer=saver, search=False, refine=False)
    result = await graph.ainvoke({"question": "When was it lit?"}, config)
    answer = result["answer"]
    assert (answer.text, answer.notes, answer.passages) == (f"{LIT[:-1]} [1].", (), (B,))
    assert (result["rounds"], result["case_id"], result["retrieval"]) == ([], "", None)
    assert answer.usage.llm_calls == 4, "that of the question rewriter is one"


def test_a_run_that_failed_resumes_where_it_stopped(tmp_path: Path) -> None:
    """Neither the search nor the first answer is made again."""
    config: Any = {"configurable": {"thread_id": "t"}}
    script = refined()
    gone = LLM(ScriptedChatModel([ConnectionError("the server is gone")]), retries=0)
    broken = script.toolbox(roles={**script.models, "refiner": gone})
    with SqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        with pytest.raises(ModelOutageError, match="the server is gone"):
            flow(broken, checkpointer=saver).invoke({"question": QUESTION}, config)
        rest = Script(assessor=[], refiner=[f"Refined answer: {BOTH}"])
        result = flow(rest.toolbox(), checkpointer=saver).invoke(None, config)
    assert result["answer"].text == BOTH
    assert rest.counts == {"refiner": 1}
    assert result["answer"].usage.llm_calls == 7


def test_a_strict_checkpoint_can_be_read_again() -> None:
    """In strict mode LangGraph reads back only types that the graph's state declares."""
    code = (
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "from citeproof.graphs.composed import build_composed\n"
        "from tests.graphs.test_composed import BOTH, QUESTION, refined\n"
        "config = {'configurable': {'thread_id': 't'}}\n"
        "tools = refined(BOTH).toolbox()\n"
        "graph = build_composed(tools, checkpointer=InMemorySaver(), assess='llm')\n"
        "result = graph.invoke({'question': QUESTION}, config)\n"
        "kept = graph.get_state(config).values\n"
        "assert kept['answer'] == result['answer'], kept['answer']\n"
        "assert kept['retrieval'] == result['retrieval'] is not None, kept['retrieval']\n"
        "assert kept['rounds'] == result['rounds'] != [], kept['rounds']\n"
        "assert [c.text for c in kept['given']] == [c.text for c in kept['claims']]\n"
        "assert len(kept['first']) == 1, kept['first']\n"
    )
    strict = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=strict, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Blocked" in done.stderr) == (0, False), done.stderr


def test_a_batch_of_questions_runs_at_once_without_mixing() -> None:
    def reply(prompt: str) -> Any:
        number = max(re.findall(r"Q(\d)\?", prompt))
        if '{"citations"' in prompt:
            return cite(1)
        if "Answer Yes or No" in prompt:
            return "Yes"
        return GOOD if "Assess an answer" in prompt else f"Fact {number} holds."

    def find(query: str) -> list[Passage]:
        number = query[1]
        return [Passage(id=f"p{number}", text=f"Fact {number} holds.")]

    tools = Toolbox(
        ScriptedChatModel(reply),
        retriever=ListRetriever(find),
        entailment=TableEntailment(lambda text, claim: float(claim in text)),
    )
    graph = flow(tools, max_claims=1)
    results = graph.batch([{"question": f"Q{n}?"} for n in range(8)])
    for number, result in enumerate(results):
        assert result["answer"].text == f"Fact {number} holds [1]."
        assert result["answer"].passages[0].id == f"p{number}"
        assert result["retrieval"].passages == result["answer"].passages
