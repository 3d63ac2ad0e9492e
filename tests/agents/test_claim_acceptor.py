"""The claim acceptor appends the claim and evolves the memory."""

from __future__ import annotations

from citeproof import Citation, Claim, Verdict
from citeproof.agents.claim_acceptor import ClaimAcceptor
from citeproof.state import Draft
from tests.agents.states import CLAIM, state

PROVED = Verdict(status="supported", tier="memory", score=0.9)
FAILED = Verdict(status="unsupported", tier="memory", score=0.1, trials=3)
CLAIMED = Claim(
    text=CLAIM,
    citations=(Citation(passage_id="a", number=1, sentence="Ann Lee built the tower."),),
    verdict=PROVED,
)


async def test_a_proved_claim_brings_its_passages_into_the_long_term_memory() -> None:
    draft = Draft(text=CLAIM, cited=("c",), verdict=PROVED)
    update = await ClaimAcceptor()(state(draft=draft, short_term=["c"], rejected=["x"]))
    assert update["long_term"] == ["a", "b", "c"]
    assert update["rejected"] == []
    assert update["draft"] is None


async def test_the_claim_has_its_run_numbers_and_supporting_sentences() -> None:
    update = await ClaimAcceptor()(state(draft=Draft(text=CLAIM, cited=("a",), verdict=PROVED)))
    assert update["claims"] == [CLAIMED]


async def test_an_unproved_claim_leaves_the_memory_alone() -> None:
    draft = Draft(text=CLAIM, cited=("c",), verdict=FAILED)
    update = await ClaimAcceptor(unverified="keep")(state(draft=draft))
    assert "long_term" not in update
    assert [claim.verdict for claim in update["claims"]] == [FAILED]
