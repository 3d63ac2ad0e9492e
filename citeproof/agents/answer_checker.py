"""Checks the answer of a conversation against the results of its tools and its documents."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NotRequired

from langchain_core.messages import AnyMessage

from citeproof.agents.base import Node
from citeproof.state import NodeState, Update
from citeproof.tools.citations.annotations import annotate
from citeproof.tools.entailment import Entailment
from citeproof.tools.questions.conversation_sources import check_answer, final_answer, read_sources
from citeproof.tools.retrieval import Retriever
from citeproof.types import CheckReport

__all__ = ["AnswerChecker"]


class ConversationState(NodeState):
    """The keys that the checker reads; it writes the messages and the report."""

    messages: list[AnyMessage]
    documents: list[Any]
    """LangChain documents or passages that may prove the answer, besides the results of tools."""
    report: NotRequired[CheckReport | None]


@dataclass(frozen=True)
class AnswerChecker(Node):
    """Annotates the last message with the verdict on each of its sentences, and reports on it.

    For graphs with a `messages` key that `add_messages` reduces, such as `MessagesState`. A
    conversation that does not end with an answer has no report.
    """

    entailment: Entailment
    retriever: Retriever | None = field(default=None, kw_only=True)
    """Finds additional passages, for instance in an index."""
    evidence: Collection[str] | None = field(default=None, kw_only=True)
    """Names of the tools whose results count; defaults to all."""

    async def __call__(self, state: ConversationState) -> Update:
        """Replace the message by its annotated version, and set `report`."""
        messages = state["messages"]
        if (answer := final_answer(messages)) is None:
            return {"report": None}
        sources = read_sources(messages, state["documents"], self.evidence)
        report = await check_answer(answer, sources, self.entailment, self.retriever)
        return {"messages": [annotate(answer, report)], "report": report}
