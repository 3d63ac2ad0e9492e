"""The delegate lets another graph answer."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import build_vtg
from citeproof.agents.delegate import Delegate
from citeproof.errors import InputError
from citeproof.tools.meter import Meter, metered
from tests.graphs.scripts import BUILT, Script


async def test_the_answer_is_handed_on_as_it_is_and_its_cost_reported() -> None:
    script = Script(claims=[BUILT, "DONE"], citations=[[1]])
    with metered(Meter()) as meter:
        update = await Delegate(build_vtg(script.toolbox()))({"question": "Who?"})
    answer = update["answer"]
    assert (answer.method, answer.text) == ("vtg", "Ann Lee built the tower [1].")
    assert (update["case_id"], update["stop"]) == ("", "")
    assert meter.used == answer.usage


@pytest.mark.parametrize("question", ["", None])
async def test_an_empty_question_is_an_error_before_the_graph_is_asked(question: Any) -> None:
    with pytest.raises(InputError, match="question is empty"):
        await Delegate(None)({"question": question})
