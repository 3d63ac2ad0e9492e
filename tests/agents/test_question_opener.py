"""A run that begins without passages."""

from __future__ import annotations

import pytest

from citeproof.agents.question_opener import QuestionOpener
from citeproof.errors import InputError


async def test_all_that_an_earlier_run_left_is_cleared() -> None:
    update = await QuestionOpener()({"question": "Who?"})
    assert update["stop"] == ""
    cleared = ("passages", "long_term", "short_term", "claims", "rejected", "dropped")
    assert [update[key] for key in cleared] == [[]] * 6  # type: ignore[literal-required]


@pytest.mark.parametrize("question", ["", " \n"])
async def test_an_empty_question_is_an_error(question: str) -> None:
    with pytest.raises(InputError, match="question is empty"):
        await QuestionOpener()({"question": question})
