"""The second tier reads the whole memory."""

from citeproof import Verdict
from citeproof.agents.memory_verifier import MemoryVerifier
from citeproof.state import Draft
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Score
from tests.agents.states import CLAIM, state


async def test_a_supported_claim_cites_what_proves_it() -> None:
    entailment = TableEntailment(lambda premise, claim: 0.8 if "Light" in premise else 0.3)
    update = await MemoryVerifier(entailment)(state(short_term=["c"]))
    verdict = Verdict(status="supported", tier="memory", score=0.8, trials=1)
    assert update == {"draft": Draft(text=CLAIM, cited=("b",), verdict=verdict)}
    assert [pair.premise.count("Title:") for pair in entailment.pairs] == [1, 1, 1]


async def test_a_memory_that_only_as_a_whole_entails_the_claim_does_not_prove_it() -> None:
    entailment = TableEntailment(lambda premise, claim: premise.count("Title:") / 10 + 0.1)
    update = await MemoryVerifier(entailment)(
        state(long_term=[], short_term=[], passages=state()["passages"] * 2)
    )
    assert update["rejected"] == [CLAIM]


async def test_a_claim_that_a_passage_denies_is_contradicted() -> None:
    entailment = TableEntailment(lambda premise, _: Score(0.1, 0.9 if "Light" in premise else 0.0))
    given = state(draft=Draft(text="The light tower was lit in 1872.", cited=("a",)))
    draft = (await MemoryVerifier(entailment)(given))["draft"]
    assert draft is not None
    assert draft.verdict is not None
    assert (draft.verdict.status, draft.against) == ("contradicted", ("b",))
