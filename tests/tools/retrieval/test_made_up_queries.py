"""Searches for what the model makes up: HyDE's passage, and LAMER's possible answers."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.errors import InputError, ModelOutageError
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import BudgetSettings
from citeproof.testing import ListRetriever, ScriptedChatModel
from citeproof.tools.retrieval.made_up_queries import HyDERetriever, LAMERRetriever
from citeproof.types import Usage
from tests.agents.states import A, B, C


def retriever(kind: str, *replies: Any) -> tuple[Any, ListRetriever, ScriptedChatModel]:
    source = ListRetriever(lambda query: [A] if "Lee" in query else [B, C])
    model = ScriptedChatModel(list(replies))
    llm = LLM(model, retries=0)
    if kind == "hyde":
        return HyDERetriever(source, llm, passage_tokens=99), source, model
    return LAMERRetriever(source, llm, answers=len(replies), shown=2), source, model


async def test_hyde_searches_for_the_passage_in_place_of_the_question() -> None:
    made, source, model = retriever("hyde", "Ann Lee built\n the tower [1].")
    assert await made.retrieve("Who built it?", 1) == [A]
    assert source.queries == ["Ann Lee built the tower."]
    [call] = model.calls
    assert "answers this question: Who built it?" in call.prompt
    assert (call.role, call.arguments["max_tokens"]) == ("hyde", 99)


async def test_lamer_searches_for_the_question_and_each_different_answer() -> None:
    made, source, model = retriever("lamer", "Ann Lee\ndid [1].", "Ann Lee did.", "Ray.")
    with use_meter(Meter()) as meter:
        assert await made.retrieve("Who?", 2) == [A]
    first, second = source.queries
    assert first == "Who?"
    assert second in ("Who? Ann Lee did. Who? Ray.", "Who? Ray. Who? Ann Lee did.")
    assert meter.used.retrievals == 1, "beside the one that the caller counts"
    assert len(model.calls) == 3
    for call in model.calls:
        assert B.text in call.prompt
        assert C.text in call.prompt
        assert (call.role, call.arguments["temperature"]) == ("lamer", 0.7)


@pytest.mark.parametrize(
    ("kind", "replies", "note"),
    [
        ("hyde", [""], "an empty passage"),
        ("hyde", [" …\n"], "an empty passage"),
        ("lamer", ["", "…"], "no possible answer"),
    ],
)
async def test_without_words_the_question_is_left(kind: str, replies: list[str], note: str) -> None:
    made, source, _ = retriever(kind, *replies)
    with use_meter(Meter()) as meter:
        assert await made.retrieve("Who?", 2) == [B, C]
    assert set(source.queries) == {"Who?"}
    assert meter.notes == [f"{kind}: {note}, the question itself was searched for"]


@pytest.mark.parametrize("kind", ["hyde", "lamer"])
async def test_a_spent_budget_leaves_the_question(kind: str) -> None:
    made, source, model = retriever(kind, "Lee.", "Lee.")
    spent = Meter(before=Usage(llm_calls=1), budget=BudgetSettings(calls=1))
    with use_meter(spent) as meter:
        assert await made.retrieve("Who?", 2) == [B, C]
    assert (set(source.queries), model.calls) == ({"Who?"}, [])
    told = "the question itself was searched for (The budget of 1 call is spent)"
    assert meter.notes == [f"{kind}: {told}"]


@pytest.mark.parametrize("kind", ["hyde", "lamer"])
async def test_an_outage_is_an_error_and_an_empty_query_finds_nothing(kind: str) -> None:
    made, source, _ = retriever(kind, ConnectionError("gone"))
    assert await made.retrieve(" ", 2) == []
    assert source.queries == []
    with pytest.raises(InputError, match="0 passages"):
        await made.retrieve("x", 0)
    with pytest.raises(ModelOutageError, match="gone"):
        await made.retrieve("Who?", 2)
