"""The initializer writes the first answer with the demonstration in sight."""

from __future__ import annotations

from citeproof import LLM
from citeproof.agents.initializer import Initializer
from citeproof.testing import ScriptedChatModel
from tests.agents.calm_states import BUILT
from tests.agents.r2_mga_states import reflecting


async def test_the_demonstration_of_the_state_stands_after_the_passages() -> None:
    model = ScriptedChatModel(["Ann Lee built the tower [1][101]."])
    node = Initializer(LLM(model), answer_tokens=50, may_abstain=True)
    [claim] = (await node(reflecting(demonstration="<example>E</example>")))["claims"]
    assert (claim.text, [c.number for c in claim.citations]) == (BUILT, [1])
    [call] = model.calls
    assert call.prompt.index("</passage>") < call.prompt.index("<example>E</example>")
    assert call.prompt.index("<example>E</example>") < call.prompt.index("Answer this question")
    assert call.arguments["max_tokens"] == 50
    assert "write only DONE" in call.prompt


async def test_no_passages_is_no_answer_and_no_call() -> None:
    model = ScriptedChatModel([])
    assert await Initializer(LLM(model))(reflecting(long_term=[])) == {"claims": []}
