"""CaLM's five steps (section 4), branch by branch, on scripted models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from citeproof import Answer, Toolbox
from citeproof.graphs.calm import PAPER_PARAMETERS, CaLMParameters, build_calm
from citeproof.runtime.events import (
    ClaimRejected,
    ClaimVerified,
    EvidenceFound,
    LLMCalled,
)
from citeproof.runtime.meter import check_budget
from citeproof.testing import ScriptedChatModel, TableEntailment
from citeproof.text import count
from citeproof.tools.entailment import Pair
from tests.graphs.calm_scripts import POOL, WRONG, Script, told
from tests.watching import finished, watch

MAIN, VERIFIER = "answerer", "verifier_lm"


# The steps


def test_two_answers_that_agree_end_the_run() -> None:
    """The main LM reads the top of the pool, the verifier what is cited."""
    script = Script(answerer=[told(1, 3)], verifier_lm=[told(1, 3)])
    answer, rounds = script.run(pool=7)
    assert (script.shown(MAIN), script.shown(VERIFIER)) == ([[1, 2, 3]], [[1, 3]])
    assert script.retriever.queries == ["What is told?"]
    assert answer.text == "Fact 1 is told here [1]. Fact 3 is told here [2]."
    assert (answer.method, answer.status, answer.reason) == ("calm", "answered", "")
    assert answer.passages == (POOL[0], POOL[2])
    assert script.counts == (1, 1)
    [found] = rounds
    assert (found.number, found.rouge_2, found.agreed) == (1, 1.0, True)
    assert [claim.verdict.reason for claim in answer.claims] == [
        "corroborated by the verifier LM, not by entailment: “Fact 1 is told here.”",
        "corroborated by the verifier LM, not by entailment: “Fact 3 is told here.”",
    ]


def test_what_is_not_corroborated_goes_and_its_passages_with_it() -> None:
    """Round 1 keeps fact 2 of 1 to 3; round 2 reads passage 2, then 4 and 5, which are new."""
    script = Script(
        answerer=[told(1, 2) + " Unheard of things went on there [3].", told(2, 4)],
        verifier_lm=["Fact 2 is told here [2].", told(2, 4)],
    )
    answer, rounds = script.run(statement_threshold=0.9)
    assert script.shown(MAIN) == [[1, 2, 3], [2, 4, 5]]
    assert script.shown(VERIFIER) == [[1, 2, 3], [2, 4]]
    assert [found.agreed for found in rounds] == [False, True]
    assert [(s.statement, s.corroborated, s.by) for s in rounds[0].statements] == [
        ("Fact 1 is told here.", False, "Fact 2 is told here."),
        ("Fact 2 is told here.", True, "Fact 2 is told here."),
        ("Unheard of things went on there.", False, ""),
    ]
    assert answer.text == "Fact 2 is told here [1]. Fact 4 is told here [2]."
    assert {claim.verdict.trials for claim in answer.claims} == {2}


# The end of the rounds


@pytest.mark.parametrize(
    ("most", "counts"), [(0, 1), (1, 1), (2, 2), (CaLMParameters().max_rounds, 4)]
)
def test_at_most_t_answers_and_one_verifier_call_less(most: int, counts: int) -> None:
    main = [f"Nobody ever wrote number {n} down [{n}]." for n in range(1, counts + 1)]
    script = Script(answerer=main, verifier_lm=["Something else."] * (counts - 1))
    answer, rounds = script.run(max_rounds=most, k=1)
    assert script.counts == (counts, counts - 1)
    assert len(rounds) == counts - 1
    last = f"Nobody ever wrote number {counts} down [1]."
    assert (answer.text, answer.status) == (last, "partial")
    assert [claim.verdict.reason for claim in answer.claims] == ["nothing has checked this claim"]
    times = f"{counts - 1} round" + "s" * (counts > 2)
    unverified = f"No agreement in {times}; the answer is the last, which was not verified."
    assert answer.reason == (unverified if rounds else "No verifier LM has read this answer.")


def test_an_exhausted_pool_ends_the_run_with_what_there_is_and_says_so() -> None:
    script = Script(
        answerer=[WRONG, told(4)], verifier_lm=["Something else.", "x"], passages={"": POOL[:4]}
    )
    answer, rounds = script.run()
    assert script.shown(MAIN) == [[1, 2, 3], [4]]
    assert script.counts == (2, 2)
    assert (answer.text, answer.status) == ("Fact 4 is told here [1].", "partial")
    assert answer.reason == "All 4 passages were read before the two models agreed."
    assert answer.claims[0].verdict.reason == "the verifier LM does not say this"
    assert len(rounds) == 2


# Lists


def test_a_list_keeps_the_names_that_both_models_give() -> None:
    script = Script(
        answerer=[
            "The Fog [1], Halloween [2], Dark Star [3]",
            "Final answer: Halloween [2], Cat [4]",
        ],
        verifier_lm=["halloween [2], Christine [1]", "Halloween [2], Cat [4]."],
    )
    answer, rounds = script.run(form="list")
    assert "Draft: Halloween [2]\n" in script.calls(MAIN)[1].prompt
    assert script.shown(MAIN) == [[1, 2, 3], [2, 4, 5]]
    assert answer.text == "Halloween [1], Cat [2]"
    assert [claim.text for claim in answer.claims] == ["Halloween", "Cat"]
    assert [s.corroborated for s in rounds[0].statements] == [False, True, False]
    assert all("List the answers" in call.prompt for call in script.calls(VERIFIER))


# Ablations


def test_without_verification_the_first_answer_stands() -> None:
    script = Script(answerer=[told(1)])
    answer, rounds = script.run(verify=False)
    assert (script.counts, rounds) == ((1, 0), [])
    assert (answer.status, answer.reason) == ("partial", "No verifier LM has read this answer.")


@pytest.mark.parametrize(
    ("knobs", "main", "verifier"),
    [
        ({}, [[1, 2, 3]], [[1]]),
        ({"cited_only": False}, [[1, 2, 3]], [[1, 2, 3]]),
        ({"small_verifier": False}, [[1, 2, 3], [1]], []),
    ],
)
def test_the_verifier_reads_what_is_cited_or_all_and_may_be_the_main_lm(
    knobs: dict[str, Any], main: list[list[int]], verifier: list[list[int]]
) -> None:
    script = Script(answerer=[told(1)] * 2, verifier_lm=[told(1)])
    answer, _ = script.run(**knobs)
    assert (script.shown(MAIN), script.shown(VERIFIER)) == (main, verifier)
    assert answer.status == "answered"


# Models, input, budgets, parameters


async def test_one_model_serves_both_roles_where_none_is_set_apart() -> None:
    model = ScriptedChatModel([WRONG, "Something else.", told(4), told(4)])
    graph = build_calm(Toolbox(model, retriever=Script(answerer=[]).retriever), k=3, prove=False)
    events: list[Any] = [
        e async for e in graph.astream({"question": "What?"}, stream_mode="custom")
    ]
    roles = [e.role for e in events if isinstance(e, LLMCalled)]
    assert roles == [MAIN, VERIFIER, MAIN, VERIFIER], "corrections are the main LM's"
    assert events[-1].answer.status == "answered"


@pytest.mark.parametrize(
    ("calls", "verdict"), [(1, "nothing has checked this claim"), (2, "corroborated")]
)
def test_a_budget_of_calls_ends_the_run_with_the_last_answer(calls: int, verdict: str) -> None:
    """At one call the verifier is not asked; at two the correction is not written."""
    script = Script(answerer=[told(1, 2)], verifier_lm=[told(1) + " And quite another thing [1]."])
    answer, rounds = script.run(max_calls=calls, threshold=1.0)
    assert (answer.text, answer.status) == (told(1, 2), "partial")
    assert answer.reason == f"The budget of {count(calls, 'call')} is spent."
    assert answer.usage.llm_calls == calls
    assert len(rounds) == calls - 1
    assert answer.claims[0].verdict.reason.startswith(verdict)


def test_two_models_agree_on_a_short_answer_that_is_the_same() -> None:
    """A single word has no bigram, so ROUGE-2 is 0."""
    script = Script(
        answerer=["Bergen [1]", "Wrong. Final answer: the Bergen [4]"],
        verifier_lm=["Oslo", "Bergen"],
    )
    answer, rounds = script.run(form="short", max_rounds=4)
    assert [one.agreed for one in rounds] == [False, True]
    assert "Final answer:" in script.calls("answerer")[1].prompt
    assert answer.text == "the Bergen [1]"


@pytest.mark.parametrize("data", PAPER_PARAMETERS)
def test_both_models_are_shown_the_papers_examples(data: str) -> None:
    prose = PAPER_PARAMETERS[data]["form"] == "prose"
    second = told(1) if prose else "Final answer: Fact 1 [1]"
    script = Script(answerer=[WRONG, second], verifier_lm=[told(2), told(2)])
    script.run(**{**PAPER_PARAMETERS[data], "max_rounds": 2})
    first, correction = (call.prompt for call in script.calls("answerer"))
    [verifier] = (call.prompt for call in script.calls("verifier_lm"))
    assert first.count("An example of an answer") == verifier.count("An example of an answer") == 2
    assert correction.count("An example of such a correction") == 1
    assert correction.count("Correct a draft") == 2
    assert correction.count("rests on the first passage, number 1") == 1


# What a run tells and keeps


async def test_the_trace_tells_each_rounds_agreement_and_what_was_corroborated() -> None:
    script = Script(answerer=[told(1) + " " + WRONG, told(1)], verifier_lm=[told(1), told(1)])
    graph = build_calm(script.toolbox(), k=3, threshold=0.9, prove=False)
    moments = await watch(graph, {"question": "What?"})
    events = [moment.event for moment in moments]
    contrasted = [own for own in finished(moments) if own.node == "agreement_checker"]
    assert "number=2, rouge_2=1.0, agreed=True" in contrasted[1].writes["rounds"]
    assert [(e.text, e.verdict.reason) for e in events if isinstance(e, ClaimVerified)][:2] == [
        (
            "Fact 1 is told here.",
            "corroborated by the verifier LM, not by entailment: “Fact 1 is told here.”",
        ),
        ("Nobody ever wrote anything like that down.", "the verifier LM does not say this"),
    ]
    assert [e.text for e in events if isinstance(e, ClaimRejected)] == [
        "Nobody ever wrote anything like that down."
    ]
    found = [e.passages for e in events if isinstance(e, EvidenceFound)]
    assert found == [(POOL[3], POOL[4])]


def proved(script: Script, entailment: TableEntailment, **parameters: Any) -> Answer:
    """The answer of a run whose final claims are checked."""
    tools = script.toolbox(entailment=entailment)
    answer = build_calm(tools, k=3, **parameters).invoke({"question": "What is told?"})["answer"]
    assert isinstance(answer, Answer)
    return answer


def test_the_final_claims_are_proved_and_corroboration_alone_is_no_proof() -> None:
    script = Script(answerer=[told(1, 2)], verifier_lm=[told(1, 2)])
    entailment = TableEntailment(lambda text, claim: 0.9 if "Fact 1" in text + claim else 0.1)
    answer = proved(script, entailment)
    assert [claim.verdict.status for claim in answer.claims] == ["supported", "unsupported"]
    assert (answer.status, answer.reason) == ("partial", "1 of 2 claims could not be proved.")
    assert answer.usage.nli_pairs == 2


def test_a_budget_that_the_proof_spends_is_told_though_the_models_agreed() -> None:
    class Judging(TableEntailment):
        """Has to call a language model, which a spent budget does not allow."""

        async def scores(self, pairs: Sequence[Pair]) -> list[float]:
            check_budget()
            return await super().scores(pairs)

    script = Script(answerer=[told(1)], verifier_lm=[told(1)])
    answer = proved(script, Judging(lambda *_: 0.9), max_calls=2)
    assert (answer.status, answer.reason) == ("partial", "The budget of 2 calls is spent.")
    assert answer.claims[0].verdict.reason.startswith("corroborated by the verifier LM")


def test_a_passage_that_an_earlier_turn_cited_is_not_read_twice() -> None:
    class Talk(Script):
        usual: ClassVar = {**Script.usual, "question_rewriter": ["What more?"]}
        found: ClassVar = {"What is told?": POOL[:1], "What more?": POOL[1:5]}

    script = Talk(
        answerer=[told(1), f"{told(3)} {WRONG}", told(3)],
        verifier_lm=[told(1), f"{told(3)} It rained on that very day [1]."],
    )
    graph = build_calm(
        script.toolbox(), k=2, max_rounds=2, prove=False, checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": "What is told?"}, thread)
    graph.invoke({"question": "And what more?"}, thread)
    assert script.shown(MAIN) == [[1], [1, 2, 3], [3, 4]]
    assert script.shown(VERIFIER) == [[1], [1, 3]]
