"""The document selector keeps the best k of D and a window."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citeproof.agents.document_selector import DocumentSelector
from citeproof.testing import ScriptedChatModel
from tests.agents.one_node import asking, noted
from tests.agents.states import search_state
from tests.graphs.llatrieval_scripts import shown


def selector(*replies: Any, **knobs: Any) -> tuple[DocumentSelector, ScriptedChatModel]:
    said = [json.dumps({"numbers": r}) if isinstance(r, list) else r for r in replies]
    return asking(DocumentSelector, *said, **{"k": 2, "window": 3, **knobs})


async def test_d_stands_first_and_the_window_follows_in_retrieval_order() -> None:
    """One that is in both is shown once."""
    node, model = selector([4], k=3)
    update = await node(search_state(long_term=["b", "a"], waiting=list("hacdefg")))
    assert shown(model.calls[0].prompt) == ["b", "a", "h", "c"]
    assert "Choose 3 of these" in model.calls[0].prompt
    assert "numbered 1 to 4." in model.calls[0].prompt
    assert update["long_term"] == ["c", "b", "a"]
    assert update["waiting"] == ["d", "e", "f", "g"]
    node, _ = selector([4], k=3)
    update = await node(search_state(long_term=["a"], waiting=list("dcbe")))
    assert update["long_term"] == ["b", "a", "d"]


@pytest.mark.parametrize(
    ("numbers", "chosen"),
    [
        ([3, 4], ["c", "d"]),
        ([4, 3, 5, 1], ["d", "c"]),  # more than k
        ([9, 3, 0, -1, 4], ["c", "d"]),  # out of range
        ([3, 3, 3, 4], ["c", "d"]),  # repeated
        ([5], ["e", "a"]),  # too few: filled up from D in order
        ([2], ["b", "a"]),
        ([9, 9], ["a", "b"]),
        ([], ["a", "b"]),
    ],
)
async def test_numbers_that_are_wrong_or_missing(numbers: list[int], chosen: list[str]) -> None:
    node, _ = selector(numbers)
    assert (await node(search_state()))["long_term"] == chosen


@pytest.mark.parametrize("reply", ["the second one", '{"numbers": "two"}', '{"n": [1]}', "[3, 4]"])
async def test_an_unreadable_reply_is_asked_for_once_more_then_d_stays(reply: str) -> None:
    node, model = selector(reply, reply)
    update, [note] = await noted(node(search_state()))
    assert (update["long_term"], update["waiting"]) == (["a", "b"], ["f", "g", "h"])
    assert (len(model.calls), note.split(":")[0]) == (2, "document_selector")


async def test_with_no_more_than_k_there_is_nothing_to_ask() -> None:
    node, model = selector(k=5)
    update = await node(search_state(waiting=["c"]))
    assert update["long_term"] == ["a", "b", "c"]
    assert model.calls == []
