"""The refinement selector chooses between an answer and its refinement."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Claim, Verdict
from citeproof.agents.refiner import RefinementSelector
from citeproof.runtime.meter import Meter, use_meter
from citeproof.state import RefiningState, proved_share
from tests.agents.calm_states import BROKE, BUILT, KEPT, LIT, claim
from tests.agents.r2_mga_states import reflecting


def yes(text: str) -> Claim:
    return claim(text, 1).model_copy(update={"verdict": Verdict(status="supported")})


def no(text: str) -> Claim:
    return claim(text, 1).model_copy(update={"verdict": Verdict(status="unsupported")})


def refining(**changes: Any) -> RefiningState:
    base: dict[str, Any] = {
        **reflecting(claims=[]),
        "given": [claim(LIT), claim(KEPT)],
        "first": [yes(BUILT)],
        "first_dropped": [],
    }
    return {**base, **changes}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("first", "first_dropped", "claims", "dropped", "stands"),
    [
        ([yes(BUILT)], [], [yes(LIT), yes(KEPT)], [], True),
        ([yes(BUILT)], [], [yes(LIT), no(KEPT)], [], False),
        ([yes(BUILT), no(BROKE)], [], [yes(LIT), no(KEPT)], [], True),
        ([no(BUILT)], [], [no(LIT), no(KEPT)], [], True),
        ([yes(BUILT)], [], [yes(LIT)], [KEPT], False),
        ([yes(BUILT)], [BROKE], [yes(LIT)], [KEPT], True),
        ([yes(BUILT)], [BROKE], [], [LIT, KEPT], False),
        # All of the refinement is proved, yet it lost a sentence that was.
        ([yes(BUILT), yes(BROKE), yes(LIT), no(KEPT)], [], [yes(LIT), yes(KEPT)], [], False),
        ([yes(BUILT)], [], [yes(LIT)], [], False),  # cut short: one claim was not looked at
    ],
)
async def test_the_one_that_was_proved_better_stands(
    first: list[Claim],
    first_dropped: list[str],
    claims: list[Claim],
    dropped: list[str],
    stands: bool,
) -> None:
    state = refining(first=first, first_dropped=first_dropped, claims=claims, dropped=dropped)
    with use_meter(Meter()) as meter:
        update = await RefinementSelector()(state)
    assert update == ({} if stands else {"claims": first, "dropped": first_dropped})
    told = ["the refined answer was not proved as well; the one before it stands"]
    assert meter.notes == ([] if stands else told)


async def test_without_a_refinement_there_is_no_choice() -> None:
    with use_meter(Meter()) as meter:
        assert await RefinementSelector()(refining(given=[], first=[], claims=[no(BUILT)])) == {}
    assert meter.notes == []


def test_the_share_of_supported_claims() -> None:
    assert proved_share([]) == 0.0
    assert proved_share([yes(BUILT), no(LIT)]) == 0.5
    assert proved_share([yes(BUILT)], [LIT, KEPT, BROKE]) == 0.25
