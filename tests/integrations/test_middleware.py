"""An agent's answer is checked against what its tools have said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from citeproof import CheckReport, Toolbox
from citeproof.errors import InputError
from citeproof.integrations.agent_tools import check_tool
from citeproof.integrations.middleware import CiteproofMiddleware
from citeproof.testing import ScriptedChatModel, TableEntailment, passage
from citeproof.tools.entailment import Score
from tests.integrations.agents import (
    BUILT,
    BURNT,
    LIT,
    ToolCaller,
    both,
    calling,
    script,
    toolbox,
)

ASKED: Any = {"messages": [HumanMessage("Tell me about the lighthouse.")]}


@tool
def search(query: str) -> str:
    """Search the archive."""
    return json.dumps({"results": [{"title": "Guide", "content": BUILT}, {"content": LIT}]})


@tool(response_format="content_and_artifact")
def retrieve(query: str) -> tuple[str, list[Document]]:
    """Retrieve documents."""
    found = [Document(LIT, metadata={"title": "Almanac", "source": "https://x.org/almanac"})]
    return "1 document", found


@tool
def echo(text: str) -> str:
    """Return a text as it is."""
    return text


@tool
def broken(query: str) -> str:
    """Fail."""
    raise ValueError(BURNT)


def agent_of(model: ToolCaller, *tools: Any, **how: Any) -> Any:
    box = how.pop("tools", toolbox())
    return create_agent(model, [*tools], middleware=[CiteproofMiddleware(box, **how)])


def verdicts(result: Any) -> list[str]:
    report: CheckReport = result["citeproof_report"]
    return [sentence.verdict for sentence in report.sentences]


@both
def test_an_answer_is_annotated(run: Any) -> None:
    text = f"**{LIT}** {BURNT} Why?"
    model = script(calling("search", query="x"), calling("retrieve", query="x"), text)
    result = run(agent_of(model, search, retrieve), ASKED)
    last = result["messages"][-1]
    assert last.text == text
    [block] = last.content_blocks
    cited, other = block["annotations"]
    assert text[cited["start_index"] : cited["end_index"]] == f"**{LIT}**"
    assert cited["type"] == "citation"
    assert cited["cited_text"] == LIT
    assert cited["extras"]["verdict"] == "uncited"
    assert cited["extras"]["score"] == 0.9
    assert other["type"] == "non_standard_annotation"
    value = other["value"]
    assert text[value["start_index"] : value["end_index"]] == BURNT
    assert value["verdict"] == "unsupported"
    assert verdicts(result) == ["uncited", "unsupported", "unchecked"]
    assert "citeproof_rounds" not in result


def test_documents_that_a_tool_retrieves_are_cited_by_name_and_address() -> None:
    model = script(calling("retrieve", query="x"), f"{LIT[:-1]} [1].")
    last = agent_of(model, retrieve).invoke(ASKED)["messages"][-1]
    [cited] = last.content_blocks[0]["annotations"]
    assert (cited["title"], cited["url"]) == ("Almanac", "https://x.org/almanac")
    assert cited["extras"]["verdict"] == "supported"


def test_what_a_tool_returns_may_be_nested_without_end() -> None:
    model = script(calling("echo", text="[" * 100_000 + "]" * 100_000), BUILT)
    assert verdicts(agent_of(model, echo).invoke(ASKED)) == ["unsupported"]


def test_a_message_in_blocks_keeps_what_is_no_text() -> None:
    answer = AIMessage(
        [
            {"type": "reasoning", "reasoning": "I think."},
            {"type": "text", "text": f"{BURNT} "},
            {"type": "text", "text": BUILT},
        ]
    )
    result = agent_of(script(calling("search", query="x"), answer), search).invoke(ASKED)
    thought, first, second = result["messages"][-1].content_blocks
    assert thought == {"type": "reasoning", "reasoning": "I think."}
    assert [note["type"] for note in first["annotations"]] == ["non_standard_annotation"]
    [cited] = second["annotations"]
    assert (cited["start_index"], cited["end_index"]) == (0, len(BUILT))


@both
def test_a_revised_answer_is_checked_again(run: Any) -> None:
    model = script(calling("search", query="x"), f"{BUILT} {BURNT}", BUILT)
    result = run(agent_of(model, search, mode="revise"), ASKED)
    assert result["messages"][-1].text == BUILT
    assert verdicts(result) == ["uncited"]
    told = model.shown[-1][-1]
    assert isinstance(told, HumanMessage)
    assert f"- {BURNT}\n" in told.text
    assert f"No source says so; the nearest one says: “{BUILT}” (tool search)" not in told.text
    assert "  No source says anything about it." in told.text
    assert f"- {BUILT}" not in told.text


def test_the_model_is_told_what_a_source_says_instead() -> None:
    denied = Score(0.01, contradiction=0.98)
    table = TableEntailment(lambda premise, claim: denied if "1872" in claim else 0.9)
    box = Toolbox(ScriptedChatModel([]), entailment=table)
    right = "The harbour lighthouse was first lighted in 1871."
    wrong = right.replace("1871", "1872")
    model = script(wrong, right)
    known = [Document(right, metadata={"title": "Almanac"})]
    agent = agent_of(model, mode="revise", tools=box, documents=known)
    assert verdicts(agent.invoke(ASKED)) == ["uncited"]
    told = model.shown[-1][-1].text
    assert f"- {wrong}\n" in told
    assert f"A source says otherwise: “{right}” (Almanac)" in told


@pytest.mark.parametrize("rounds", [1, 2])
def test_after_the_last_round_the_answer_stands_with_its_verdicts(rounds: int) -> None:
    model = script(calling("search", query="x"), *[BURNT] * 5)
    result = agent_of(model, search, mode="revise", max_rounds=rounds).invoke(ASKED)
    assert len(model.shown) == 2 + rounds
    assert verdicts(result) == ["unsupported"]
    assert result["messages"][-1].content_blocks[0]["annotations"]


def test_each_question_of_a_thread_has_its_own_rounds() -> None:
    model = script(calling("search", query="x"), BURNT, BURNT, BURNT, BURNT)
    middleware = [CiteproofMiddleware(toolbox(), mode="revise", max_rounds=1)]
    agent: Any = create_agent(model, [search], middleware=middleware, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    agent.invoke(ASKED, thread)
    assert len(model.shown) == 3
    result = agent.invoke(ASKED, thread)
    assert len(model.shown) == 5
    assert isinstance(result["citeproof_report"], CheckReport)


def test_a_turn_without_an_answer_has_no_report() -> None:
    middleware = [CiteproofMiddleware(toolbox())]
    model = script(BUILT, "")
    agent: Any = create_agent(model, [], middleware=middleware, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    assert isinstance(agent.invoke(ASKED, thread)["citeproof_report"], CheckReport)
    assert agent.invoke(ASKED, thread)["citeproof_report"] is None


@both
def test_a_refusal_names_the_sentences(run: Any) -> None:
    model = script(calling("search", query="x"), f"{BUILT} {BURNT}")
    result = run(agent_of(model, search, mode="refuse"), ASKED)
    last = result["messages"][-1]
    assert "do not support" in last.text
    assert f"- {BURNT} (no source says so)" in last.text
    assert BUILT not in last.text
    assert verdicts(result) == ["uncited", "unsupported"]
    assert [m for m in result["messages"] if BUILT in m.text and isinstance(m, AIMessage)] == []


@pytest.mark.parametrize("mode", ["revise", "refuse"])
def test_a_supported_answer_stands(mode: Any) -> None:
    model = script(calling("search", query="x"), BUILT)
    assert agent_of(model, search, mode=mode).invoke(ASKED)["messages"][-1].text == BUILT


def test_neither_questions_nor_failures_nor_verdicts_prove_anything() -> None:
    box = toolbox()
    model = script(calling("check", text=BURNT), BURNT)
    asked: Any = {"messages": [HumanMessage(f"Is it true? {BURNT}")]}
    result = agent_of(model, check_tool(box), tools=box).invoke(asked)
    assert any(BURNT in m.text for m in result["messages"] if isinstance(m, ToolMessage))
    failed = ToolMessage(BURNT, tool_call_id="1", status="error")
    other: Any = {"messages": [*asked["messages"], calling("broken", query="x"), failed]}
    for each in (result, agent_of(script(BURNT), broken).invoke(other)):
        assert verdicts(each) == ["unsupported"]


def test_tools_that_return_what_they_are_told_can_be_left_out() -> None:
    def ended(**how: Any) -> list[str]:
        model = script(calling("echo", text=BURNT), calling("search", query="x"), BURNT)
        return verdicts(agent_of(model, echo, search, **how).invoke(ASKED))

    assert ended() == ["uncited"]
    assert ended(evidence={"search"}) == ["unsupported"]


def test_documents_prove_answers_too() -> None:
    attached: Any = {
        "messages": [
            HumanMessage(
                [
                    {"type": "text", "text": "When was it lit?"},
                    {"type": "text-plain", "mime_type": "text/plain", "text": LIT},
                ]
            )
        ]
    }
    assert verdicts(agent_of(script(LIT)).invoke(attached)) == ["uncited"]
    for document in Document(LIT), LIT, {"text": LIT}, passage(LIT):
        known = agent_of(script(f"{LIT[:-1]} [1]."), documents=[document])
        assert verdicts(known.invoke(ASKED)) == ["supported"]
    assert verdicts(agent_of(script(LIT)).invoke(ASKED)) == ["unsupported"]


def test_the_index_is_searched_on_request() -> None:
    model = script(calling("retrieve", query="x"), f"{BUILT} {LIT}")
    assert verdicts(agent_of(model, retrieve).invoke(ASKED)) == ["unsupported", "uncited"]
    model = script(calling("retrieve", query="x"), f"{BUILT} {LIT}")
    agent = agent_of(model, retrieve, search_index=True)
    assert verdicts(agent.invoke(ASKED)) == ["uncited", "uncited"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"mode": "strict"}, "no mode 'strict'. Known: annotate, revise, refuse"),
        ({"max_rounds": 0}, "0 rounds revise nothing"),
        ({"documents": LIT}, "The documents are not a list"),
        ({"documents": [LIT, 3]}, "Document 2 is not a passage: it is a int"),
        ({"evidence": "search"}, "a single text. Pass a set: {'search'}"),
    ],
)
def test_what_cannot_be_meant_is_refused(how: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        CiteproofMiddleware(toolbox(), **how)


def test_there_must_be_an_index_to_search() -> None:
    box = Toolbox(ScriptedChatModel([]), entailment=TableEntailment({}))
    with pytest.raises(InputError, match="no index to search"):
        CiteproofMiddleware(box, search_index=True)
