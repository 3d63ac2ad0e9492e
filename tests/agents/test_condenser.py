"""SUMM and SNIPPET: passages in short, without those that do not help."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.condenser import Condenser, is_irrelevant
from citeproof.testing import ScriptedChatModel
from citeproof.tools.meter import Meter, metered
from tests.agents.states import A, B, C, state


def condenser(reply: Any, **knobs: Any) -> tuple[Condenser, ScriptedChatModel]:
    model = ScriptedChatModel(reply)
    return Condenser(LLM(model), **knobs), model


BY_PASSAGE = {A.text: "Lee built it.", B.text: "Irrelevant.", C.text: "Ray kept it."}


async def test_each_passage_is_shortened_and_the_irrelevant_ones_are_forgotten() -> None:
    node, model = condenser(BY_PASSAGE)
    update = await node(state(long_term=["c", "a", "b"]))
    assert update == {
        "summaries": {"a": "Lee built it.", "c": "Ray kept it."},
        "long_term": ["c", "a"],
    }
    assert len(model.calls) == 3
    assert all(call.prompt.count("<passage") == 1 for call in model.calls)


async def test_where_none_is_relevant_the_first_is_read_in_full() -> None:
    node, _ = condenser(lambda _: "irrelevant")
    with metered(Meter()) as meter:
        assert await node(state()) == {"summaries": {}, "long_term": ["a"]}
    assert meter.notes == ["condenser: no passage was called relevant; the first was read in full"]


@pytest.mark.parametrize(
    ("style", "asked"), [("summary", "Summarize what"), ("snippet", "Copy from this passage")]
)
async def test_what_is_asked_goes_by_the_style(style: Any, asked: str) -> None:
    node, model = condenser(lambda _: "x", style=style, summary_tokens=41)
    await node(state())
    assert all(asked in call.prompt for call in model.calls)
    assert {call.arguments["max_tokens"] for call in model.calls} == {41}


async def test_no_passages_call_nobody() -> None:
    node, model = condenser([])
    assert await node(state(long_term=[])) == {"summaries": {}, "long_term": []}
    assert model.calls == []


@pytest.mark.parametrize(
    ("text", "irrelevant"),
    [
        ("irrelevant", True),
        ('"Irrelevant."', True),
        (
            "Irrelevant. The passage is about cats and says nothing that would help in any way.",
            True,
        ),
        ("The passage is irrelevant to the question.", True),
        ("This passage is not relevant.", True),
        ("Lee built the tower.", False),
        (
            "The judge found the letter of the keeper irrelevant, and so the old tower was sold at "
            "auction to Ann Lee in 1871.",
            False,
        ),
    ],
)
def test_what_counts_as_irrelevant(text: str, irrelevant: bool) -> None:
    assert is_irrelevant(text) is irrelevant
