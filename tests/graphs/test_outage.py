"""A run that loses its model: an error to resume from, or the answer that is proved by then."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM, Toolbox, build_composed, build_vtg
from citeproof.errors import ModelOutageError
from citeproof.testing import Choice, ListRetriever, ScriptedChatModel, TableEntailment, passage
from tests.graphs.scripts import BUILT, Script


def cut_off() -> Toolbox:
    """A model that is gone once the first claim is proved."""
    gone = ModelOutageError("No answer", why="the server is gone", fix="Start it.")
    return Script(claims=[BUILT], citations=[[1]], lasts=2, failure=gone).toolbox()


def test_an_outage_is_an_error_by_default() -> None:
    with pytest.raises(ModelOutageError, match="the server is gone"):
        build_vtg(cut_off()).invoke({"question": "Who built the tower?"})


@pytest.mark.parametrize("how", ["defaults", "context"])
def test_an_outage_may_end_the_run_with_what_is_proved(how: str) -> None:
    asked: Any = {"question": "Who built the tower?"}
    if how == "defaults":
        answer = build_vtg(cut_off(), on_outage=True).invoke(asked)["answer"]
    else:
        answer = build_vtg(cut_off()).invoke(asked, context={"on_outage": True})["answer"]
    assert (answer.text, answer.status) == ("Ann Lee built the tower [1].", "partial")
    assert "the server is gone" in answer.reason
    assert answer.usage.llm_calls == 3, "the call that failed counts"


def test_calls_of_a_graph_inside_count_when_its_model_is_lost() -> None:
    model = ScriptedChatModel([Choice(Yes=0.1, No=0.9), ConnectionError("gone")])
    tools = Toolbox(
        LLM(model, retries=0),
        retriever=ListRetriever({"": [passage("a"), passage("b")]}),
        entailment=TableEntailment({}),
    )
    graph = build_composed(tools, on_outage=True, candidates=1, k=1)
    answer = graph.invoke({"question": "Who built the tower?"})["answer"]
    assert "gone" in answer.reason
    assert answer.usage.llm_calls == 2
