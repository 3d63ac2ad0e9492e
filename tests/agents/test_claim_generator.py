"""The claim generator writes one sentence, or finishes."""

import pytest

from citeproof import Claim, Verdict
from citeproof.agents.claim_generator import ClaimGenerator, sentences
from citeproof.state import Draft
from tests.agents.one_node import asking
from tests.agents.states import CLAIM, state

LONG = "The tall stone tower on the northern headland was lit in 1871"  # as if it were wrapped


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("Ann Lee built it.", ["Ann Lee built it."]),
        ("Ann Lee built it. Bo kept it.", ["Ann Lee built it.", "Bo kept it."]),
        ("\nAnn Lee built it.\n\nBo kept it.", ["Ann Lee built it.", "Bo kept it."]),
        ("Ann Lee built it. DONE", ["Ann Lee built it."]),
        ("Next sentence: Ann Lee built it [2].", ["Ann Lee built it."]),
        ('"Ann Lee built it."', ["Ann Lee built it."]),
        ("Done Deal was released in 1998.", ["Done Deal was released in 1998."]),
        ("Donegal is a county.", ["Donegal is a county."]),
        (f"{LONG}\nDONE", [LONG]),
        ("DONE", []),
        ("Done. The answer is complete.", []),
        ("[1][2]", []),
        ('{"foo": 12}', []),
        ('```json\n{"citations": [1]}\n```', []),
        ("\u200b \t", []),
        ("", []),
    ],
)
def test_the_sentences_of_a_reply(reply: str, found: list[str]) -> None:
    assert sentences(reply) == found


async def test_what_is_written_already_is_passed_over() -> None:
    accepted = [Claim(text=CLAIM, verdict=Verdict(status="unchecked"))]
    node, _ = asking(ClaimGenerator, f"{CLAIM} It was lit in 1871.")
    draft = (await node(state(draft=None, claims=accepted)))["draft"]
    assert draft == Draft(text="It was lit in 1871.")
