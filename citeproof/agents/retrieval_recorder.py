"""Records what a search has chosen, and whether it was found to suffice (LLatrieval)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.state import Retrieval, SearchState, Update

__all__ = ["RetrievalRecorder"]


class EndState(SearchState):
    """The keys that the recorder reads."""

    stop: str


@dataclass(frozen=True)
class RetrievalRecorder(Node):
    """Ends a search with a `Retrieval`, whatever has been reached by then."""

    async def __call__(self, state: EndState) -> Update:
        """Set the retrieval; an answer is in doubt whose passages were not found to suffice."""
        by_id = {passage.id: passage for passage in state["passages"]}
        chosen, rounds = state.get("long_term", []), state["rounds"]
        verified = any(done.sufficient for done in rounds)
        reason = "The passages were found to suffice." if verified else _reason(state)
        unread = set(state["waiting"]) - set(chosen)
        retrieval = Retrieval(
            verified=verified,
            reason=reason,
            candidates=len(by_id.keys() - unread),
            passages=tuple(by_id[key] for key in chosen),
            rounds=tuple(rounds),
            swaps=tuple(state["swaps"]),
        )
        return {"retrieval": retrieval, "doubt": "" if verified else reason}


def _reason(state: EndState) -> str:
    """Why the search stopped without passages that suffice."""
    rounds = state["rounds"]
    if state["stop"]:
        return state["stop"]
    if not state.get("long_term"):
        return "No passage was found for the question."
    times = "round" if len(rounds) == 1 else "rounds"
    return f"The passages were not found to suffice after {len(rounds)} {times}."
