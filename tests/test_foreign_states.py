"""Nodes and graphs in states and contexts that are none of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from pydantic import BaseModel
from typing_extensions import TypedDict

from citeproof import Answer, Passage, Toolbox, build_vtg
from citeproof.agents.generation_verifier import GenerationVerifier
from citeproof.agents.retriever import Retriever
from citeproof.errors import InputError, SettingsError
from citeproof.state import Draft
from tests.chain import chain
from tests.graphs.scripts import BUILT, A, Script

ASKED: Any = {"question": "Who built the tower?"}


@pytest.fixture
def tools() -> Toolbox:
    return Script(claims=[BUILT, "DONE"], citations=[[1]]).toolbox()


# The state


@dataclass
class AsDataclass:
    question: str = ""
    answer: Answer | None = None
    author: str = "Ann"


class AsModel(BaseModel):
    question: str = ""
    answer: Answer | None = None
    author: str = "Ann"


@pytest.mark.parametrize("state", [AsDataclass, AsModel])
@pytest.mark.parametrize("form", [dict, AsDataclass, AsModel])
def test_a_graph_is_a_node_of_any_state(tools: Toolbox, state: Any, form: Any) -> None:
    graph = chain(state, vtg=build_vtg(tools)).compile()
    assert graph.invoke(form(**ASKED))["answer"].text == "Ann Lee built the tower [1]."


def test_an_object_is_an_input_if_the_graph_knows_its_keys(tools: Toolbox) -> None:
    graph: Any = build_vtg(tools)

    class Asked(BaseModel):
        question: str

    assert graph.invoke(Asked(**ASKED))["answer"].status == "answered"
    with pytest.raises(InputError, match="unknown key 'answer'"):
        graph.invoke(AsDataclass(**ASKED))


@pytest.mark.parametrize("given", [AsDataclass(**ASKED), AsModel(**ASKED)])
def test_a_node_is_called_with_any_state(given: Any) -> None:
    assert Retriever([A.text]).invoke(given)["passages"][0].text == A.text


def test_a_node_takes_what_tools_take_as_an_entailment_model() -> None:
    given = {**ASKED, "passages": [A], "draft": Draft(text=BUILT, cited=("a",))}
    verifier: Any = GenerationVerifier
    assert verifier(lambda *_: 0.9).invoke(given)["draft"].verdict.status == "supported"
    with pytest.raises(SettingsError, match="A Toolbox is not an entailment model. Pass a func"):
        verifier(Toolbox(None))


@pytest.mark.parametrize("given", [None, {"passages": []}, "Who built the tower?"])
def test_a_node_without_a_state_tells_what_it_needs(given: Any) -> None:
    with pytest.raises(InputError, match="Retriever cannot run: the state has no 'question'"):
        Retriever([A.text]).invoke(given)


def test_a_budget_of_another_kind_is_told() -> None:
    class Trip(TypedDict):
        question: str
        budget: float

    graph = chain(Trip, find=Retriever([A.text])).compile()
    with pytest.raises(InputError, match="key `budget` of the state holds a float. Give your own"):
        graph.invoke({**ASKED, "budget": 99.5})


def test_a_graph_that_keeps_a_state_of_its_own_is_refused(tools: Toolbox) -> None:
    """It would answer the next question from the documents of this one."""
    with pytest.raises(SettingsError, match="cannot be built with checkpointer=True: inside"):
        build_vtg(tools, checkpointer=True)


def test_a_model_is_no_toolbox() -> None:
    model: Any = FakeListChatModel(responses=[])
    with pytest.raises(SettingsError, match=r"graph of vtg needs a Toolbox, not a FakeListChatM"):
        build_vtg(model)


# The context


class Context(TypedDict, total=False):
    max_calls: Any


class Written(TypedDict, total=False):
    question: str
    passages: list[Passage]
    claims: list[Any]


@pytest.mark.parametrize("limit", ["many", 0])
def test_a_limit_that_is_none_is_told(tools: Toolbox, limit: Any) -> None:
    graph = chain(Written, context=Context, vtg=build_vtg(tools)).compile()
    with pytest.raises(SettingsError, match=f"The parameter max_calls cannot be {limit!r}"):
        graph.invoke(ASKED, context={"max_calls": limit})
