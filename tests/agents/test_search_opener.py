"""The search opener starts a run from nothing."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.search_opener import SearchOpener
from citeproof.errors import InputError
from tests.agents.search_states import search_state


async def test_the_question_is_the_first_query_and_nothing_else_is_left() -> None:
    update: dict[str, Any] = dict(await SearchOpener()(search_state(stop="x", query="old")))
    assert update.pop("query") == "Who?"
    assert not any(update.values())
    assert update.keys() >= {"passages", "long_term", "waiting", "summaries", "rounds", "swaps"}


@pytest.mark.parametrize("question", ["", " \n", None, 3])
async def test_an_empty_question_is_an_error(question: Any) -> None:
    with pytest.raises(InputError, match="question is empty"):
        await SearchOpener()({"question": question})
