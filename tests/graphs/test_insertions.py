"""Nodes of the caller's inside a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof import Answer, Toolbox, build_composed, build_vtg
from citeproof.agents.base import Node
from citeproof.errors import BudgetExceededError, InputError, SettingsError
from citeproof.state import DraftState
from tests.graphs import composed_scripts
from tests.graphs.scripts import BUILT, A, B, Script

ASKED: Any = {"question": "Who built the tower?"}


@pytest.fixture
def tools() -> Toolbox:
    return Script(claims=[BUILT, "DONE"], citations=[[1]]).toolbox()


def test_one_node_goes_to_several_places(tools: Toolbox) -> None:
    seen: list[int] = []

    def look(state: DraftState) -> None:
        seen.append(len(state["passages"]))

    graph = build_vtg(tools, insert_after={"question_reader": look, "citation_generator": look})
    assert graph.invoke(ASKED)["answer"].text == "Ann Lee built the tower [1]."
    assert seen == [0, 2]
    assert {"look", "look_2"} < graph.nodes.keys()


@pytest.mark.parametrize("seam", ["citation_genrator", ("quoter", "retriever")])
def test_a_place_that_is_not_there_is_told_with_those_that_are(tools: Toolbox, seam: Any) -> None:
    with pytest.raises(
        SettingsError, match="inserted after .*: retriever,.*answer_composer.$"
    ) as e:
        build_vtg(tools, insert_after={seam: lambda _: {}})
    assert "lambda" not in str(e.value)


@pytest.mark.parametrize("name", ["quoter", "question_reader", "answer_composer"])
def test_a_node_with_a_name_of_the_graphs_is_refused(tools: Toolbox, name: str) -> None:
    def look(_: DraftState) -> None: ...

    look.__name__ = name
    with pytest.raises(SettingsError, match=f"No node named {name} can be inserted"):
        build_vtg(tools, insert_after={"claim_acceptor": look})


@dataclass(frozen=True)
class Returns(Node):
    """Writes what it is told."""

    value: Any

    async def __call__(self, state: DraftState) -> Any:
        return self.value


def inserted(tools: Toolbox, value: Any) -> Answer:
    graph = build_vtg(tools, insert_after={"citation_generator": Returns(value)})
    answer: Answer = graph.invoke(ASKED)["answer"]
    return answer


def test_a_node_need_not_write(tools: Toolbox) -> None:
    """LangGraph accepts None as well."""
    assert inserted(tools, None).status == "answered"


@pytest.mark.parametrize("value", ["text", Command(goto="answer_composer")])
def test_a_node_that_returns_no_dict_is_told(tools: Toolbox, value: Any) -> None:
    with pytest.raises(InputError, match=f"Returns cannot be .* a {type(value).__name__}. Return"):
        inserted(tools, value)


def test_documents_that_a_node_finds_become_passages(tools: Toolbox) -> None:
    """None has an id of its own, and none gets lost."""
    texts = ["Di Fox painted the tower.", "Ed Roe sold the tower."]
    found = {"passages": [Document(text) for text in texts]}
    graph = build_vtg(tools, insert_after={"retriever": lambda _: found})
    passages: Any = graph.invoke(ASKED, output_keys="passages")
    assert [passage.text for passage in passages] == [A.text, B.text, *texts]


def test_what_is_no_passage_is_told(tools: Toolbox) -> None:
    for wrong in (["text"], A):
        graph = build_vtg(tools, insert_after={"retriever": lambda _, v=wrong: {"passages": v}})
        with pytest.raises(InputError, match="A (str|tuple) is not a passage"):
            graph.invoke(ASKED)


def refuse(_: Any) -> None:
    raise BudgetExceededError("The budget of 3 calls is spent")


@pytest.mark.parametrize(
    ("build", "seam"),
    [
        (build_vtg, "answer_composer"),
        (build_composed, "refinement_selector"),
        (build_composed, "case_recorder"),
        (build_composed, "answer_composer"),
    ],
)
def test_a_node_that_spends_the_rest_behind_the_proof_ends_the_run(build: Any, seam: str) -> None:
    script = composed_scripts.Script()
    graph = build(script.toolbox(), insert_after={seam: refuse})
    answer = graph.invoke(ASKED, {"recursion_limit": 40})["answer"]
    assert (answer.text, answer.status) == ("Ann Lee built the tower [1].", "partial")
    assert answer.reason == "The budget of 3 calls is spent."


def test_after_a_spent_budget_changed_claims_are_composed() -> None:
    tools = composed_scripts.Script().toolbox()
    after: Any = {"claim_acceptor": refuse}
    graph: Any = build_vtg(tools, insert_after=after, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "a"}}
    assert graph.invoke(ASKED, thread)["answer"].text == "Ann Lee built the tower [1]."
    [claim] = graph.get_state(thread).values["claims"]
    changed = {"claims": [claim.model_copy(update={"text": "Ann Lee made it."})]}
    graph.update_state(thread, changed, as_node="claim_acceptor")
    assert graph.invoke(None, thread)["answer"].text == "Ann Lee made it [1]."
