"""Chooses between an answer and its refinement by what could be proved of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.agents.claim_acceptor import APPROVED
from citeproof.runtime.meter import note
from citeproof.state import RefiningState, Update
from citeproof.types import Claim

__all__ = ["RefinementSelector", "share"]


@dataclass(frozen=True)
class RefinementSelector(Node):
    """Ends a refinement: what it proved stands, unless more of the answer before it was."""

    async def __call__(self, state: RefiningState) -> Update:
        """Put back the first claims where the proof of the others was cut short or found less."""
        if not state["given"]:
            return {}
        first, dropped = state["first"], state["first_dropped"]
        done = len(state["claims"]) + len(state["dropped"]) >= len(state["given"])
        approved = any(claim.verdict.reason == APPROVED for claim in state["claims"])
        as_well = share(state["claims"], state["dropped"]) >= share(first, dropped)
        # A refinement that lost proved sentences on the way may still have the greater share.
        if done and (
            approved or (as_well and _count_proved(state["claims"]) >= _count_proved(first))
        ):
            return {}
        note("the refined answer was not proved as well; the one before it stands")
        return {"claims": first, "dropped": dropped}


def share(claims: Sequence[Claim], dropped: Sequence[str] = ()) -> float:
    """Share of the claims that are supported, 0 to 1; those that were dropped are not."""
    return _count_proved(claims) / max(1, len(claims) + len(dropped))


def _count_proved(claims: Sequence[Claim]) -> int:
    return sum(claim.verdict.status == "supported" for claim in claims)
