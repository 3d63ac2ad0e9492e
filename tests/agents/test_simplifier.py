"""The simplifier keeps a set from which no passage can be left out."""

from __future__ import annotations

import itertools

import pytest

from citeproof import Passage
from citeproof.agents.simplifier import Simplifier
from citeproof.state import Draft
from citeproof.testing import TableEntailment
from citeproof.types import Verdict
from tests.agents.states import state

LETTERS = "pqrst"
PASSAGES = {n: Passage(id=c, text=f"<{c}>") for n, c in enumerate(LETTERS, start=1)}


def entailment(*needed: str) -> TableEntailment:
    """Entailed by any premise that holds all letters of one of `needed`."""
    return TableEntailment(
        lambda premise, _: float(
            any(all(f"<{letter}>" in premise for letter in letters) for letters in needed)
        )
    )


@pytest.mark.parametrize(
    ("needed", "kept"),
    [
        (["q"], "q"),
        (["q", "s"], "q"),
        (["ps"], "ps"),
        (["pqrst"], "pqrst"),
        (["pqr", "st"], "st"),
        (["rst", "pq"], "rst"),
    ],
)
async def test_the_set_that_is_kept(needed: list[str], kept: str) -> None:
    left, _ = await Simplifier(entailment(*needed)).smallest("?", PASSAGES, "claim")
    assert "".join(passage.id for passage in left.values()) == kept


@pytest.mark.parametrize(
    "needed", ["".join(c) for n in range(1, 6) for c in itertools.combinations(LETTERS, n)]
)
async def test_nothing_can_be_left_out_of_what_is_kept(needed: str) -> None:
    model = entailment(needed, "pqrst")
    left, _ = await Simplifier(model).smallest("?", PASSAGES, "claim")
    assert "".join(passage.id for passage in left.values()) == needed


async def test_of_several_single_passages_the_best_is_kept() -> None:
    model = TableEntailment(lambda premise, _: {"<p>": 0.6, "<q>": 0.9}.get(premise, 0.7))
    left, _ = await Simplifier(model).smallest("?", {1: PASSAGES[1], 2: PASSAGES[2]}, "claim")
    assert list(left) == [2]


async def test_a_pass_is_one_batch() -> None:
    model = entailment("ps")
    await Simplifier(model).smallest("?", PASSAGES, "claim")
    assert model.batches[0] == 5
    assert sum(model.batches) <= 5 + 5 + 3 + 2


@pytest.mark.parametrize(("single", "kept", "score"), [(0.6, ("p",), 0.6), (0.1, ("p", "q"), 0.9)])
async def test_the_score_is_that_of_what_is_left(
    single: float, kept: tuple[str, ...], score: float
) -> None:
    model = TableEntailment(lambda premise, _: {"<p>": single, "<q>": 0.1}.get(premise, 0.9))
    verdict = Verdict(status="supported", tier="cited", score=0.9)
    draft = Draft(text="claim", cited=("p", "q"), verdict=verdict)
    passages = list(PASSAGES.values())
    given = state(draft=draft, passages=passages, long_term=list(LETTERS))
    left = (await Simplifier(model)(given))["draft"]
    assert left is not None
    assert left.verdict is not None
    assert (left.cited, left.verdict.score) == (kept, score)
