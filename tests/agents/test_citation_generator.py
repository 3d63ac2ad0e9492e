"""The citation generator names passages of the memory."""

import json

from citeproof import LLM
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.state import Draft
from citeproof.testing import ScriptedChatModel
from tests.agents.states import CLAIM, state


async def test_a_forgotten_passage_cannot_be_cited() -> None:
    node = CitationGenerator(LLM(ScriptedChatModel([json.dumps({"citations": [3]})])))
    assert await node(state()) == {"draft": Draft(text=CLAIM, cited=())}
