"""All claims of an answer are checked at once, each against what it cites."""

from __future__ import annotations

from citeproof.agents.claims_verifier import ClaimsVerifier
from citeproof.testing import TableEntailment
from tests.agents.states import BUILT, KEPT, LIT, A, B, candidate, claim, judged

TABLE = {("built", BUILT): 0.9, ("lit in 1871", LIT): 0.4}


async def test_each_claim_gets_a_verdict_in_one_batch() -> None:
    entailment = TableEntailment(TABLE)
    third = judged(claim(BUILT, 2, 1), "unsupported", trials=3)
    said = [third, claim(LIT, 2), claim(KEPT)]
    claims = (await ClaimsVerifier(entailment)(candidate(claims=said)))["claims"]
    assert [(c.verdict.status, c.verdict.tier, c.verdict.score) for c in claims] == [
        ("supported", "cited", 0.9),
        ("unsupported", "cited", 0.4),
        ("unsupported", "cited", 0.0),
    ]
    assert [(c.text, c.citations) for c in claims] == [(c.text, c.citations) for c in said]
    assert claims[0].verdict.trials == 3
    assert entailment.batches == [3], "each passage apart"
    assert [pair.premise for pair in entailment.pairs] == [A.premise, B.premise, B.premise]
    assert 'number="2"' in entailment.pairs[1].prefix


async def test_no_claims_need_no_model() -> None:
    entailment = TableEntailment(TABLE)
    assert await ClaimsVerifier(entailment)(candidate(claims=[])) == {"claims": []}
    assert entailment.batches == []
