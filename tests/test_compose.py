"""Graphs in graphs: search with one, prove another's answer, remember what was proved."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from typing_extensions import TypedDict

from citeproof import Answer, Toolbox, Verdict, build_r2_mga, build_vanilla, build_vtg
from citeproof.agents.case_recorder import PROVED
from citeproof.compose import remember_with, retrieve_with, verify_with
from citeproof.errors import BudgetExceededError, SettingsError
from citeproof.graphs.llatrieval import build_llatrieval
from citeproof.graphs.proof import build_proof
from citeproof.memory.bank import Bank, Case
from citeproof.runtime.events import AnswerReady, ClaimDrafted
from citeproof.state import QuestionInput
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment
from citeproof.tools.retrieval import from_passages
from tests.agents.one_node import Log
from tests.agents.states import claim
from tests.chain import chain, run
from tests.graphs import r2_mga_scripts
from tests.graphs.scripts import BROKE, BUILT, KEPT, LIT, A, B, C, D, Script
from tests.watching import started, watch

QUESTION = "Who built the tower?"
ASKED: QuestionInput = {"question": QUESTION}
WRONG = "Cy Fox built the tower."


class Own(TypedDict, total=False):
    """The state of a graph that is none of ours."""

    question: str
    documents: list[Any]
    answer: Answer


def drafted(*claims: Any, **changes: Any) -> Any:
    """A graph that gives these claims, cites A to D, and tells what it was asked."""
    asked: list[Own] = []

    def answer(state: Own) -> Own:
        asked.append(state)
        base: dict[str, Any] = {
            "question": state["question"],
            "method": "draft",
            "status": "answered" if claims else "not_found",
            "claims": claims,
            "passages": (A, B, C, D),
        }
        return {"answer": Answer.model_validate({**base, **changes})}

    graph = chain(Own, answer=answer).compile(name="draft")
    graph.asked = asked
    return graph


def nothing(**more: Any) -> Script:
    """What proves, and asks no model."""
    return Script(claims=[], citations=[], **more)


def searching(*questions: str, **found: Any) -> Script:
    """What proves, and looks for evidence with these questions."""
    return nothing(questions=[[question] for question in questions], passages=found)


def proved(script: Script, draft: Any, **parameters: Any) -> Answer:
    graph = verify_with(draft, script.toolbox(), **parameters)
    answer = graph.invoke(ASKED)["answer"]
    assert isinstance(answer, Answer)
    return answer


# verify_with


def test_right_claims_are_proved_by_what_they_cite() -> None:
    script = nothing()
    answer = proved(script, drafted(claim(BUILT, 1), claim(LIT, 2)))
    assert answer.text == "Ann Lee built the tower [1]. The tower was lit in 1871 [2]."
    assert (answer.status, answer.reason, answer.method) == ("answered", "", "draft+proof")
    assert answer.passages == (A, B)
    assert {claim.verdict for claim in answer.claims} == {
        Verdict(status="supported", tier="cited", score=0.9, trials=1)
    }
    assert answer.claims[0].citations[0].sentence == BUILT
    assert (answer.usage.llm_calls, answer.usage.retrievals) == (0, 0)


def test_a_wrong_citation_gives_way_to_the_passage_that_proves_the_claim() -> None:
    answer = proved(nothing(), drafted(claim(LIT, 1)))
    assert (answer.text, answer.passages) == ("The tower was lit in 1871 [1].", (B,))
    assert answer.claims[0].verdict.tier == "memory"


def test_new_evidence_proves_a_claim_in_its_own_words() -> None:
    script = searching("What broke the lamp?", **{"What broke": [D]})
    answer = proved(script, drafted(claim(BROKE, 1), claim(BUILT, 1), passages=(A,)))
    assert answer.text == "A storm broke the lamp in 1902 [1]. Ann Lee built the tower [2]."
    assert answer.passages == (D, A)
    assert answer.claims[0].verdict == Verdict(
        status="supported", tier="memory", score=0.9, trials=2
    )
    assert script.queries == ["What broke the lamp?"]
    assert (answer.usage.llm_calls, answer.usage.retrievals) == (1, 1)


@pytest.mark.parametrize(
    ("policy", "text", "reason"),
    [
        (
            "flag",
            "Cy Fox built the tower [1]. [unverified] The tower was lit in 1871 [2].",
            "1 of 2 claims could not be proved.",
        ),
        (
            "keep",
            "Cy Fox built the tower [1]. The tower was lit in 1871 [2].",
            "1 of 2 claims could not be proved.",
        ),
        ("drop", "The tower was lit in 1871 [1].", "1 unproved claim was left out."),
    ],
)
def test_what_becomes_of_a_claim_that_nothing_proves(policy: str, text: str, reason: str) -> None:
    script = searching("Who is Cy Fox?", "What did he build?", **{"Who is": [C], "What": [D]})
    draft = drafted(claim(WRONG, 1), claim(LIT, 2), passages=(A, B))
    answer = proved(script, draft, max_trials=1, unverified=policy)
    assert (answer.text, answer.status, answer.reason) == (text, "partial", reason)
    assert script.queries == ["Who is Cy Fox?", "What did he build?"]


@pytest.mark.parametrize("stop", ["No passage was found for the question.", "It is late."])
def test_a_draft_that_abstains_passes_its_reason_on(stop: str) -> None:
    script = nothing()
    answer = proved(script, drafted(reason=stop, passages=()))
    assert (answer.status, answer.reason, answer.claims) == ("not_found", stop, ())
    assert (answer.method, script.pairs) == ("draft+proof", [])


def test_cost_and_notes_of_the_draft_are_counted() -> None:
    script = Script(claims=[BUILT, LIT], citations=["one?", "two?"])
    tools = script.toolbox()
    draft = build_vtg(tools, max_claims=1)
    alone = draft.invoke(ASKED)["answer"]
    script.calls.clear()
    answer = verify_with(draft, tools).invoke(ASKED)["answer"]
    assert alone.usage.llm_calls == answer.usage.llm_calls == 3
    assert answer.usage.nli_pairs > 0
    assert answer.usage.retrievals == 1
    assert [note.split(":")[0] for note in answer.notes] == ["citation_generator"]


def test_why_a_draft_is_partial_is_noted() -> None:
    script = Script(claims=[BUILT, LIT], citations=[[1]])
    tools = script.toolbox()
    answer = verify_with(build_vtg(tools, max_calls=3), tools).invoke(ASKED)["answer"]
    assert answer.text == "Ann Lee built the tower [1]."
    assert answer.notes == ("the draft was partial: The budget of 3 calls is spent.",)


def test_a_budget_that_ends_in_the_search_for_evidence_leaves_the_later_claims() -> None:
    """They may be proved without a call."""
    script = Script(claims=[KEPT, BUILT, "DONE"], citations=[[1], [1]])
    tools = script.toolbox()
    draft = build_vtg(tools, verify=False)
    answer = verify_with(draft, tools, max_calls=5).invoke(ASKED)["answer"]
    assert answer.text == f"{KEPT[:-1]} [1]. [unverified] {BUILT[:-1]} [1]."
    spent = "The budget of 5 calls is spent."
    assert (answer.status, answer.reason) == (
        "partial",
        f"{spent} 1 of 2 claims could not be proved.",
    )
    assert answer.usage.llm_calls == 5


def test_a_spent_budget_leaves_what_needs_no_call() -> None:
    script = nothing()
    draft = drafted(claim(BUILT, 1), claim(WRONG, 1), claim(LIT, 2))
    answer = proved(script, draft, max_seconds=1e-9)
    verdicts = [(one.text, one.verdict.status) for one in answer.claims]
    assert verdicts == [(BUILT, "supported"), (WRONG, "unsupported"), (LIT, "supported")]
    spent = "The budget of 1e-09 seconds is spent."
    assert (answer.status, answer.reason) == (
        "partial",
        f"{spent} 1 of 3 claims could not be proved.",
    )


def judge(_: str, claim: str) -> float:
    """A score that needs a call of a language model for claims on light."""
    if "lit" in claim:
        raise BudgetExceededError("The budget of 1 call is spent")
    return 0.9


@pytest.mark.parametrize("alone", [False, True])
def test_a_claim_whose_judge_cannot_be_paid_stays_unchecked(alone: bool) -> None:
    given = (claim(LIT, 2), claim(BUILT, 1), claim(f"{LIT[:-1]}, she said.", 2))
    model = TableEntailment(judge)
    tools = Toolbox(ScriptedChatModel([]), entailment=model, retriever=ListRetriever([]))
    if alone:
        asked: Any = {**ASKED, "given": list(given), "passages": [A, B]}
        claims = build_proof(tools).invoke(asked)["claims"]
    else:
        answer = verify_with(drafted(*given), tools).invoke(ASKED)["answer"]
        assert (answer.status, answer.reason) == (
            "partial",
            "The budget of 1 call is spent. 2 of 3 claims were not checked.",
        )
        claims = answer.claims
    assert [one.text for one in claims] == [one.text for one in given]
    spent = ("unchecked", "The budget of 1 call is spent.")
    assert [(one.verdict.status, one.verdict.reason) for one in claims] == [
        spent,
        ("supported", ""),
        spent,
    ]


async def test_without_a_call_a_claim_is_not_tried_again() -> None:
    """Nothing about it would change."""
    script = searching("Who?")
    draft = drafted(*[claim(text, 1) for text in (WRONG, KEPT, LIT, BUILT)], passages=(A, B))
    graph = verify_with(draft, script.toolbox(), max_calls=1, max_trials=3)
    moments = await watch(graph, ASKED)
    drafts = [own.event for own in moments if isinstance(own.event, ClaimDrafted)]
    assert [(event.text, event.trial) for event in drafts] == [
        *((WRONG, 1), (WRONG, 2)),  # the second time with what the one call has found
        *((KEPT, 1), (LIT, 1), (BUILT, 1)),
    ]
    [answer] = [own.event.answer for own in moments if isinstance(own.event, AnswerReady)]
    verdicts = [(one.verdict.status, one.verdict.trials) for one in answer.claims]
    assert verdicts == [("unsupported", 2), ("unsupported", 1), *[("supported", 1)] * 2]
    assert answer.reason == "The budget of 1 call is spent. 2 of 4 claims could not be proved."


@pytest.mark.parametrize("how", ["defaults", "context"])
def test_a_draft_keeps_to_the_budget_of_the_run_around_it(how: str) -> None:
    script = Script(claims=[BUILT, KEPT, "DONE"], citations=[[1], [1]])
    tools = script.toolbox()
    draft = build_vtg(tools, verify=False, max_calls=99)
    limit: Any = {"max_calls": 2}
    if how == "defaults":
        answer = verify_with(draft, tools, **limit).invoke(ASKED)["answer"]
    else:
        answer = verify_with(draft, tools).invoke(ASKED, context=limit)["answer"]
    assert (answer.text, answer.status) == ("Ann Lee built the tower [1].", "answered")
    assert "the draft was partial: The budget of 2 calls is spent." in answer.notes[0]
    assert answer.usage.llm_calls == 2


def test_documents_are_handed_to_the_draft_and_searched_for_evidence() -> None:
    script = searching("Who kept the light?")
    draft = drafted(claim(KEPT, 1), passages=(A,))
    documents = [KEPT, "Cats sleep."]
    asked: QuestionInput = {"question": QUESTION, "documents": documents}
    answer = verify_with(draft, script.toolbox()).invoke(asked)["answer"]
    assert [(own["question"], own["documents"]) for own in draft.asked] == [(QUESTION, documents)]
    assert answer.text == "Bo Ray kept the light [1]."
    assert [passage.source for passage in answer.passages] == ["document 1"]
    assert script.queries == []


def test_the_parameters_of_a_run_are_not_those_of_the_draft() -> None:
    """Both graphs have knobs of these names, and the draft has others, too."""
    script = Script(claims=[WRONG] * 4, citations=[[1]] * 4, questions=[["?"]] * 9)
    tools = script.toolbox()
    draft = build_vtg(tools, max_trials=1, max_claims=1)
    graph = verify_with(draft, tools, max_trials=5)
    run: Any = {"max_trials": 0, "unverified": "keep"}
    answer = graph.invoke(ASKED, context=run)["answer"]
    assert answer.claims[0].verdict.trials == 2
    assert script.calls == {"claim_generator": 3, "citation_generator": 3, "evidence_finder": 3}


def test_the_graph_shows_the_proof_behind_the_draft() -> None:
    graph = verify_with(drafted(), nothing().toolbox())
    assert set(graph.get_graph().nodes) == {
        *("__start__", "question_reader", "question_rewriter", "draft", "draft_reader", "proof"),
        *("answer_composer", "__end__"),
    }
    assert graph.name == "draft+proof"
    assert verify_with(drafted(), nothing().toolbox(), name="my").name == "my"
    context = graph.get_context_jsonschema()
    assert context is not None
    assert all("default" in knob for knob in context["properties"].values())


def invoked_inside(plain: bool) -> None:
    """A proof of drafts by a node, plain or async, that invokes VANILLA.

    Where it is plain, for more questions at once than a loop's default executor has threads.
    """
    model = ScriptedChatModel(lambda _: "Ann Lee built the tower [1].")
    source = from_passages([A, B])  # which searches in a thread
    tools = Toolbox(model, retriever=source, entailment=nothing().toolbox().entailment)
    vanilla = build_vanilla(tools, shots=0)

    def call(state: Own) -> Own:
        time.sleep(0.1)  # until all the others are here
        return {"answer": vanilla.invoke({"question": state["question"]})["answer"]}

    async def call_from_a_loop(state: Own) -> Own:
        return call(state)

    mine = chain(Own, mine=call if plain else call_from_a_loop).compile(name="mine")
    graph = verify_with(mine, tools)
    many: list[Any] = [ASKED] * 40
    if plain:
        results = graph.batch(many, {"max_concurrency": len(many)})
    else:  # LangGraph runs a node that is async alone only so
        results = [asyncio.run(graph.ainvoke(ASKED))]
    for result in results:
        assert result["answer"].text == "Ann Lee built the tower [1]."


@pytest.mark.parametrize("plain", [False, True])
def test_a_node_of_a_draft_may_invoke_a_graph(plain: bool) -> None:
    """In a process, since threads that wait for each other outlive a test that fails."""
    code = f"from tests.test_compose import invoked_inside; invoked_inside(plain={plain})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", ["sync", "async"])
def test_what_a_draft_cites_is_recorded_only_as_the_outer_answer_cites_it(how: str) -> None:
    log = Log()
    script = Script(claims=[BUILT, WRONG, "DONE"], citations=[[1], [2]], questions=[["?"]] * 3)
    tools = script.toolbox()
    tools.evidence = log  # type: ignore[assignment]
    draft = build_vtg(tools, verify=False)
    graph = verify_with(draft, tools, unverified="drop", max_trials=0)
    run(graph, how, ASKED)
    assert [(r["claim"], r["method"]) for r in log.records] == [(BUILT, "vtg+proof")]


@pytest.mark.parametrize("method", ["vtg", "vtg+memory+proof"])
def test_an_answer_that_is_handed_on_as_it_is_is_recorded_once(bank: Bank, method: str) -> None:
    """And a draft that is handed on is still a draft."""
    log, tools = Log(), Script(claims=[BUILT, "DONE"], citations=[[1]]).toolbox()
    tools.evidence, tools.bank = log, bank  # type: ignore[assignment]
    kept = remember_with(build_vtg(tools), tools)
    (kept if method == "vtg" else verify_with(kept, tools)).invoke(ASKED)
    assert [(r["claim"], r["method"]) for r in log.records] == [(BUILT, method)]


def test_a_draft_is_checkpointed_with_the_run_around_it() -> None:
    own, saver = InMemorySaver(), InMemorySaver()
    tools = Script(claims=[BUILT, "DONE"], citations=[[1]]).toolbox()
    graph = verify_with(build_vtg(tools), tools, checkpointer=saver)
    graph.invoke(ASKED, {"configurable": {"thread_id": "t"}})
    assert list(own.list(None)) == []
    places = {kept.config["configurable"]["checkpoint_ns"] for kept in saver.list(None)}
    assert {place.partition(":")[0] for place in places} == {"", "draft", "proof"}


def test_a_proof_of_a_proof() -> None:
    tools = nothing().toolbox()
    inner = verify_with(drafted(claim(BUILT, 2)), tools)
    answer = verify_with(inner, tools).invoke(ASKED)["answer"]
    assert (answer.method, answer.text) == ("draft+proof+proof", "Ann Lee built the tower [1].")
    assert answer.claims[0].verdict.tier == "cited"


# build_proof


def test_claims_are_proved_by_passages_that_they_do_not_cite() -> None:
    asked: Any = {**ASKED, "passages": [A, B], "given": [claim(LIT, 1)]}
    [proven] = build_proof(nothing().toolbox()).invoke(asked)["claims"]
    assert [citation.passage_id for citation in proven.citations] == ["b"]
    assert proven.verdict == Verdict(status="supported", tier="memory", score=0.9)


# remember_with


def banked(script: Script, bank: Bank) -> Toolbox:
    tools = script.toolbox()
    tools.bank = bank
    return tools


async def test_a_proved_answer_is_remembered(bank: Bank) -> None:
    tools = banked(nothing(), bank)
    flow = remember_with(verify_with(drafted(claim(BUILT, 1), claim(LIT, 2)), tools), tools)
    result = await flow.ainvoke(ASKED)
    [entry] = await bank.cases()
    assert result["case_id"] == entry.id
    assert set(result) == {"question", "messages", "ledger", "answer", "case_id"}
    answer = result["answer"]
    assert entry.case == Case(
        question=QUESTION,
        passages=answer.passages,
        answer=answer.text,
        feedback=PROVED,
        final=answer.text,
        method="draft+proof",
        score=1.0,
    )
    assert flow.name == "draft+proof+memory"


async def test_what_is_remembered_is_shown_to_r2_mga(bank: Bank) -> None:
    tools = banked(nothing(), bank)
    flow = remember_with(verify_with(drafted(claim(BUILT, 1)), tools), tools, namespace="mine")
    assert flow.invoke(ASKED)["case_id"]
    assert await bank.count() == 0
    model = ScriptedChatModel(["Ann Lee built the tower [1]."])
    learner = Toolbox(model, retriever=ListRetriever([A]), entailment=tools.entailment, bank=bank)
    graph = build_r2_mga(learner, namespace="mine", refine=False, rationale=False)
    await graph.ainvoke(ASKED)
    assert "Answer: Ann Lee built the tower [101]." in model.calls[0].prompt


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_draft_leaves_no_case(bank: Bank, how: str) -> None:
    """It may say what the proof then drops; around the draft, the proof is remembered."""
    script = Script(claims=[BUILT, "DONE"] * 2, citations=[[1]] * 2)
    tools = banked(script, bank)
    graph = verify_with(remember_with(build_vtg(tools), tools), tools)
    answer = run(graph, how, ASKED)["answer"]
    assert (answer.status, answer.method) == ("answered", "vtg+memory+proof")
    assert asyncio.run(bank.count()) == 0
    assert run(remember_with(graph, tools), how, ASKED)["case_id"]
    [entry] = asyncio.run(bank.cases())
    assert entry.case.method == "vtg+memory+proof"


async def test_a_draft_of_r2_mga_leaves_no_case_and_is_not_assessed_for_one(bank: Bank) -> None:
    script = r2_mga_scripts.Script(bank=bank)
    tools = script.toolbox()
    answer = (await verify_with(build_r2_mga(tools), tools).ainvoke(ASKED))["answer"]
    assert (answer.text, await bank.count()) == (r2_mga_scripts.FINAL, 0)
    assert script.counts == (1, 1, 1, 1, 0)


async def test_an_answer_of_r2_mga_that_is_handed_on_as_it_is_leaves_its_case(bank: Bank) -> None:
    script = r2_mga_scripts.Script(bank=bank)
    tools = script.toolbox()
    await remember_with(build_r2_mga(tools), tools).ainvoke(ASKED)
    assert r2_mga_scripts.ACTIONS in [entry.case.actions for entry in await bank.cases()]
    assert script.counts == (1, 2, 1, 1, 0)


@pytest.mark.parametrize("is_proved", [True, False])
async def test_the_answer_is_told_once_and_when_it_is_kept(bank: Bank, is_proved: bool) -> None:
    tools = banked(Script(claims=[BUILT, "DONE"], citations=[[1]]), bank)
    flow = remember_with(build_vtg(tools, verify=is_proved), tools)
    moments = await watch(flow, ASKED)
    [told] = [n for n, own in enumerate(moments) if isinstance(own.event, AnswerReady)]
    assert started(moments[:told])[-1] == "case_recorder"
    ready = moments[told].event
    assert isinstance(ready, AnswerReady)
    assert [claim.text for claim in ready.answer.claims] == [BUILT]
    assert await bank.count() == is_proved


def test_without_a_bank_there_is_no_memory() -> None:
    with pytest.raises(SettingsError, match="no memory bank to remember with"):
        remember_with(drafted(), nothing().toolbox())


def test_a_second_question_on_a_thread_has_a_case_of_its_own(bank: Bank) -> None:
    tools, saver = banked(nothing(), bank), InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    proof = verify_with(drafted(claim(BUILT, 1)), tools)
    first = remember_with(proof, tools, checkpointer=saver).invoke(ASKED, config)
    assert first["case_id"]
    unproved = remember_with(drafted(claim(LIT, 2)), tools, checkpointer=saver)
    second = unproved.invoke({"question": "When?"}, config)
    assert (second["answer"].text, second["case_id"]) == ("", "")
    assert second["answer"].question == "When?"


# retrieve_with, and all three


def test_retrieve_with_leaves_the_tools_as_they_are() -> None:
    tools = nothing().toolbox()
    over = retrieve_with(build_llatrieval(tools), tools)
    assert over.retriever is not tools.retriever
    assert (over.entailment, over.llm) == (tools.entailment, tools.llm)


@pytest.mark.parametrize("form", ["list", "short"])
def test_a_graph_that_answers_with_names_cannot_be_part_of_another(form: Any, bank: Bank) -> None:
    tools = banked(nothing(), bank)
    for compose in (verify_with, remember_with):
        with pytest.raises(SettingsError, match=f"vanilla cannot be part.*not sentences.*{form}"):
            compose(build_vanilla(tools, form=form), tools)


def test_what_another_graph_claims_is_reviewed_by_the_outer_one() -> None:
    script = searching("Who?", "Who?")
    draft = drafted(claim(WRONG, 1), claim(BUILT, 1))
    graph = verify_with(
        draft, script.toolbox(), review=True, max_trials=0, checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "t"}}
    [interrupt] = graph.invoke(ASKED, thread)["__interrupt__"]
    assert interrupt.value["claim"]["text"] == WRONG
    answer = graph.invoke(Command(resume={"decision": "drop"}), thread)["answer"]
    assert answer.text == "Ann Lee built the tower [1]."
    assert len(draft.asked) == 1, "the draft is not written anew on a resume"


def test_a_claim_that_the_budget_leaves_unproved_is_reviewed() -> None:
    graph = verify_with(
        drafted(claim(WRONG, 1), claim(KEPT, 1), passages=(A, B)),
        searching("Who?").toolbox(),
        review=True,
        max_trials=0,
        max_calls=1,
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "t"}}
    drop: Any = Command(resume={"decision": "drop"})
    shown = [graph.invoke(given, thread)["__interrupt__"] for given in (ASKED, drop)]
    assert [interrupt.value["claim"]["text"] for [interrupt] in shown] == [WRONG, KEPT]


async def test_the_three_together(bank: Bank) -> None:
    """LLatrieval finds, VANILLA writes, VTG proves, R²-MGA's bank keeps."""
    model = ScriptedChatModel(
        {
            "retrieval_verifier": ["No", "Yes"],
            "document_selector": [{"numbers": [1, 3]}],
            "evidence_finder": [{"questions": ["What broke the lamp?"]}],
            "": [f"{BUILT[:-1]} [2]. {KEPT[:-1]} [2]. {BROKE[:-1]} [1]."],
        }
    )
    retriever = ListRetriever({"lamp": [D], "": [A, B, C]})
    entailment = nothing().toolbox().entailment
    tools = Toolbox(model, retriever=retriever, entailment=entailment, bank=bank)
    search = build_llatrieval(tools, k=2, verify_first=True, summarize=False)
    draft = build_vanilla(retrieve_with(search, tools), shots=0)
    flow = remember_with(verify_with(draft, tools, unverified="drop"), tools)
    result = await flow.ainvoke(ASKED)
    answer = result["answer"]
    assert answer.text == (
        "Ann Lee built the tower [1]. Bo Ray kept the light [2]. "
        "A storm broke the lamp in 1902 [3]."
    )
    assert (answer.status, answer.method) == ("answered", "vanilla+proof")
    assert answer.passages == (A, C, D)
    assert [claim.verdict.tier for claim in answer.claims] == ["memory", "cited", "memory"]
    assert retriever.queries == [QUESTION, "What broke the lamp?"]
    assert answer.usage.llm_calls == len(model.calls) == 5
    [entry] = await bank.cases()
    assert (entry.id, entry.case.final) == (result["case_id"], answer.text)
