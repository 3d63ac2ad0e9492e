"""A second search, with possible answers from the first."""

from __future__ import annotations

import pytest

from citeproof import LLM
from citeproof.errors import InputError, ModelOutageError
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import BudgetSettings
from citeproof.testing import ListRetriever, ScriptedChatModel
from citeproof.tools.retrieval.lamer import LAMERRetriever
from citeproof.types import Usage
from tests.agents.states import A, B, C


def lamer(*replies: object) -> tuple[LAMERRetriever, ListRetriever, ScriptedChatModel]:
    source = ListRetriever(lambda query: [A] if "Lee" in query else [B, C])
    model = ScriptedChatModel(list(replies))  # type: ignore[arg-type]
    made = LAMERRetriever(source, LLM(model, retries=0), answers=len(replies) or 1, shown=2)
    return made, source, model


async def test_question_and_each_different_answer_are_searched_for() -> None:
    made, source, model = lamer("Ann Lee\ndid [1].", "Ann Lee did.", "Ann Lee did.")
    assert await made.retrieve("Who?", 2) == [A]
    assert source.queries == ["Who?", "Who? Ann Lee did."]
    assert len(model.calls) == 3
    for call in model.calls:
        assert B.text in call.prompt
        assert C.text in call.prompt
        assert (call.role, call.arguments["temperature"]) == ("lamer", 0.7)


async def test_several_answers_make_a_longer_query() -> None:
    made, source, _ = lamer("Lee.", "Ray.")
    await made.retrieve("Who?", 2)
    assert sorted(source.queries[1].split(" Who? ")) in (
        ["Ray.", "Who? Lee."],
        ["Lee.", "Who? Ray."],
    )


async def test_both_searches_are_counted() -> None:
    made, _, _ = lamer("Lee.")
    with use_meter(Meter()) as meter:
        await made.retrieve("Who?", 2)
    assert meter.used.retrievals == 1, "beside the one that the caller counts"


async def test_no_answer_leaves_the_question() -> None:
    made, source, _ = lamer("", "…")
    with use_meter(Meter()) as meter:
        assert await made.retrieve("Who?", 2) == [B, C]
    assert source.queries == ["Who?", "Who?"]
    assert meter.notes == ["lamer: no possible answer, the question itself was searched for"]


async def test_a_spent_budget_leaves_the_question() -> None:
    made, source, model = lamer("Lee.", "Lee.")
    spent = Meter(before=Usage(llm_calls=1), budget=BudgetSettings(calls=1))
    with use_meter(spent) as meter:
        assert await made.retrieve("Who?", 2) == [B, C]
    assert (source.queries, model.calls) == (["Who?", "Who?"], [])
    assert meter.notes[0].startswith("lamer: the question itself was searched for (The budget")


async def test_an_outage_is_an_error() -> None:
    made, _, _ = lamer(ConnectionError("gone"))
    with pytest.raises(ModelOutageError, match="gone"):
        await made.retrieve("Who?", 2)


async def test_an_empty_query_finds_nothing() -> None:
    made, source, _ = lamer()
    assert await made.retrieve(" ", 2) == []
    assert source.queries == []
    with pytest.raises(InputError, match="0 passages"):
        await made.retrieve("x", 0)
