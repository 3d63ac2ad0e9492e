"""Algorithm 1, branch by branch, on scripted models."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof import Passage, Toolbox, Verdict, build_composed, build_vtg
from citeproof.errors import SettingsError
from citeproof.testing import Choice, ListRetriever, ScriptedChatModel, TableEntailment
from citeproof.tools.entailment.judge import Judge
from citeproof.tools.llm.model import LLM
from tests.graphs.scripts import BROKE, BUILT, KEPT, LIT, A, B, C, D, Script

WRONG = "Cy Fox built the tower."
SEARCHLESS: Any = {build_composed: {"search": False}}


def verdicts(answer: Any) -> list[Verdict]:
    return [claim.verdict for claim in answer.claims]


def test_both_tiers_fail_until_the_claim_is_accepted_unverified() -> None:
    """T = 1 allows three trials: `t > T` is meant literally."""
    script = Script(
        claims=[WRONG, WRONG, WRONG, LIT, "DONE"],
        citations=[[1], [1], [1], [2]],
        questions=[["Who is Cy Fox?"], ["What did Cy Fox build?"]],
    )
    graph = build_vtg(script.toolbox(), max_trials=1)
    events: list[Any] = list(graph.stream({"question": "Who?"}, stream_mode="custom"))
    told = [event.type for event in events]
    assert told.count("claim_rejected") == 2, "one that is accepted is not said to be taken back"
    assert told[-1] == "answer_ready"
    answer = events[-1].answer
    assert answer.text == (
        "Cy Fox built the tower [1]. [unverified] The tower was lit in 1871 [2]."
    )
    assert verdicts(answer) == [
        Verdict(status="unsupported", tier="memory", score=0.1, trials=3),
        Verdict(status="supported", tier="cited", score=0.9, trials=1),
    ]
    assert answer.status == "partial"
    assert answer.reason == "1 of 2 claims could not be proved."
    assert script.calls["evidence_finder"] == 2


def test_new_evidence_proves_the_claim_that_is_written_anew() -> None:
    script = Script(
        claims=["The lamp broke.", BROKE, "DONE"],
        citations=[[1], [3]],
        questions=[["When did the lamp break?", "What broke the lamp?"]],
        passages={"": [A, B], "When did": [D], "What broke": [D, C]},
    )
    answer = script.run()
    assert answer.text == "A storm broke the lamp in 1902 [1]."
    assert answer.passages == (D,)
    assert verdicts(answer) == [Verdict(status="supported", tier="cited", score=0.9, trials=2)]
    assert script.queries[1:] == ["When did the lamp break?", "What broke the lamp?"]
    assert answer.usage.retrievals == 3


def test_a_budget_that_ends_in_the_trimming_keeps_the_proved_claim() -> None:
    model = ScriptedChatModel(
        {
            "citation_generator": [{"citations": [1, 2]}],
            "claim_generator": [BUILT],
            "judge": Choice(Yes=0.9, No=0.1),
        }
    )
    judge = Judge(LLM(model, role="judge"))
    tools = Toolbox(model, retriever=ListRetriever(lambda _: [A, B]), entailment=judge)
    answer = build_vtg(tools, max_calls=3).invoke({"question": "Who built the tower?"})["answer"]
    assert answer.text == "Ann Lee built the tower [1][2]."
    assert answer.reason == "The budget of 3 calls is spent."
    assert any("not trimmed" in told for told in answer.notes)


@pytest.mark.parametrize(
    ("claims", "text"),
    [
        (["DONE"], ""),
        ([""], ""),
        (["[1]"], ""),
        ([BUILT, "Ann Lee built the tower!"], "Ann Lee built the tower [1]."),
    ],
)
def test_an_end_token_an_empty_reply_or_a_repetition_ends_the_answer(
    claims: list[str], text: str
) -> None:
    script = Script(claims=claims, citations=[[1]])
    answer = script.run()
    assert (answer.text, answer.status) == (text, "answered" if text else "not_found")
    if not text:
        assert answer.reason == "The passages that were found do not answer the question."
    assert script.calls["claim_generator"] == len(claims)


@pytest.mark.parametrize(("numbers", "tier"), [([9, 0, -1, 1, 1], "cited"), ([7, 8], "memory")])
def test_citations_to_numbers_that_do_not_exist_are_dropped(numbers: list[int], tier: str) -> None:
    answer = Script(claims=[BUILT, "DONE"], citations=[numbers]).run()
    assert (answer.text, answer.passages) == ("Ann Lee built the tower [1].", (A,))
    assert verdicts(answer)[0].tier == tier


ALL = "The tower has a light and a keeper."


def test_at_most_three_passages_are_cited() -> None:
    script = Script(
        claims=[ALL, "DONE"],
        citations=[[1, 2, 3, 4]],
        needs={ALL: [BUILT, LIT, KEPT]},
        passages={"": [A, B, C, D]},
    )
    answer = script.run(k=4)
    assert answer.passages == (A, B, C)


def test_a_dropped_claim_is_named_and_not_offered_again() -> None:
    script = Script(
        claims=[WRONG, WRONG, BUILT, "DONE"], citations=[[1], [1], [1]], questions=[["Who?"]]
    )
    answer = script.run(max_trials=0, unverified="drop")
    assert answer.text == "Ann Lee built the tower [1]."
    assert answer.status == "partial"
    assert answer.reason == "1 unproved claim was left out."
    assert answer.notes == (f"dropped, not verified: {WRONG}",)
    third = [prompt for node, prompt in script.prompts if node == "claim_generator"][2]
    assert f"- {WRONG}" in third


@pytest.mark.parametrize(
    ("after", "text"), [([WRONG] * 28, ""), ([BUILT, "DONE"], "Ann Lee built the tower [1].")]
)
def test_a_dropped_claim_that_is_written_again_ends_the_answer_but_part_of_it_may_stand(
    after: list[str], text: str
) -> None:
    """What was dropped may have said more than the passages do."""
    wrong = WRONG if after[0] == WRONG else "Ann Lee built the tower of marble."
    script = Script(claims=[wrong] * 2 + after, citations=[[1]] * 9, questions=[["Who?"]] * 9)
    answer = script.run(unverified="drop", max_trials=0)
    assert (answer.text, answer.notes) == (text, (f"dropped, not verified: {wrong}",))
    assert script.calls["claim_generator"] <= 4


@pytest.mark.parametrize(
    ("replies", "knobs", "calls"),
    [
        ({"questions": ["?", "what?"]}, {}, {"evidence_finder": 2}),
        ({}, {"diverse_queries": False}, {"evidence_finder": 0}),
        ({"citations": ["one", "no idea", [1]]}, {"diverse_queries": False}, {}),
    ],
    ids=["unreadable questions", "none asked for", "unreadable citations"],
)
def test_an_unreadable_reply_is_asked_for_once_more_then_done_without(
    replies: dict[str, Any], knobs: dict[str, Any], calls: dict[str, int]
) -> None:
    script = Script(**{"claims": [WRONG, BUILT, "DONE"], "citations": [[1], [1]], **replies})
    answer = script.run(**knobs)
    assert answer.text == "Ann Lee built the tower [1]."
    assert script.queries[1:] == [WRONG]
    assert calls.items() <= {"evidence_finder": 0, **script.calls}.items()
    unread = {"questions": "evidence_finder", "citations": "citation_generator"}
    assert [note.split(":")[0] for note in answer.notes] == [unread[key] for key in replies]


def test_rejected_drafts_are_shown_to_the_writer() -> None:
    script = Script(claims=[WRONG, BUILT, "DONE"], citations=[[1], [1]], questions=[["Who?"]])
    script.run()
    first, second, third = (p for node, p in script.prompts if node == "claim_generator")
    assert f"- {WRONG}" not in first
    assert f"- {WRONG}" in second
    assert f"- {WRONG}" not in third


def test_the_sentence_limit_ends_the_answer() -> None:
    script = Script(claims=[BUILT, LIT], citations=[[1], [2]])
    assert len(script.run(max_claims=2).claims) == 2
    assert script.calls["claim_generator"] == 2


@pytest.mark.parametrize(
    ("most", "told"), [(2, "2"), (3, "3"), (4, "four"), (6, "four"), (7, "7"), (20, "20")]
)
def test_the_writer_is_told_the_sentence_limit(most: int, told: str) -> None:
    """Unless it is near the usual one."""
    script = Script(claims=["DONE"], citations=[])
    script.run(max_claims=most)
    [(_, prompt)] = script.prompts
    assert f", {told} at the most, and stop there." in prompt


def test_all_prompts_of_a_run_share_their_beginning() -> None:
    script = Script(
        claims=["One.", KEPT, "DONE"],
        citations=[[1], [3]],
        questions=[["who?"]],
        passages={"": [A, B], "who?": [C]},
    )
    script.run()
    first = script.prompts[0][1]
    shared = first[: first.rindex("</passage>")]
    assert BUILT in shared
    assert all(prompt.startswith(shared) for _, prompt in script.prompts)


# Ablations (Table 3)


def test_without_the_verifier_claims_are_unchecked() -> None:
    script = Script(claims=[WRONG, "DONE"], citations=[[1, 2]])
    answer = script.run(verify=False, unverified="keep")
    assert answer.text == "Cy Fox built the tower [1][2]."
    assert (answer.status, answer.reason) == ("partial", "The claim was not checked.")
    assert verdicts(answer)[0].status == "unchecked"
    assert verdicts(answer)[0].score is None
    assert script.pairs == []


def test_without_memory_no_evidence_is_looked_for() -> None:
    script = Script(claims=[WRONG, WRONG, BUILT, "DONE"], citations=[[1], [1], [1]])
    answer = script.run(memory=False, max_trials=1)
    assert script.queries == ["Who built the tower?"]
    assert verdicts(answer)[0].trials == 3


@pytest.mark.parametrize(("simplify", "marks"), [(True, "[1]"), (False, "[1][2]")])
def test_without_the_simplifier_all_citations_stay(simplify: bool, marks: str) -> None:
    script = Script(claims=[LIT, "DONE"], citations=[[1, 2]])
    assert script.run(simplify=simplify).text == f"The tower was lit in 1871 {marks}."


@pytest.mark.parametrize("simplify", [True, False])
@pytest.mark.parametrize(("quote_below", "score"), [(0.0, 0.9), (0.9, 0.9), (0.91, 1.0)])
def test_a_claim_in_doubt_is_quoted(quote_below: float, score: float, simplify: bool) -> None:
    script = Script(claims=[LIT, "DONE"], citations=[[2]])
    answer = script.run(quote_below=quote_below, simplify=simplify)
    assert answer.text == "The tower was lit in 1871 [1]."
    [verdict] = verdicts(answer)
    assert (verdict.score, bool(verdict.reason)) == (score, score == 1.0)


def test_a_failed_claim_gives_way_to_a_quote_before_it_is_written_again() -> None:
    answers = TableEntailment(lambda premise, _: 0.82 if "built" in premise else 0.1)
    wrong = "The tower was built by Ann Lee's brother."
    script = Script(claims=[wrong, "DONE"], citations=[[1]])
    graph = build_vtg(script.toolbox(answerability=answers))
    answer = graph.invoke({"question": "Who made the lighthouse?"})["answer"]
    assert answer.text == "Ann Lee built the tower [1]."
    assert (script.calls["claim_generator"], script.calls["evidence_finder"]) == (2, 0)


@pytest.mark.parametrize(
    ("yes", "written", "text", "status"),
    [
        (0.1, 0, "", "not_found"),
        (0.4, 2, "Ann Lee built the tower [1].", "partial"),
        (0.9, 2, "Ann Lee built the tower [1].", "answered"),
    ],
)
def test_passages_that_may_answer_are_tried_and_the_answer_says_so(
    yes: float, written: int, text: str, status: str
) -> None:
    answers = TableEntailment(lambda premise, _: 0.55 if "built" in premise else 0.1)
    judge = ScriptedChatModel(lambda _: Choice(Yes=yes, No=1 - yes))
    script = Script(claims=[BUILT, "DONE"], citations=[[1]])
    tools = script.toolbox(answerability=answers, roles={"judge": judge})
    answer = build_vtg(tools).invoke({"question": "Who made the tower?"})["answer"]
    assert (answer.text, answer.status) == (text, status)
    assert script.calls["claim_generator"] == written
    assert answer.reason.startswith("It is not sure that the passages") is (yes == 0.4)


@pytest.mark.parametrize("build", [build_vtg, build_composed])
@pytest.mark.parametrize(
    ("claims", "off", "text"),
    [
        (["DONE"], {}, "Ann Lee built the tower [1]."),
        (["DONE"], {"quote_above": 1.0}, ""),
        (["DONE"], {"check_answer": False}, ""),
        (["DONE"], {"may_abstain": True}, ""),
        ([LIT, "DONE"], {}, "The tower was lit in 1871 [1]."),
    ],
)
def test_a_writer_that_finds_nothing_gives_way_to_the_likeliest_sentence(
    build: Any, claims: list[str], off: dict[str, Any], text: str
) -> None:
    answers = TableEntailment(lambda premise, _: 0.7 if "built" in premise else 0.1)
    judge = ScriptedChatModel(lambda _: Choice(Yes=0.9, No=0.1))
    script = Script(claims=claims, citations=[[2]])
    options = {**SEARCHLESS.get(build, {}), **off}
    graph = build(script.toolbox(answerability=answers, roles={"judge": judge}), **options)
    answer = graph.invoke({"question": "Who made the tower?"})["answer"]
    assert answer.text == text
    assert script.calls["claim_generator"] >= 1


STEPS = Passage(id="s", title="Steps", text="To light it:\n1. Open the lid.\n2. Strike a match.")


@pytest.mark.parametrize("build", [build_vtg, build_composed])
@pytest.mark.parametrize(
    ("question", "word", "text"),
    [
        ("Who made the tower?", "built", "Ann Lee built the tower [1]."),
        ("How do I light it?", "match", "To light it [1]:\nOpen the lid [1]. Strike a match [1]."),
    ],
)
def test_the_sentence_or_list_that_surely_answers_is_quoted_and_nothing_is_written(
    build: Any, question: str, word: str, text: str
) -> None:
    answers = TableEntailment(lambda premise, _: 0.9 if word in premise else 0.1)
    script = Script(claims=[], citations=[], passages={"": [A, STEPS]})
    graph = build(script.toolbox(answerability=answers), **SEARCHLESS.get(build, {}))
    answer = graph.invoke({"question": question})["answer"]
    assert (answer.text, answer.status) == (text, "answered")
    assert script.calls["claim_generator"] == 0


def test_lists_are_not_quoted_if_that_is_off() -> None:
    answers = TableEntailment(lambda premise, _: 0.9 if "match" in premise else 0.1)
    script = Script(claims=[LIT, "DONE"], citations=[[3]], passages={"": [A, STEPS, B]})
    graph = build_vtg(script.toolbox(answerability=answers), quote_lists=False)
    answer = graph.invoke({"question": "How do I light the lamp?"})["answer"]
    assert answer.text == "The tower was lit in 1871 [1]."


# Review

THREAD: Any = {"configurable": {"thread_id": "t"}}


def doubted(*more: str, **parameters: Any) -> tuple[Script, Any]:
    """A script whose first claim fails twice, and a graph that then waits for a person."""
    script = Script(
        claims=[WRONG, WRONG, *more, "DONE"], citations=[[1], [1], [2]], questions=[["Who?"]]
    )
    parameters = {"review": True, "max_trials": 0, "checkpointer": InMemorySaver(), **parameters}
    return script, build_vtg(script.toolbox(), **parameters)


def waiting(result: Any) -> Any:
    """What a person is shown."""
    [interrupt] = result["__interrupt__"]
    return interrupt.value


def decide(graph: Any, decision: str, text: str = "") -> Any:
    return graph.invoke(Command(resume={"decision": decision, "text": text}), THREAD)


def test_a_claim_that_nothing_proves_waits_for_a_person() -> None:
    script, graph = doubted()
    shown = waiting(graph.invoke({"question": "Who built the tower?"}, THREAD))
    assert shown["claim"]["text"] == WRONG
    assert shown["claim"]["verdict"]["trials"] == 2
    assert [passage["id"] for passage in shown["passages"]] == ["a"]
    assert graph.get_state(THREAD).next == ("reviewer",)
    assert script.calls == {"claim_generator": 2, "citation_generator": 2, "evidence_finder": 1}


def test_an_approved_claim_stands_and_is_not_said_to_be_proved() -> None:
    script, graph = doubted(LIT, unverified="drop")
    graph.invoke({"question": "Who built the tower?"}, THREAD)
    answer = decide(graph, "approve")["answer"]
    assert answer.text == "Cy Fox built the tower [1]. The tower was lit in 1871 [2]."
    assert (answer.status, answer.reason) == ("partial", "1 of 2 claims could not be proved.")
    assert verdicts(answer)[0].reason == "approved by a person"
    assert answer.usage.llm_calls == sum(script.calls.values()) == 8, "none is repeated"


def test_a_claim_that_a_person_drops_is_left_out_and_not_offered_again() -> None:
    script, graph = doubted(LIT, unverified="keep")
    graph.invoke({"question": "Who built the tower?"}, THREAD)
    answer = decide(graph, "drop")["answer"]
    assert (answer.text, answer.reason) == (f"{LIT[:-1]} [1].", "1 unproved claim was left out.")
    assert answer.notes == (f"dropped, not verified: {WRONG}",)
    assert f"- {WRONG}" in script.prompts[-1][1]


def test_an_edited_claim_is_proved_like_any_other() -> None:
    script, graph = doubted()
    graph.invoke({"question": "Who built the tower?"}, THREAD)
    answer = decide(graph, "edit", f"{BUILT[:-1]} [7].")["answer"]
    assert (answer.status, answer.text) == ("answered", "Ann Lee built the tower [1].")
    assert verdicts(answer) == [Verdict(status="supported", tier="cited", score=0.9, trials=3)]
    assert script.calls["evidence_finder"] == 1
    assert answer.usage.nli_pairs == 2 * (1 + 2 + 1) + 1


def test_an_edited_claim_that_fails_comes_back() -> None:
    script, graph = doubted()
    graph.invoke({"question": "Who built the tower?"}, THREAD)
    shown = waiting(decide(graph, "edit", "Cy Fox helped."))
    assert (shown["claim"]["text"], shown["claim"]["verdict"]["trials"]) == ("Cy Fox helped.", 3)
    answer = decide(graph, "approve")["answer"]
    assert answer.text == "Cy Fox helped [1]. [unverified]"
    assert script.calls["evidence_finder"] == 1
    third = [prompt for node, prompt in script.prompts if node == "claim_generator"][2]
    assert WRONG not in third


def test_a_review_without_a_checkpointer_is_refused_before_anything_is_asked() -> None:
    script, graph = doubted(checkpointer=None)
    with pytest.raises(SettingsError, match="A review needs a checkpointer"):
        graph.invoke({"question": "Who?"})
    assert (script.calls, script.queries) == ({}, [])
    assert doubted(checkpointer=None, review=False)[1].invoke({"question": "Who?"})["answer"].claims


def test_a_run_may_ask_for_a_review() -> None:
    _, graph = doubted(review=False)
    shown = graph.invoke({"question": "Who?"}, THREAD, context={"review": True, "max_trials": 0})
    assert waiting(shown)["claim"]["text"] == WRONG


def test_nobody_is_asked_where_nothing_is_verified() -> None:
    script = Script(claims=[WRONG, "DONE"], citations=[[1]])
    graph = build_vtg(script.toolbox(), review=True, verify=False, checkpointer=InMemorySaver())
    answer = graph.invoke({"question": "Who?"}, THREAD)["answer"]
    assert verdicts(answer)[0].status == "unchecked"


# Input, budgets, parameters


@pytest.mark.parametrize(
    ("form", "reply", "text"),
    [
        ("short", "Ann Lee [1]", "Ann Lee [1]"),
        ("short", "Ann Lee", "Ann Lee [1][2]"),
        ("list", "Ann Lee [1], 1871 [2]", "Ann Lee [1], 1871 [2]"),
        ("short", "DONE", f"{BUILT} [1], {LIT} [2]"),
    ],
)
def test_names_are_taken_from_the_proved_claims(form: Any, reply: str, text: str) -> None:
    script = Script(claims=[], citations=[])
    model = ScriptedChatModel(
        {
            "claim_generator": [BUILT, LIT, "DONE"],
            "citation_generator": [{"citations": [1]}, {"citations": [2]}],
            "answerer": reply,
        }
    )
    tools = Toolbox(
        model, retriever=ListRetriever(lambda _: [A, B]), entailment=TableEntailment(script.score)
    )
    found = build_vtg(tools, form=form).invoke({"question": "Who?"})["answer"]
    prompt = model.calls[-1].prompt
    assert all(said in prompt for said in (BUILT, LIT))
    assert A.title not in prompt
    assert found.text == text
    assert all(verdict.status == "supported" for verdict in verdicts(found))
