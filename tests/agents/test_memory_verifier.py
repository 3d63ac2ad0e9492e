"""The second tier reads the whole memory."""

from citeproof import Verdict
from citeproof.agents.memory_verifier import MemoryVerifier
from citeproof.state import Draft
from citeproof.testing import TableEntailment
from tests.agents.states import CLAIM, state


async def test_a_supported_claim_cites_the_memory() -> None:
    entailment = TableEntailment(lambda premise, claim: 0.8, threshold=0.5)
    update = await MemoryVerifier(entailment)(state(short_term=["c"]))
    verdict = Verdict(status="supported", tier="memory", score=0.8, trials=1)
    assert update == {"draft": Draft(text=CLAIM, cited=("a", "b", "c"), verdict=verdict)}
    [pair] = entailment.pairs
    assert pair.premise.count("Title:") == 3


async def test_a_failed_claim_keeps_its_own_citations_and_is_rejected() -> None:
    update = await MemoryVerifier(TableEntailment({}, default=0.2))(state(rejected=["before"]))
    verdict = Verdict(status="unsupported", tier="memory", score=0.2, trials=2)
    assert update == {
        "draft": Draft(text=CLAIM, cited=("a",), verdict=verdict),
        "rejected": ["before", CLAIM],
    }
