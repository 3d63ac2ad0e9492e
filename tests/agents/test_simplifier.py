"""The simplifier keeps a set from which no passage can be left out."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from citeproof import Passage
from citeproof.agents.simplifier import Simplifier
from citeproof.state import Draft
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Score
from citeproof.types import Verdict
from tests.agents.states import state

PASSAGES = [Passage(id=letter, text=f"<{letter}>") for letter in "pq"]


@pytest.mark.parametrize(("single", "kept", "score"), [(0.6, ("p",), 0.6), (0.1, ("p", "q"), 0.9)])
async def test_the_score_is_that_of_what_is_left(
    single: float, kept: tuple[str, ...], score: float
) -> None:
    model = TableEntailment(lambda premise, _: {"<p>": single, "<q>": 0.1}.get(premise, 0.9))
    verdict = Verdict(status="supported", tier="cited", score=0.9)
    draft = Draft(text="claim", cited=("p", "q"), verdict=verdict)
    given = state(draft=draft, passages=PASSAGES, long_term=["p", "q"])
    left = (await Simplifier(model)(given))["draft"]
    assert left is not None
    assert left.verdict is not None
    assert (left.cited, left.verdict.score) == (kept, score)


async def test_what_proves_nothing_keeps_its_citations() -> None:
    draft = Draft(text="claim", cited=("p", "q"))
    given = state(draft=draft, passages=PASSAGES, long_term=["p", "q"])
    assert await Simplifier(TableEntailment({}))(given) == {}


async def test_what_it_writes_can_be_kept_by_a_checkpointer() -> None:
    """The score of a model that knows contradictions is more than a number."""
    model = TableEntailment(lambda premise, _: Score(0.8 if "<p>" in premise else 0.1, 0.05))
    verdict = Verdict(status="supported", tier="cited", score=0.9)
    draft = Draft(text="claim", cited=("p", "q"), verdict=verdict)
    written = await Simplifier(model)(state(draft=draft, passages=PASSAGES, long_term=["p", "q"]))
    kind, _ = JsonPlusSerializer().dumps_typed(written)
    assert kind == "msgpack"
