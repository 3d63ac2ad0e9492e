"""The evidence finder replaces the short-term memory."""

from dataclasses import replace
from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.evidence_finder import EvidenceFinder
from citeproof.errors import RetrievalError
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import BudgetSettings
from citeproof.testing import ListRetriever
from citeproof.types import Usage
from tests.agents.one_node import asking
from tests.agents.states import CLAIM, A, B, C, state


def finder(questions: list[str], **knobs: Any) -> tuple[EvidenceFinder, ListRetriever]:
    source = ListRetriever(lambda query: [C, B] if "keeper" in query else [B, A, C])
    reply = {"questions": questions}
    return asking(EvidenceFinder, reply, retriever=source, **knobs)[0], source


async def test_the_passages_of_all_questions_in_order_without_repeats() -> None:
    node, source = finder(["Who was keeper?", "When was it lit?"], passages_per_query=2)
    update = await node(state())
    assert source.queries == ["Who was keeper?", "When was it lit?"]
    assert update["short_term"] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("questions", "searched"),
    [(["", "One?", "One?", "Two?", "Three?"], ["One?", "Two?"]), ([" "], [CLAIM])],
    ids=["more than asked for, and a blank one", "none, so that the claim is searched for"],
)
async def test_which_questions_are_searched_for(questions: list[str], searched: list[str]) -> None:
    node, source = finder(questions, queries=2)
    await node(state())
    assert source.queries == searched


@pytest.mark.parametrize("retriever", [True, False])
async def test_documents_that_came_with_the_question_replace_the_retriever(retriever: bool) -> None:
    node, source = finder(["Who was the keeper?", "When was it lit?"], passages_per_query=1)
    given = state(documents=["The keeper was Bo.", "It was lit in May.", "Cats."])
    update: Any = await (node if retriever else replace(node, retriever=None))(given)
    assert [p.text for p in update["passages"]] == ["The keeper was Bo.", "It was lit in May."]
    assert update["short_term"] == [p.id for p in update["passages"]]
    assert source.queries == []


async def test_without_anything_to_search_no_question_is_asked() -> None:
    node, _ = asking(EvidenceFinder)
    assert await node(state()) == {"short_term": []}
    assert await node(state(documents=[])) == {"short_term": []}


async def test_a_retriever_that_fails_is_an_error_and_not_an_empty_memory() -> None:
    def fail(query: str) -> list[Passage]:
        raise RetrievalError("The index is gone")

    node = replace(finder(["Who?"])[0], retriever=ListRetriever(fail))
    with pytest.raises(RetrievalError, match="The index is gone"):
        await node(state())


SPENT = Usage(llm_calls=1, prompt_tokens=9, seconds=1.0)


@pytest.mark.parametrize(
    ("unit", "spent"), [("calls", "1 call"), ("tokens", "1 token"), ("seconds", "1 seconds")]
)
async def test_a_budget_that_allows_no_call_leaves_the_memory(unit: str, spent: str) -> None:
    node, source = finder(["Who?"])
    with use_meter(Meter(SPENT, BudgetSettings.model_validate({unit: 1}))):
        update = await node(state())
    assert (update, source.queries) == ({"stop": f"The budget of {spent} is spent."}, [])
