"""The planner turns feedback into a list of actions."""

from __future__ import annotations

import pytest

from citeproof.agents.planner import AGAIN, MOST, Planner, read_actions
from tests.agents.one_node import asking, noted
from tests.agents.states import FAULTY, reflecting

EARLIER = FAULTY.model_copy(update={"actions": ("Old.",)})
LAST = FAULTY.model_copy(update={"number": 2})


async def test_the_last_round_gets_the_actions() -> None:
    node, _ = asking(Planner, "1. Cite [1] instead of [2].\n2. Stop.")
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
        (
            "\n".join(f"{n}. Do {n}." for n in range(1, 10)),
            tuple(f"Do {n}." for n in range(1, MOST + 1)),
        ),
    ],
)
def test_the_items_of_a_list(reply: str, actions: tuple[str, ...]) -> None:
    assert read_actions(reply) == actions


async def test_a_reply_without_a_list_is_asked_for_once_more() -> None:
    node, model = asking(Planner, "Nothing.", "1. Cite [1].")
    update, notes = await noted(node(reflecting(rounds=[FAULTY])))
    assert (update["rounds"][0].actions, notes) == (("Cite [1].",), [])
    assert model.calls[1].prompt == f"{model.calls[0].prompt}\n\n{AGAIN}"
