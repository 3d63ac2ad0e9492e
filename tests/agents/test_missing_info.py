"""Missing info asks for what the chosen passages lack."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.retrieval_verifier import MissingInfo
from citeproof.testing import ScriptedChatModel
from tests.agents.one_node import asking, noted
from tests.agents.states import search_state
from tests.graphs.llatrieval_scripts import shown


def node(reply: str, **knobs: Any) -> tuple[MissingInfo, ScriptedChatModel]:
    return asking(MissingInfo, reply, **knobs)


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("Bo Ray kept it. He left in 1902.", "Bo Ray kept it. He left in 1902."),
        ("Bo Ray kept it.\n\nHe left.", "Bo Ray kept it. He left."),
        ("Passage: Bo Ray kept it [1].", "Bo Ray kept it."),
        ('**Missing passage:** "Bo Ray kept it."', "Bo Ray kept it."),
    ],
)
async def test_a_pseudo_passage(reply: str, query: str) -> None:
    writer, model = node(reply)
    assert await writer(search_state()) == {"query": query}
    assert "as a short passage" in model.calls[0].prompt
    assert shown(model.calls[0].prompt) == ["a", "b"]


@pytest.mark.parametrize(
    "reply", ["Who was Bo?", "\nWho was Bo?\nWho was Al?", 'Question: "Who was Bo?"']
)
async def test_a_question(reply: str) -> None:
    writer, model = node(reply, query_style="question")
    assert await writer(search_state()) == {"query": "Who was Bo?"}
    assert "one new question" in model.calls[0].prompt


async def test_before_the_first_search_it_is_a_hypothetical_answer_in_either_style() -> None:
    writer, model = node("Bo Ray kept it.", query_style="question")
    update = await writer(search_state(long_term=[], passages=[], rounds=[]))
    assert update == {"query": "Bo Ray kept it."}
    assert "as a short passage" in model.calls[0].prompt
    assert "(none)" in model.calls[0].prompt


@pytest.mark.parametrize("reply", ["", "  ", "Question:", "[1]", '""'])
async def test_an_empty_reply_leaves_the_question(reply: str) -> None:
    writer, _ = node(reply)
    update, [note] = await noted(writer(search_state(query="x")))
    assert (update, note.split(":")[0]) == ({"query": "Who?"}, "missing_info")
