"""Passages that say otherwise than a proved claim."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from citeproof import Passage
from citeproof.testing import TableEntailment
from citeproof.tools.entailment.base import Entailment, Pair, Score
from citeproof.tools.entailment.cache import CachedEntailment
from citeproof.tools.entailment.disputes import find_disputes

CLAIM = "The boat Heron was bought in 2009."
OLD = Passage(id="old", title="Boats", text="The boat Heron was bought in 2007.")
OTHER = Passage(id="other", title="Boats", text="The pier was mended in 2007.")


class Quick(TableEntailment):
    final_below = 0.9

    def __init__(self, contradiction: float) -> None:
        super().__init__(lambda *_: 0.1)
        self.contradiction = contradiction

    async def quick_scores(self, pairs: Sequence[Pair]) -> list[float]:
        return [Score(0.1, self.contradiction) for _ in pairs]


@pytest.mark.parametrize(
    ("model", "disputes"),
    [
        (Quick(0.75), {2: OLD}),
        (Quick(0.74), {}),
        (CachedEntailment(Quick(0.75)), {2: OLD}),
        (CachedEntailment(TableEntailment(lambda *_: Score(0.1, 0.9))), {}),
    ],
    ids=["sure", "not sure", "cached", "expensive"],
)
async def test_a_passage_that_speaks_of_the_same_and_surely_contradicts_is_found(
    model: Entailment, disputes: dict[int, Passage]
) -> None:
    asked = [("Nothing was said.", {}), (CLAIM, {2: OLD, 3: OTHER})]
    assert await find_disputes(model, "When was it bought?", asked) == [{}, disputes]
