"""A chat model that calls tools from a script, matching tools, and both ways to run an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from pydantic import PrivateAttr

from citeproof import Toolbox
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage

BUILT, LIT = "Ann Lee built the lighthouse.", "The lighthouse was lit in 1871."
BURNT = "Whales sang in 1999."


class ToolCaller(FakeMessagesListChatModel):
    """Returns its messages one by one, and records what it was shown."""

    _shown: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _bound: list[str] = PrivateAttr(default_factory=list)

    @property
    def shown(self) -> list[list[BaseMessage]]:
        """The messages of each call."""
        return self._shown

    @property
    def bound(self) -> list[str]:
        """The names of its tools."""
        return self._bound

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        self._bound[:] = [tool.name for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self._shown.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def now(graph: Any, asked: Any, config: Any = None) -> Any:
    return graph.invoke(asked, config)


def awaited(graph: Any, asked: Any, config: Any = None) -> Any:
    return asyncio.run(graph.ainvoke(asked, config))


both = pytest.mark.parametrize("run", [now, awaited], ids=["invoke", "ainvoke"])


def calling(name: str, **arguments: Any) -> AIMessage:
    """A message that calls a tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=arguments, id=f"call-{name}")])


def script(*messages: AIMessage | str) -> ToolCaller:
    """A model that returns these messages, and repeats the last one."""
    whole: Sequence[Any] = [AIMessage(m) if isinstance(m, str) else m for m in messages]
    return ToolCaller(responses=list(whole))


def toolbox(**more: Any) -> Toolbox:
    """Tools whose entailment model compares words; two passages are indexed."""
    passages = [
        passage(BUILT, title="Harbour guide", source="https://x.org/guide"),
        passage(LIT, title="Almanac"),
    ]
    return Toolbox(
        ScriptedChatModel(more.pop("replies", {"": "DONE"})),
        retriever=ListRetriever(passages),
        entailment=TableEntailment(lambda premise, claim: 0.9 if claim in premise else 0.1),
        **more,
    )
