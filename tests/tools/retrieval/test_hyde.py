"""A search for what the model makes up."""

from __future__ import annotations

import pytest

from citeproof import LLM
from citeproof.errors import InputError
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import BudgetSettings
from citeproof.testing import ListRetriever, ScriptedChatModel
from citeproof.tools.retrieval.hyde import HyDERetriever
from citeproof.types import Usage
from tests.agents.states import A, B


def hyde(*replies: str) -> tuple[HyDERetriever, ListRetriever, ScriptedChatModel]:
    source, model = ListRetriever(lambda _: [A, B]), ScriptedChatModel(list(replies))
    return HyDERetriever(source, LLM(model), passage_tokens=99), source, model


async def test_the_made_up_passage_is_searched_for() -> None:
    made, source, model = hyde("Ann Lee built\n the tower [1].")
    assert await made.retrieve("Who built it?", 1) == [A]
    assert source.queries == ["Ann Lee built the tower."]
    [call] = model.calls
    assert "answers this question: Who built it?" in call.prompt
    assert (call.role, call.arguments["max_tokens"]) == ("hyde", 99)


@pytest.mark.parametrize("reply", ["", " …\n"])
async def test_an_empty_reply_leaves_the_question(reply: str) -> None:
    made, source, _ = hyde(reply)
    with use_meter(Meter()) as meter:
        await made.retrieve("Who built it?", 2)
    assert source.queries == ["Who built it?"]
    assert meter.notes == ["hyde: an empty passage, the question itself was searched for"]


async def test_a_spent_budget_leaves_the_question() -> None:
    made, source, model = hyde("x")
    spent = Meter(before=Usage(llm_calls=1), budget=BudgetSettings(calls=1))
    with use_meter(spent) as meter:
        assert await made.retrieve("Who built it?", 2) == [A, B]
    assert (source.queries, model.calls) == (["Who built it?"], [])
    assert meter.notes == [
        "hyde: the question itself was searched for (The budget of 1 calls is spent)"
    ]


async def test_an_empty_query_finds_nothing() -> None:
    made, source, model = hyde()
    assert await made.retrieve(" ", 2) == []
    assert (source.queries, model.calls) == ([], [])
    with pytest.raises(InputError, match="0 passages"):
        await made.retrieve("x", 0)
