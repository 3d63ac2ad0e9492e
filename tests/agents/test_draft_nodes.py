"""VTG's nodes that cite, verify, trim and accept the claim in hand."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from citeproof import Citation, Claim, Passage, Verdict
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.agents.claim_acceptor import ClaimAcceptor
from citeproof.agents.generation_verifier import GenerationVerifier, MemoryVerifier, Simplifier
from citeproof.state import Draft
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Score
from tests.agents.one_node import asking
from tests.agents.states import CLAIM, A, state


async def test_a_forgotten_passage_cannot_be_cited() -> None:
    node, _ = asking(CitationGenerator, {"citations": [3]})
    assert await node(state()) == {"draft": Draft(text=CLAIM, cited=())}


# The first tier reads the cited passages, each by itself


@pytest.mark.parametrize(("score", "status"), [(0.5, "supported"), (0.49, "unsupported")])
async def test_the_threshold_itself_counts_as_entailed(score: float, status: Any) -> None:
    entailment = TableEntailment({(A.premise, CLAIM): score}, threshold=0.5)
    draft = Draft(text=CLAIM, cited=("b", "a"))
    update = await GenerationVerifier(entailment)(state(draft=draft, rejected=["x"]))
    verdict = Verdict(status=status, tier="cited", score=score, trials=2)
    assert update == {"draft": draft.model_copy(update={"verdict": verdict})}


# The second tier reads the whole memory


async def test_a_supported_claim_cites_what_proves_it() -> None:
    entailment = TableEntailment(lambda premise, claim: 0.8 if "Light" in premise else 0.3)
    update = await MemoryVerifier(entailment)(state(short_term=["c"]))
    verdict = Verdict(status="supported", tier="memory", score=0.8, trials=1)
    assert update == {"draft": Draft(text=CLAIM, cited=("b",), verdict=verdict)}
    assert [pair.premise.count("Title:") for pair in entailment.pairs] == [1, 1, 1]


@pytest.mark.parametrize(("premise", "cited"), [("fewest", "b"), ("whole", "a")])
async def test_a_failed_claim_cites_what_comes_nearest(premise: Any, cited: str) -> None:
    entailment = TableEntailment(lambda premise, claim: 0.4 if "Light" in premise else 0.1)
    update: Any = await MemoryVerifier(entailment, premise)(state(short_term=["c"]))
    assert (update["draft"].cited, update["rejected"]) == ((cited,), [CLAIM])


async def test_a_claim_that_a_passage_denies_is_contradicted() -> None:
    entailment = TableEntailment(lambda premise, _: Score(0.1, 0.9 if "Light" in premise else 0.0))
    given = state(draft=Draft(text="The light tower was lit in 1872.", cited=("a",)))
    draft: Any = (await MemoryVerifier(entailment)(given))["draft"]
    assert (draft.verdict.status, draft.against) == ("contradicted", ("b",))


# The simplifier keeps a set from which no passage can be left out

PROVED = Verdict(status="supported", tier="cited", score=0.9)


def two_cited(verdict: Verdict | None = PROVED) -> Any:
    """A draft that cites <p> and <q>."""
    draft = Draft(text="claim", cited=("p", "q"), verdict=verdict)
    passages = [Passage(id=letter, text=f"<{letter}>") for letter in "pq"]
    return state(draft=draft, passages=passages, long_term=["p", "q"])


@pytest.mark.parametrize(("single", "kept", "score"), [(0.6, ("p",), 0.6), (0.1, ("p", "q"), 0.9)])
async def test_the_score_is_that_of_what_is_left(
    single: float, kept: tuple[str, ...], score: float
) -> None:
    model = TableEntailment(lambda premise, _: {"<p>": single, "<q>": 0.1}.get(premise, 0.9))
    left: Any = (await Simplifier(model)(two_cited()))["draft"]
    assert (left.cited, left.verdict.score) == (kept, score)


async def test_what_proves_nothing_keeps_its_citations() -> None:
    assert await Simplifier(TableEntailment({}))(two_cited(None)) == {}


async def test_what_the_simplifier_writes_can_be_kept_by_a_checkpointer() -> None:
    """The score of a model that knows contradictions is more than a number."""
    model = TableEntailment(lambda premise, _: Score(0.8 if "<p>" in premise else 0.1, 0.05))
    kind, _ = JsonPlusSerializer().dumps_typed(await Simplifier(model)(two_cited()))
    assert kind == "msgpack"


# The acceptor appends the claim and evolves the memory


async def test_the_claim_has_its_run_numbers_and_supporting_sentences() -> None:
    update = await ClaimAcceptor()(state(draft=Draft(text=CLAIM, cited=("a",), verdict=PROVED)))
    citation = Citation(passage_id="a", number=1, sentence="Ann Lee built the tower.")
    assert update["claims"] == [Claim(text=CLAIM, citations=(citation,), verdict=PROVED)]
