"""The composer ends a run of R²-MGA, and records what it cites."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Answer, Claim, Usage, Verdict
from citeproof.agents.r2_mga_composer import R2MGAComposer
from citeproof.errors import StoreError
from tests.agents.calm_states import BUILT, LIT, claim
from tests.agents.evidence_log import Log
from tests.agents.r2_mga_states import reflecting


def checked(said: Claim, status: Any) -> Claim:
    return said.model_copy(update={"verdict": Verdict(status=status, tier="cited", score=0.5)})


HALF = [checked(claim(LIT, 2), "supported"), checked(claim(BUILT, 3), "unsupported")]


async def compose(log: Log | None = None, unverified: Any = "flag", **changes: Any) -> Answer:
    node = R2MGAComposer(log, unverified)  # type: ignore[arg-type]
    state: Any = reflecting(usage=Usage(), **changes)
    return (await node(state))["answer"]


@pytest.mark.parametrize(
    ("unverified", "text", "reason"),
    [
        ("keep", f"{LIT[:-1]} [1]. {BUILT[:-1]} [2].", "1 of 2 claims could not be proved."),
        (
            "flag",
            f"{LIT[:-1]} [1]. {BUILT[:-1]} [2]. [unverified]",
            "1 of 2 claims could not be proved.",
        ),
        ("drop", f"{LIT[:-1]} [1].", "1 unproved claim was left out."),
    ],
)
async def test_claims_that_are_not_supported(unverified: str, text: str, reason: str) -> None:
    answer = await compose(unverified=unverified, claims=HALF)
    assert (answer.method, answer.status) == ("r2-mga", "partial")
    assert (answer.text, answer.reason) == (text, reason)


async def test_supported_claims_are_an_answer() -> None:
    answer = await compose(claims=HALF[:1])
    assert (answer.status, answer.reason) == ("answered", "")


async def test_claims_that_nobody_checked_are_not_flagged_and_it_says_so() -> None:
    answer = await compose(claims=[claim(LIT, 2)], stop="The budget is spent.")
    assert (answer.status, answer.text) == ("partial", f"{LIT[:-1]} [1].")
    assert answer.reason == "The budget is spent. The claims were not checked."


async def test_no_claims_is_an_abstention() -> None:
    answer = await compose(claims=[])
    assert answer.status == "abstained"
    assert answer.reason == "The passages that were found do not answer the question."


async def test_what_is_cited_is_recorded_with_its_verdict() -> None:
    log = Log()
    await compose(log, claims=[*HALF, claim("Nobody knows.")])
    assert [(r["claim"], r["status"], r["method"]) for r in log.records] == [
        (LIT, "supported", "r2-mga"),
        (BUILT, "unsupported", "r2-mga"),
    ]
    assert [p.id for p in log.records[0]["passages"]] == ["b"]


async def test_what_is_dropped_is_not_recorded() -> None:
    log = Log()
    await compose(log, "drop", claims=HALF)
    assert [r["claim"] for r in log.records] == [LIT]


async def test_a_log_that_fails_costs_the_record_not_the_answer() -> None:
    answer = await compose(Log(StoreError("The disk is full")), claims=HALF, notes=["before"])
    assert answer.notes == ("before", "the cited evidence was not recorded: The disk is full.")
    assert len(answer.claims) == 2
