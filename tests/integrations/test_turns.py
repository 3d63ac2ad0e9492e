"""How many questions are answered at a time."""

from __future__ import annotations

import pytest

from citeproof import Settings
from citeproof.integrations.turns import questions_at_once

SERVED = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("llm", "roles", "most"),
    [
        ({}, {}, 1),
        (SERVED, {}, 8),
        (SERVED, {"judge": SERVED}, 8),
        (SERVED, {"judge": {"model": "local"}}, 1),
    ],
)
def test_an_embedded_model_in_any_role_takes_one_question_at_a_time(
    llm: dict[str, str], roles: dict[str, dict[str, str]], most: int
) -> None:
    assert questions_at_once(Settings.load(llm=llm, roles=roles)) == most
