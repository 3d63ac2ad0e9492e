"""The verifier LM reads what the main LM cited, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.answerer import VerifierLM
from citeproof.testing import ScriptedChatModel
from tests.agents.one_node import asking
from tests.agents.states import BUILT, LIT, candidate, claim


def verifier(*replies: str, **knobs: Any) -> tuple[VerifierLM, ScriptedChatModel]:
    return asking(VerifierLM, *replies, main_llm=LLM(ScriptedChatModel([])), **knobs)


@pytest.mark.parametrize("claims", [[], [claim(BUILT), claim(LIT)]])
async def test_nothing_cited_is_nothing_to_read_and_no_call(claims: list[Any]) -> None:
    node, model = verifier()
    assert await node(candidate(claims=claims)) == {"verifier_claims": []}
    assert model.calls == []


async def test_it_answers_in_the_form_and_length_of_the_main_lm() -> None:
    node, model = verifier("Ann Lee [1], Bo Ray [1]", form="list", answer_tokens=44)
    said = (await node(candidate(claims=[claim("Ann Lee", 1)])))["verifier_claims"]
    assert [c.text for c in said] == ["Ann Lee", "Bo Ray"]
    assert model.calls[0].arguments["max_tokens"] == 44
