"""The model picks the most consistent of several answers."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.answer_selector import AnswerSelector
from citeproof.runtime.meter import Meter, use_meter
from citeproof.testing import ScriptedChatModel
from tests.agents.baseline_states import sampled
from tests.agents.calm_states import BUILT, KEPT, LIT, claim
from tests.agents.states import A

THREE = [[claim(BUILT, 1)], [claim(LIT, 2)], []]


def selector(*replies: Any, **knobs: Any) -> tuple[AnswerSelector, ScriptedChatModel]:
    model = ScriptedChatModel(list(replies))
    return AnswerSelector(LLM(model), **knobs), model


async def test_the_chosen_sample_is_the_answer_as_it_was_written() -> None:
    node, model = selector({"number": 2})
    assert await node(sampled(*THREE)) == {"claims": THREE[1]}
    [call] = model.calls
    assert "Answer 1: Ann Lee built the tower [1].\n\nAnswer 2: The tower was lit" in call.prompt
    assert "Answer 3: (no answer)" in call.prompt
    assert call.prompt.index(A.text) < call.prompt.index("These are 3 answers")


async def test_an_empty_sample_may_be_the_most_consistent() -> None:
    node, _ = selector({"number": 3})
    assert await node(sampled(*THREE)) == {"claims": []}


@pytest.mark.parametrize("replies", [("none", "none"), ({"number": 9},), ({"number": 0},) * 2])
async def test_a_reply_that_is_no_sample_keeps_the_first_and_is_noted(replies: Any) -> None:
    node, _ = selector(*replies)
    with use_meter(Meter()) as meter:
        assert await node(sampled(*THREE)) == {"claims": THREE[0]}
    assert [note[:42] for note in meter.notes] == ["answer_selector: the first answer was kept"]


async def test_samples_that_are_all_the_same_need_no_call() -> None:
    node, model = selector()
    assert await node(sampled(*[[claim(KEPT, 3)]] * 9)) == {"claims": [claim(KEPT, 3)]}
    assert model.calls == []


async def test_lists_are_shown_as_lists() -> None:
    node, model = selector({"number": 1}, form="list")
    await node(sampled([claim("Ann", 1), claim("Bo", 2)], []))
    assert "Answer 1: Ann [1], Bo [2]\n" in model.calls[0].prompt
