"""The smallest possible graph file of a new method."""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from citeproof import Answer, Toolbox
from citeproof.parameters import Parameters
from citeproof.runtime.events import AnswerReady, emit


class ToyParameters(Parameters):
    word: str = "Yes"
    """What it says."""


class ToyState(TypedDict, total=False):
    question: str
    answer: Answer


def build_toy_graph(
    tools: Toolbox, *, checkpointer: Any = None, name: str = "toy-graph", **parameters: Any
) -> Any:
    said = ToyParameters(**parameters).word

    def answerer(state: ToyState) -> ToyState:
        answer = Answer(question=state["question"], text=f"{said}.", method=name, status="answered")
        emit(AnswerReady(answer=answer))
        return {"answer": answer}

    builder = StateGraph(ToyState, context_schema=ToyParameters)
    builder.add_node("answerer", answerer)
    builder.add_edge(START, "answerer")
    builder.add_edge("answerer", END)
    return builder.compile(checkpointer=checkpointer, name=name)
