"""The language model orders candidates, window by window."""

from __future__ import annotations

import re
from typing import Any

import pytest

from citeproof import LLM
from citeproof.errors import InputError
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import BudgetSettings
from citeproof.testing import ListRetriever, ScriptedChatModel, passage
from citeproof.tools.retrieval.rankgpt import RankGPTRetriever, permutation

POOL = [passage(f"Worth {n}.", id=str(n)) for n in (3, 1, 9, 4, 2, 7, 5, 8)]


def by_worth(prompt: str) -> str:
    """What a good model would say: the passages by what they are worth, the highest first."""
    worths = [int(n) for n in re.findall(r"Worth (\d)", prompt)]
    order = sorted(range(len(worths)), key=lambda place: -worths[place])
    return " > ".join(f"[{place + 1}]" for place in order)


def ranker(reply: Any = by_worth, **knobs: Any) -> tuple[RankGPTRetriever, ScriptedChatModel]:
    model = ScriptedChatModel(reply)
    return RankGPTRetriever(ListRetriever(lambda _: POOL), LLM(model), **knobs), model


async def found(made: RankGPTRetriever, k: int) -> list[int]:
    return [int(one.id) for one in await made.retrieve("Which?", k)]


async def test_one_window_orders_all() -> None:
    made, model = ranker()
    assert await found(made, 4) == [9, 8, 7, 5]
    [call] = model.calls
    task = "Rank the 8 passages by how much they help to answer this question: Which?"
    assert task in call.prompt


async def test_windows_go_from_the_last_to_the_first_and_the_best_rise() -> None:
    made, model = ranker(window=4, step=2)
    assert await found(made, 2) == [9, 8], "the last candidate has risen through all windows"
    shown = [re.findall(r"Worth (\d)", call.prompt) for call in model.calls]
    assert shown == [["2", "7", "5", "8"], ["9", "4", "8", "7"], ["3", "1", "9", "8"]]


async def test_windows_that_do_not_divide_the_candidates_reach_the_first() -> None:
    made, model = ranker(window=3, step=2)
    assert (await found(made, 8))[0] == 9
    assert [call.prompt.count("<passage") for call in model.calls] == [3, 3, 3, 2]


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[2] > [1] > [3]", [2, 1, 3]),
        ("Of the 3 passages: [3] > [2]", [3, 2, 1]),
        ("3, 1", [3, 1, 2]),
        ("[ 2 ]", [2, 1, 3]),
        ("I cannot rank them.", [1, 2, 3]),
        ("", [1, 2, 3]),
        ("[3] > [3] > [99] > [0] > [2]", [3, 2, 1]),
    ],
)
def test_any_reply_is_a_permutation(reply: str, order: list[int]) -> None:
    assert permutation(reply, 3) == order


async def test_an_order_that_cannot_be_read_is_noted() -> None:
    made, _ = ranker(lambda _: "They are all good.")
    with use_meter(Meter()) as meter:
        assert await found(made, 3) == [3, 1, 9]
    assert meter.notes == ["rankgpt: no order could be read; the passages stayed as they were"]


async def test_a_spent_budget_keeps_what_is_ordered_by_then() -> None:
    made, model = ranker(window=4, step=2)
    with use_meter(Meter(budget=BudgetSettings(calls=1))) as meter:
        assert await found(made, 8) == [3, 1, 9, 4, 8, 7, 5, 2]
    assert len(model.calls) == 1
    assert meter.notes == ["rankgpt: not all passages were ranked (The budget of 1 call is spent)"]


async def test_long_passages_are_cut_for_the_model_only() -> None:
    long = [passage("word " * 400, id="long"), POOL[0]]
    model = ScriptedChatModel(["[1] > [2]"])
    made = RankGPTRetriever(ListRetriever(lambda _: long), LLM(model))
    assert await made.retrieve("Which?", 2) == long
    assert model.calls[0].prompt.count("word ") < 310


async def test_one_candidate_needs_no_call() -> None:
    model = ScriptedChatModel([])
    made = RankGPTRetriever(ListRetriever(lambda _: POOL[:1]), LLM(model))
    assert await made.retrieve("Which?", 3) == POOL[:1]


@pytest.mark.parametrize("knobs", [{"window": 1}, {"step": 0}, {"window": 4, "step": 5}])
def test_windows_that_make_no_sense_are_refused(knobs: dict[str, int]) -> None:
    with pytest.raises(InputError, match="cannot be moved by"):
        ranker(**knobs)


async def test_k_is_at_least_1() -> None:
    with pytest.raises(InputError, match="0 passages"):
        await ranker()[0].retrieve("Which?", 0)
