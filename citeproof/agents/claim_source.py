"""Hands in the claims of a given answer, one after the other, to be proved."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.runtime.events import ClaimDrafted, emit
from citeproof.state import Draft, GivenState, Update

__all__ = ["ClaimSource"]


@dataclass(frozen=True)
class ClaimSource(Node):
    """Stands where VTG has its claim and citation generators, for text that is there already."""

    async def __call__(self, state: GivenState) -> Update:
        """Draft the next given claim, or the same one where its proof failed; None at the end."""
        place = len(state["claims"]) + len(state["dropped"])
        if place >= len(state["given"]):
            return {"draft": None}
        claim = state["given"][place]
        emit(ClaimDrafted(text=claim.text, trial=len(state["rejected"]) + 1))
        cited = tuple(citation.passage_id for citation in claim.citations)
        return {"draft": Draft(text=claim.text, cited=cited)}
