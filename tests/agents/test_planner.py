"""The planner turns feedback into a list of actions."""

from __future__ import annotations

import pytest

from citeproof import LLM
from citeproof.agents.planner import AGAIN, MOST, Planner, read_actions
from citeproof.runtime.meter import Meter, use_meter
from citeproof.testing import ScriptedChatModel
from tests.agents.states import FAULTY, reflecting

EARLIER = FAULTY.model_copy(update={"actions": ("Old.",)})
LAST = FAULTY.model_copy(update={"number": 2})


def planner(*replies: str) -> tuple[Planner, ScriptedChatModel]:
    model = ScriptedChatModel(replies)
    return Planner(LLM(model)), model


async def test_the_last_round_gets_the_actions() -> None:
    node, _ = planner("1. Cite [1] instead of [2].\n2. Stop.")
    update = await node(reflecting(rounds=[EARLIER, LAST]))
    assert update["rounds"] == [
        EARLIER,
        LAST.model_copy(update={"actions": ("Cite [1] instead of [2].", "Stop.")}),
    ]


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ("Actions:\n- **Cite [1].**\n- Cite [1].\n* Leave it.", ("Cite [1].", "Leave it.")),
        ("1) One.\n2) –\n\n3) Three  things.", ("One.", "Three things.")),
        ("1871 was the year.\nNothing to do.", ()),
        ("", ()),
    ],
)
def test_the_items_of_a_list(reply: str, actions: tuple[str, ...]) -> None:
    assert read_actions(reply) == actions


def test_no_more_than_the_first_few() -> None:
    listed = "\n".join(f"{n}. Do {n}." for n in range(1, 10))
    assert read_actions(listed) == tuple(f"Do {n}." for n in range(1, MOST + 1))


async def test_a_reply_without_a_list_is_asked_for_once_more() -> None:
    node, model = planner("Nothing.", "1. Cite [1].")
    with use_meter(Meter()) as meter:
        [done] = (await node(reflecting(rounds=[FAULTY])))["rounds"]
    assert done.actions == ("Cite [1].",)
    assert model.calls[1].prompt == f"{model.calls[0].prompt}\n\n{AGAIN}"
    assert meter.notes == []


async def test_then_there_are_no_actions() -> None:
    node, model = planner("Nothing.", "Nothing.")
    with use_meter(Meter()) as meter:
        assert await node(reflecting(rounds=[FAULTY])) == {}
    assert len(model.calls) == 2
    assert [note.split(":")[0] for note in meter.notes] == ["planner"]
