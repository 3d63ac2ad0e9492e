"""The case opener finds D, and leaves nothing of an earlier run."""

from __future__ import annotations

from citeproof.agents.case_opener import CaseOpener
from citeproof.testing import ListRetriever
from tests.agents.states import A, B, C


async def test_all_that_is_found_is_the_memory_and_all_else_is_empty() -> None:
    update = await CaseOpener(ListRetriever(lambda _: [B, A, C]), k=2)({"question": "Who?"})
    assert update == {
        "passages": [B, A],
        "long_term": ["b", "a"],
        "short_term": [],
        "claims": [],
        "rejected": [],
        "dropped": [],
        "demonstration": "",
        "rounds": [],
        "case_id": "",
        "stop": "",
    }
