"""Conversations with every method: messages in and out, follow-ups, sources of earlier turns."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.types import Overwrite

from citeproof import Answer, Toolbox, build_vanilla, build_vtg, verify_with
from citeproof.agents.question_reader import EARLIER
from citeproof.errors import InputError
from citeproof.graphs.registry import METHODS
from citeproof.memory.bank import Bank
from citeproof.runtime.events import QuestionRewritten
from citeproof.state import Result
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage
from tests.chain import chain, run
from tests.graphs.scripts import BUILT, KEPT, LIT, A, B, C, Script
from tests.robustness.chaos import QUESTION, Steady
from tests.robustness.flows import FLOWS, followed, seed
from tests.watching import started, watch

BEFORE, ASKED, WHOLE = "Who built the tower?", "And when was it lit?", "When was the tower lit?"
THREAD: Any = {"configurable": {"thread_id": "t"}}


def talk(**more: Any) -> Script:
    """Two turns, the second of which is a follow-up."""
    script = {"claims": [BUILT, "DONE", LIT, "DONE"], "citations": [[1]] * 2, "rewriting": WHOLE}
    return Script(**{**script, **more})


def said(messages: Any) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in messages]


# Every graph


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("name", FLOWS)
def test_every_graph_takes_messages_and_answers_with_one(name: str, how: str, bank: Bank) -> None:
    graph = FLOWS[name](Steady(seed(name), bank).toolbox())
    result = run(graph, how, followed(name, QUESTION))
    answer: Answer = result["answer"]
    *turns, asked, reply = result["messages"]
    assert [message.type for message in turns] == ["human", "ai"]
    assert asked.text == QUESTION == result["question"] == answer.question
    assert isinstance(reply, AIMessage)
    assert reply.text == (answer.text or answer.reason)
    assert reply.response_metadata["question"] == QUESTION


@pytest.mark.parametrize("name", FLOWS)
async def test_every_graph_rewrites_a_follow_up_once(name: str, bank: Bank) -> None:
    tools = Steady(seed(name), bank)
    moments = await watch(FLOWS[name](tools.toolbox()), followed(name, QUESTION))
    assert started(moments).count("question_rewriter") == 1
    alone = Steady(seed(name), bank)
    moments = await watch(
        FLOWS[name](alone.toolbox()), {**followed(name, ""), "messages": QUESTION}
    )
    assert "question_rewriter" not in started(moments)
    assert not [prompt for role, prompt in alone.asked if role == "question_rewriter"]


@pytest.mark.parametrize("name", FLOWS)
async def test_the_stream_of_messages_is_the_conversation(name: str, bank: Bank) -> None:
    """Nothing of what the nodes ask their models is in it."""
    graph = FLOWS[name](Steady(seed(name), bank).toolbox(), checkpointer=InMemorySaver())
    parts = graph.astream(followed(name, QUESTION), THREAD, stream_mode="messages", subgraphs=True)
    told = {message.id: message async for _, (message, _) in parts}
    kept = (await graph.aget_state(THREAD)).values["messages"]
    assert [m.text for m in told.values() if m.type == "ai"] == [kept[-1].text]


# Turns on a thread


def test_a_follow_up_is_answered_as_a_question_that_stands_alone() -> None:
    script = talk(passages={"": [A], "lit": [B]})
    graph = build_vtg(script.toolbox(), checkpointer=InMemorySaver())
    first = graph.invoke({"messages": [{"role": "user", "content": BEFORE}]}, THREAD)
    assert (first["answer"].asked, first["answer"].usage.llm_calls) == ("", 3)
    events = list(graph.stream({"question": ASKED}, THREAD, stream_mode="custom"))
    assert QuestionRewritten(asked=ASKED, question=WHOLE) in events
    state = graph.get_state(THREAD).values
    answer = state["answer"]
    assert (answer.question, answer.asked, state["question"]) == (WHOLE, ASKED, WHOLE)
    assert (answer.text, answer.usage.llm_calls) == ("The tower was lit in 1871 [1].", 4)
    assert script.queries == [BEFORE, WHOLE]
    assert said(state["messages"]) == [
        ("human", BEFORE),
        ("ai", "Ann Lee built the tower [1]."),
        ("human", ASKED),
        ("ai", "The tower was lit in 1871 [1]."),
    ]
    later = [prompt for node, prompt in script.prompts if node == "claim_generator"][2:]
    assert all(WHOLE in prompt and ASKED not in prompt for prompt in later)


def test_a_question_asked_again_word_for_word_needs_no_rewriting() -> None:
    script = talk(claims=[BUILT, "DONE"] * 2)
    graph = build_vtg(script.toolbox(), checkpointer=InMemorySaver())
    for _ in range(2):
        answer = graph.invoke({"question": BEFORE}, THREAD)["answer"]
        assert answer.usage.llm_calls == 3
    assert len(graph.get_state(THREAD).values["messages"]) == 4


@pytest.mark.parametrize("again", ["question", "messages"])
def test_a_turn_that_failed_is_no_answer_to_the_next(again: str) -> None:
    script = talk()
    gone = Toolbox(ScriptedChatModel([]), retriever=ListRetriever(script.retrieve))
    saver = InMemorySaver()
    with pytest.raises(InputError):
        build_vtg(gone, checkpointer=saver).invoke({"messages": [("user", ASKED)]}, THREAD)
    given: Any = {"question": BEFORE} if again == "question" else {"messages": [("user", BEFORE)]}
    result = build_vtg(script.toolbox(), checkpointer=saver).invoke(given, THREAD)
    assert result["answer"].question == BEFORE
    assert [text for kind, text in said(result["messages"]) if kind == "human"] == [ASKED, BEFORE]


@pytest.mark.parametrize(
    "unusable",
    [
        {"messages": ("user", " ")},
        {"messages": [HumanMessage([{"type": "image", "url": "http://e/x.png"}])]},
        {"messages": [("user", "x" * 20_001)]},
        {"messages": ("user", " "), "question": ASKED},
        {"messages": Overwrite([HumanMessage(" ")])},
        {"messages": [("user", ASKED)], "documents": [5]},
        {"messages": [("user", ASKED)], "documents": (5,)},
        {"messages": [("user", ASKED)], "documents": "a text"},
        {"messages": [("user", ASKED)], "documents": {"text": "x"}},
        {"messages": [("user", ASKED)], "documents": [5], "question": "x"},
    ],
    ids=[
        *("blank", "an image", "too long", "blank beside a question", "blank in place of all"),
        *("a document of no use", "a tuple of them", "a text", "a dict", "beside a question"),
    ],
)
def test_a_message_that_cannot_be_read_is_not_kept(unusable: Any) -> None:
    """On the thread it would be taken for a question that waits, and go before the next one."""
    script = talk(claims=[BUILT, "DONE"] * 2)
    graph = build_vtg(script.toolbox(), checkpointer=InMemorySaver())
    graph.invoke({"question": BEFORE}, THREAD)
    with pytest.raises(InputError):
        graph.invoke(unusable, THREAD)
    result = graph.invoke({"question": BEFORE}, THREAD)
    assert result["answer"].question == BEFORE
    assert [kind for kind, _ in said(result["messages"])] == ["human", "ai"] * 2


@pytest.mark.parametrize("last", ["human", "ai"])
def test_a_question_beside_the_messages_must_be_the_only_one(last: str) -> None:
    """Beside a conversation that ends with an answer, it is the next turn."""
    turns = [("user", BEFORE), ("ai", BUILT)][: 1 if last == "human" else 2]
    given: Any = {"question": ASKED, "messages": turns}
    graph = build_vtg(talk().toolbox())
    if last == "human":
        with pytest.raises(InputError, match="The input has two questions: `question` differs"):
            graph.invoke(given)
        given["question"] = BEFORE
        assert graph.invoke(given)["answer"].question == BEFORE
    else:
        assert graph.invoke(given)["answer"].asked == ASKED


@pytest.mark.parametrize(
    "form",
    [
        Overwrite,
        lambda messages: {"__overwrite__": messages},
        lambda messages: {"type": "__overwrite__", "value": messages},
    ],
    ids=["an object", "a dict", "an object that was JSON"],
)
def test_messages_may_take_the_place_of_those_on_the_thread(form: Any) -> None:
    graph = build_vtg(talk(claims=[BUILT, "DONE"] * 2).toolbox(), checkpointer=InMemorySaver())
    graph.invoke({"question": BEFORE}, THREAD)
    result = graph.invoke({"messages": form([HumanMessage(ASKED)])}, THREAD)
    assert [text for kind, text in said(result["messages"]) if kind == "human"] == [ASKED]


@pytest.mark.parametrize("messages", [[], [("assistant", "Hello.")], [("user", " ")]])
def test_a_conversation_without_a_question_is_refused(messages: Any) -> None:
    with pytest.raises(InputError, match="The question is empty"):
        build_vtg(talk().toolbox()).invoke({"messages": messages})


def test_the_question_is_that_of_this_turn_after_time_travel() -> None:
    script = talk(passages={"": [A], "lit": [B]})
    graph = build_vtg(script.toolbox(), checkpointer=InMemorySaver())
    graph.invoke({"question": BEFORE}, THREAD)
    graph.invoke({"question": ASKED}, THREAD)
    past = next(s for s in graph.get_state_history(THREAD) if s.next == ("retriever",))
    other = graph.update_state(past.config, {"question": "When was the lamp lit?"})
    script.calls["claim_generator"], script.calls["citation_generator"] = 2, 1
    result = graph.invoke(None, other)
    assert result["answer"].question == "When was the lamp lit?"
    assert result["answer"].asked == ASKED
    assert said(result["messages"])[2:] == [
        ("human", ASKED),
        ("ai", "The tower was lit in 1871 [1]."),
    ]


# Sources of earlier turns


@pytest.mark.parametrize("name", ["vtg", "composed", "vanilla", "summ", "calm", "r2-mga"])
async def test_what_the_turn_before_cited_joins_what_is_found(name: str) -> None:
    """One that is found anyway is there once."""
    replies: dict[str, Any] = {
        "question_rewriter": WHOLE,
        "claim_generator": [BUILT, "DONE", LIT, "DONE"],
        "citation_generator": [{"citations": [1]}] * 9,
        "retrieval_verifier": "Yes",
        "summarizer": "Short.",
        "demonstrator": "So.",
        "assessor": "Complete: yes.\nCorrect: yes.\nWell cited: yes.",
    }
    model = ScriptedChatModel({**replies, "": f"{BUILT[:-1]} [1]."})
    tools = Toolbox(
        model,
        retriever=ListRetriever({BEFORE: [A], WHOLE: [B]}),
        entailment=TableEntailment(lambda premise, claim: float(claim in premise)),
    )
    graph = METHODS[name].build(tools, checkpointer=InMemorySaver())
    first = await graph.ainvoke({"question": BEFORE}, THREAD)
    assert first["answer"].passages == (A,)
    await graph.ainvoke({"question": ASKED}, THREAD)
    state = (await graph.aget_state(THREAD)).values
    assert state["passages"][:2] == [B, A]
    assert {"a", "b"} <= {*state["long_term"], *state["short_term"]}


def test_documents_of_a_question_are_all_that_it_is_answered_from() -> None:
    script = talk()
    graph = build_vtg(script.toolbox(), checkpointer=InMemorySaver())
    graph.invoke({"question": BEFORE}, THREAD)
    asked: Any = {"question": ASKED, "documents": [B]}
    graph.invoke(asked, THREAD)
    assert graph.get_state(THREAD).values["passages"] == [B]


def test_a_fresh_question_has_no_earlier_sources() -> None:
    claims = [BUILT, "DONE", KEPT, "DONE"]
    script = talk(claims=claims, passages={"": [A], "sea": [C]}, rewriting="")
    graph = build_vtg(script.toolbox(), checkpointer=InMemorySaver())
    graph.invoke({"question": BEFORE}, THREAD)
    graph.invoke({"question": "How deep is the sea?"}, THREAD)
    assert graph.get_state(THREAD).values["passages"] == [C]


def test_earlier_sources_are_bounded_and_the_latest_come_first() -> None:
    pages = [passage(f"Part {n} is here.", id=f"p{n}") for n in range(6)]
    claims = [text for page in pages for text in (page.text, "DONE")]
    script = talk(
        claims=claims,
        citations=[[1]] * 6,
        passages={f"part {n}": [page] for n, page in enumerate(pages)},
    )
    graph = build_vtg(script.toolbox(), checkpointer=InMemorySaver())
    for number in range(6):
        script.rewriting = f"Where is part {number}?"
        graph.invoke({"question": f"And {number}?" if number else "Where is part 0?"}, THREAD)
    state = graph.get_state(THREAD).values
    assert [page.id for page in state["passages"]] == ["p5", "p4", "p3", "p2"]
    assert len(state["earlier"]) == EARLIER


# Inside of other graphs


def test_a_draft_says_nothing_in_the_conversation_and_reads_the_earlier_sources() -> None:
    replies = {"question_rewriter": WHOLE, "": [f"{BUILT[:-1]} [1].", f"{LIT[:-1]} [1]."]}
    tools = Toolbox(
        ScriptedChatModel(replies),
        retriever=ListRetriever({BEFORE: [A], WHOLE: [B]}),
        entailment=TableEntailment(lambda premise, claim: float(claim in premise)),
    )
    graph = verify_with(build_vanilla(tools), tools, checkpointer=InMemorySaver())
    graph.invoke({"question": BEFORE}, THREAD)
    result = graph.invoke({"question": ASKED}, THREAD)
    assert [kind for kind, _ in said(result["messages"])] == ["human", "ai", "human", "ai"]
    assert (result["answer"].method, result["answer"].asked) == ("vanilla+proof", ASKED)
    assert result["answer"].usage.llm_calls == 2, "the rewriting and the draft"


class Around(MessagesState):
    """A state of somebody else's, with the keys of a result."""

    question: str
    answer: Answer


