from __future__ import annotations

import pytest

from citeproof.testing import ListRetriever, passage
from citeproof.tools.retrieval.both import Both

A, B, C = (passage(text, id=text) for text in ("a", "b", "c"))
B_AGAIN, D, E = (passage(text, id=f"other {text}") for text in ("b", "d", "e"))


@pytest.mark.parametrize(("k", "found"), [(1, [A]), (3, [A, D, B]), (9, [A, D, B, E, C])])
async def test_results_come_by_turns_and_those_of_the_first_stay(k: int, found: object) -> None:
    both = Both(ListRetriever({"?": [A, B, C]}), ListRetriever({"?": [B_AGAIN, D, E]}))
    assert await both.retrieve("?", k) == found
