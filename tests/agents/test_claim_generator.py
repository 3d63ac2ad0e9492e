"""The claim generator writes one sentence, or finishes."""

from typing import Any

import pytest

from citeproof import Claim, Verdict
from citeproof.agents.claim_generator import STATES, ClaimGenerator, sentences
from citeproof.errors import VerifierOutageError
from citeproof.state import Draft
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair
from citeproof.tools.llm.model import LLM
from tests.agents.one_node import asking, noted
from tests.agents.states import BUILT, CLAIM, LIT, B, claim, state

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


@pytest.mark.parametrize(
    ("reply", "accepted", "score", "drafted"),
    [
        (LIT, [BUILT], 0.3, False),
        (LIT, [BUILT], 0.4, True),
        (LIT, [], 0.3, True),
        ("It was first lit in 1871.", [BUILT], 0.3, True),
    ],
)
async def test_an_answer_ends_where_only_a_passage_is_copied_on(
    reply: str, accepted: list[str], score: float, drafted: bool
) -> None:
    scored = TableEntailment(lambda *_: score, threshold=0.5)
    given = state(draft=None, claims=[claim(text) for text in accepted])
    node, _ = asking(ClaimGenerator, reply, answerability=scored)
    assert bool((await node(given))["draft"]) is drafted
    pair = Pair(B.premise, "Who built the tower?")
    assert scored.pairs == ([pair] if reply == LIT and accepted else [])
    node, _ = asking(ClaimGenerator, reply, answerability=scored, check_answer=False)
    assert (await node(given))["draft"]


async def test_an_outage_of_the_verifier_ends_no_answer() -> None:
    def fail(*_: str) -> float:
        raise VerifierOutageError("down")

    down = TableEntailment(fail)
    node, _ = asking(ClaimGenerator, LIT, answerability=down)
    update, notes = await noted(node(state(draft=None, claims=[claim(BUILT)])))
    assert update["draft"].text == LIT
    assert notes == ["whether a sentence answers the question was not checked: down."]


@pytest.mark.parametrize(
    ("question", "accepted", "begun"),
    [
        ("Is subletting allowed?", [], STATES),
        ("Is subletting allowed?", [CLAIM], CLAIM),
        ("Who may sublet?", [], ""),
    ],
)
async def test_the_first_sentence_on_a_question_for_yes_or_no_is_begun(
    question: str, accepted: list[str], begun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that goes on with a reply then states the rule; small ones say yes to anything."""
    monkeypatch.setattr(LLM, "goes_on", True)
    node, model = asking(ClaimGenerator, " subletting is forbidden.")
    claims = [Claim(text=text, verdict=Verdict(status="unchecked")) for text in accepted]
    update: Any = await node(state(question=question, draft=None, claims=claims))
    assert update["draft"].text.lower() == "subletting is forbidden."
    asked = model.calls[0].prompt
    assert asked.endswith(f"\n\n{begun}") if begun else STATES not in asked
