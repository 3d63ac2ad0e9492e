"""Prepares what the main LM reads in the next round (CaLM, section 4, step 5)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.runtime.events import EvidenceFound, emit
from citeproof.state import CandidateState, Update

__all__ = ["InputPreparer"]


@dataclass(frozen=True)
class InputPreparer(Node):
    """The passages that the kept statements cite, then unseen ones of the pool, k in all."""

    k: int = 5

    async def __call__(self, state: CandidateState) -> Update:
        """Fill both memories anew; where no unseen passage is left to be read, stop.

        Since numbers are ranks in the pool, the kept passages come first by number as well.
        """
        cited = {citation.passage_id for claim in state["kept"] for citation in claim.citations}
        pool = [passage.id for passage in state["passages"]]
        kept = [passage_id for passage_id in pool if passage_id in cited]
        shown = min(state["shown"] + max(0, self.k - len(kept)), len(pool))
        fresh = state["passages"][state["shown"] : shown]
        if not fresh and len(kept) < self.k:
            return {"stop": f"All {len(pool)} passages were read before the two models agreed."}
        emit(EvidenceFound(queries=(state["question"],), passages=tuple(fresh)))
        return {"long_term": kept, "short_term": [p.id for p in fresh], "shown": shown}
