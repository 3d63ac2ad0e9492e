"""One answerer for prose and for lists."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.form_answerer import FormAnswerer, read_claims, written_out
from citeproof.testing import ScriptedChatModel
from tests.agents.calm_states import candidate
from tests.agents.states import A, B


def answerer(reply: str, **knobs: Any) -> tuple[FormAnswerer, ScriptedChatModel]:
    model = ScriptedChatModel([reply])
    return FormAnswerer(LLM(model), **knobs), model


async def test_prose_is_the_answerers() -> None:
    node, _ = answerer("Ann Lee built the tower [1]. It was lit in 1871 [2][1].")
    claims = (await node(candidate()))["claims"]
    assert [(c.text, len(c.citations)) for c in claims] == [
        ("Ann Lee built the tower.", 1),
        ("It was lit in 1871.", 2),
    ]


async def test_every_name_of_a_list_is_a_claim_with_one_citation() -> None:
    node, _ = answerer("Answers: Ann Lee [9][2][1], Bo Ray [3], Cy Fox", form="list")
    claims = (await node(candidate()))["claims"]
    assert [(c.text, [x.number for x in c.citations]) for c in claims] == [
        ("Ann Lee", [2]),
        ("Bo Ray", []),
        ("Cy Fox", []),
    ]
    assert claims[0].citations[0].passage_id == "b"
    assert claims[0].verdict.status == "unchecked"


def test_a_list_that_is_written_out_is_read_as_it_was() -> None:
    passages = {1: A, 2: B}
    claims = read_claims("Rome [1], Oslo [9], Bonn [2], Kyiv", passages, "list")
    assert [claim.text for claim in claims] == ["Rome", "Oslo", "Bonn", "Kyiv"]
    again = read_claims(written_out(claims, "list"), passages, "list")
    assert sorted(again, key=lambda claim: claim.text) == sorted(
        claims, key=lambda claim: claim.text
    )


async def test_the_prompt_of_a_list() -> None:
    node, model = answerer("x", form="list", answer_tokens=44, temperature=0.5)
    await node.write("Who?", {2: B, 1: A})
    [call] = model.calls
    assert call.prompt.index("1871") < call.prompt.index("List the answers")
    for asked in ("exactly one number", "by commas", "at least five", "numbered 1, 2.", "as [1]"):
        assert asked in call.prompt
    assert (call.arguments["max_tokens"], call.arguments["temperature"]) == (44, 0.5)


async def test_a_short_answer_is_one_claim_with_up_to_three_citations() -> None:
    node, model = answerer("Answer: June 5, 1871 [2][9][1].\nIt rained.", form="short")
    [claim] = (await node(candidate()))["claims"]
    assert (claim.text, [x.number for x in claim.citations]) == ("June 5, 1871", [2, 1])
    assert "in as few words as possible" in model.calls[0].prompt


@pytest.mark.parametrize("form", ["prose", "list", "short"])
async def test_a_demonstration_stands_before_the_task(form: Any) -> None:
    node, model = answerer("x", form=form, demonstration="DEMO")
    await node(candidate())
    [call] = model.calls
    assert call.prompt.index("1871") < call.prompt.index("DEMO") < call.prompt.rindex("tower?")


@pytest.mark.parametrize("form", ["prose", "list", "short"])
async def test_no_passages_is_no_answer_and_no_call(form: Any) -> None:
    node, model = answerer("Made up [1]", form=form)
    assert await node(candidate(short_term=[])) == {"claims": []}
    assert model.calls == []
