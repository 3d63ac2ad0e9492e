"""An answer without passages."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.closedbook_answerer import ClosedbookAnswerer
from citeproof.prompts.demonstrations import demonstrations
from citeproof.testing import ScriptedChatModel


def answerer(reply: str, **knobs: Any) -> tuple[ClosedbookAnswerer, ScriptedChatModel]:
    model = ScriptedChatModel([reply])
    return ClosedbookAnswerer(LLM(model), **knobs), model


@pytest.mark.parametrize(
    ("form", "reply", "texts"),
    [
        (
            "prose",
            "Answer: Ann Lee built it [1]. It is white.",
            ["Ann Lee built it.", "It is white."],
        ),
        ("list", "Ann Lee, Bo Ray", ["Ann Lee", "Bo Ray"]),
        ("short", "June 5, 1871.", ["June 5, 1871"]),
        ("prose", "", []),
    ],
)
async def test_the_answer_is_claims_that_cite_nothing(form: Any, reply: str, texts: Any) -> None:
    node, _ = answerer(reply, form=form)
    claims = (await node({"question": "Who built it?"}))["claims"]
    assert [claim.text for claim in claims] == texts
    assert all(not claim.citations for claim in claims)


@pytest.mark.parametrize("shots", [0, 2])
async def test_the_prompt_speaks_of_no_passages(shots: int) -> None:
    node, model = answerer("x", shots=shots, temperature=0.2)
    await node({"question": "Who built it?"})
    [call] = model.calls
    assert "passage" not in call.prompt
    assert "[1]" not in call.prompt
    assert call.prompt.endswith("Question: Who built it?\nAnswer:")
    assert call.prompt.count("Question: ") == shots + 1
    assert (demonstrations("prose")[0].question in call.prompt) is (shots > 0)
    assert call.arguments["temperature"] == 0.2


async def test_questions_that_the_model_adds_are_cut_off() -> None:
    node, _ = answerer("Ann Lee built it.\nQuestion: Why?\nAnswer: For fun.")
    [claim] = (await node({"question": "Who built it?"}))["claims"]
    assert claim.text == "Ann Lee built it."
