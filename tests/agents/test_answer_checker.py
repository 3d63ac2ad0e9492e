"""The checker of a conversation's answer, in a graph of anybody's."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import MessagesState

from citeproof.agents.answer_checker import AnswerChecker
from citeproof.testing import ListRetriever, TableEntailment, passage
from citeproof.types import CheckReport
from tests.chain import chain

BUILT, LIT, BURNT = "Ann Lee built it.", "The tower was lit in 1871.", "The tower burnt down."
ENTAILED = TableEntailment(lambda premise, claim: 0.9 if claim in premise else 0.1)


class State(MessagesState, total=False):
    documents: list[Document]
    report: CheckReport | None


def run(checker: AnswerChecker, *messages: Any, **more: Any) -> Any:
    return chain(State, check=checker).compile().invoke({"messages": list(messages), **more})


def test_the_answer_is_annotated_in_its_place() -> None:
    called = ToolMessage(BUILT, tool_call_id="1", name="search")
    answer = AIMessage(f"{BUILT[:-1]} [2]. {LIT} {BURNT}", id="a")
    result = run(AnswerChecker(ENTAILED), called, answer, documents=[Document(LIT)])
    assert [one.verdict for one in result["report"].sentences] == [
        "supported",
        "uncited",
        "unsupported",
    ]
    assert [message.id for message in result["messages"]][1:] == ["a"]
    annotations = result["messages"][-1].content_blocks[0]["annotations"]
    assert [one["type"] for one in annotations] == ["citation"] * 2 + ["non_standard_annotation"]


def test_it_works_where_the_state_has_messages_alone() -> None:
    checker = AnswerChecker(ENTAILED, retriever=ListRetriever([passage(BUILT)]))
    graph = chain(MessagesState, check=checker).compile()
    result = graph.invoke({"messages": [AIMessage(BUILT)]})
    [message] = result["messages"]
    assert message.content_blocks[0]["annotations"][0]["cited_text"] == BUILT


def test_what_is_no_answer_is_left_alone() -> None:
    result = run(AnswerChecker(ENTAILED), HumanMessage(BUILT))
    assert result["report"] is None
    assert result["messages"][-1].content == BUILT