@pytest.mark.parametrize("schema", [MessagesState, Around, Result])
def test_a_method_answers_the_messages_of_a_graph_of_somebody_elses(schema: Any) -> None:
    """Also the second time, when the question of the first is still there."""
    script = talk()
    graph = chain(schema, vtg=build_vtg(script.toolbox())).compile(checkpointer=InMemorySaver())
    graph.invoke({"messages": [HumanMessage(BEFORE)]}, THREAD)
    result = graph.invoke({"messages": [HumanMessage(ASKED)]}, THREAD)
    assert [kind for kind, _ in said(result["messages"])] == ["human", "ai", "human", "ai"]
    assert script.queries == [BEFORE, WHOLE]


def test_a_question_of_the_graph_around_goes_before_its_messages() -> None:
    script = talk()
    vtg = build_vtg(script.toolbox())
    graph = chain(Around, ask=lambda _: {"question": BEFORE}, vtg=vtg).compile()
    result = graph.invoke({"messages": [HumanMessage("Write about the tower.")]})
    assert result["answer"].question == BEFORE
    assert [kind for kind, _ in said(result["messages"])] == ["human", "ai"]


def test_a_node_between_reader_and_retriever_sees_follow_ups_as_well() -> None:
    seen: list[str] = []

    def look(state: Any) -> None:
        seen.append(state["question"])

    graph = build_vtg(
        talk().toolbox(),
        checkpointer=InMemorySaver(),
        insert_after={("question_reader", "retriever"): look},
    )
    graph.invoke({"question": BEFORE}, THREAD)
    graph.invoke({"question": ASKED}, THREAD)
    assert seen == [BEFORE, WHOLE]


# Languages


@pytest.mark.parametrize(
    ("question", "knows", "noted"),
    [
        ("Wer hat den Turm gebaut?", True, True),
        ("Wer hat den Turm gebaut?", False, False),
        (BEFORE, True, False),
    ],
)
def test_what_can_prove_only_english_says_so_once(question: str, knows: bool, noted: bool) -> None:
    tools = Script(claims=[BUILT, "DONE"], citations=[[1]]).toolbox()
    tools.english_only = knows
    graph = verify_with(build_vtg(tools), tools)
    notes = graph.invoke({"question": question})["answer"].notes
    assert sum("English" in note for note in notes) == int(noted)
