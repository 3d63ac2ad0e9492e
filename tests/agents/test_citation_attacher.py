"""Citations after the fact: the best match of each claim."""

from __future__ import annotations

from citeproof.agents.citation_generator import CitationAttacher
from citeproof.testing import ListRetriever
from tests.agents.states import BUILT, LIT, A, B, C, claim


async def test_each_claim_cites_the_passage_that_matches_it_best() -> None:
    source = ListRetriever([C, B, A])
    update = await CitationAttacher(source)(
        {"question": "Who?", "claims": [claim(LIT), claim(BUILT), claim(LIT), claim("Quite so.")]}
    )
    assert update["passages"] == [B, A]
    assert update["long_term"] == ["b", "a"]
    assert [[(x.number, x.passage_id) for x in c.citations] for c in update["claims"]] == [
        [(1, "b")],
        [(2, "a")],
        [(1, "b")],
        [],
    ]
    assert update["claims"][0].citations[0].sentence == B.text
    assert {c.verdict.status for c in update["claims"]} == {"unchecked"}


async def test_a_name_is_searched_for_behind_the_question() -> None:
    source = ListRetriever([A])
    await CitationAttacher(source, form="list")({"question": "Who?", "claims": [claim("Ann")]})
    assert source.queries == ["Who? Ann"]
