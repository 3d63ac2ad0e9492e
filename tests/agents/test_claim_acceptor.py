"""The claim acceptor appends the claim and evolves the memory."""

from __future__ import annotations

from typing import Any

from citeproof import Citation, Claim, Verdict
from citeproof.agents.claim_acceptor import ClaimAcceptor
from citeproof.errors import StoreError
from citeproof.state import Draft
from citeproof.tools.meter import Meter, metered
from tests.agents.states import CLAIM, state

PROVED = Verdict(status="supported", tier="memory", score=0.9)
FAILED = Verdict(status="unsupported", tier="memory", score=0.1, trials=3)
CLAIMED = Claim(
    text=CLAIM,
    citations=(Citation(passage_id="a", number=1, sentence="Ann Lee built the tower."),),
    verdict=PROVED,
)


async def test_a_proved_claim_brings_its_passages_into_the_long_term_memory() -> None:
    draft = Draft(text=CLAIM, cited=("c",), verdict=PROVED)
    update = await ClaimAcceptor()(state(draft=draft, short_term=["c"], rejected=["x"]))
    assert update["long_term"] == ["a", "b", "c"]
    assert update["rejected"] == []
    assert update["draft"] is None


async def test_the_claim_has_its_run_numbers_and_supporting_sentences() -> None:
    update = await ClaimAcceptor()(state(draft=Draft(text=CLAIM, cited=("a",), verdict=PROVED)))
    assert update["claims"] == [CLAIMED]


async def test_an_unproved_claim_leaves_the_memory_alone() -> None:
    draft = Draft(text=CLAIM, cited=("c",), verdict=FAILED)
    update = await ClaimAcceptor(unverified="keep")(state(draft=draft))
    assert "long_term" not in update
    assert [claim.verdict for claim in update["claims"]] == [FAILED]


class Log:
    """Stands where an evidence log goes."""

    def __init__(self, error: Exception | None = None) -> None:
        self.records: list[dict[str, Any]] = []
        self.error = error

    async def record(self, **values: Any) -> None:
        """Keep the values, or fail."""
        if self.error:
            raise self.error
        self.records.append(values)


async def test_what_was_cited_is_recorded() -> None:
    log = Log()
    node = ClaimAcceptor(log)  # type: ignore[arg-type]
    await node(state(draft=Draft(text=CLAIM, cited=("a",), verdict=PROVED)))
    [record] = log.records
    assert record["claim"] == CLAIM
    assert [passage.id for passage in record["passages"]] == ["a"]
    assert (record["status"], record["method"]) == ("supported", "vtg")


async def test_a_store_that_fails_costs_the_record_not_the_answer() -> None:
    node = ClaimAcceptor(Log(StoreError("The disk is full")))  # type: ignore[arg-type]
    with metered(Meter()) as meter:
        update = await node(state(draft=Draft(text=CLAIM, cited=("a",), verdict=PROVED)))
    assert update["claims"] == [CLAIMED]
    assert meter.notes == ["the cited evidence was not recorded: The disk is full."]
