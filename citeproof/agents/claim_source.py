"""Feeds the claims of an existing answer into the proof, instead of VTG's generators.

`DraftReader` takes another graph's answer apart; `ClaimSource` drafts its claims one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node
from citeproof.errors import InputError
from citeproof.runtime.events import ClaimDrafted, emit
from citeproof.runtime.meter import note
from citeproof.runtime.place import adopt_cost
from citeproof.state import Draft, GivenState, NodeState, Update, append_new, memory_passages
from citeproof.types import Answer

__all__ = ["ClaimSource", "DraftReader"]


@dataclass(frozen=True)
class ClaimSource(Node):
    """Drafts given claims one by one."""

    async def __call__(self, state: GivenState) -> Update:
        """Draft the next given claim, or the same one if its proof failed; None at the end.

        If the memory is empty, all passages become the memory.
        """
        place = len(state["claims"]) + len(state["dropped"])
        if place >= len(state["given"]):
            return {"draft": None}
        claim = state["given"][place]
        emit(ClaimDrafted(text=claim.text, trial=len(state["rejected"]) + 1))
        cited = tuple(citation.passage_id for citation in claim.citations)
        update: Update = {"draft": Draft(text=claim.text, cited=cited)}
        if state["passages"] and not memory_passages(state):
            update["long_term"] = [passage.id for passage in state["passages"]]
        return update


class AnswerState(NodeState):
    """The keys that the reader reads."""

    answer: Answer | None


@dataclass(frozen=True)
class DraftReader(Node):
    """Turns another graph's answer into a proof's input: its claims, and its passages as memory."""

    async def __call__(self, state: AnswerState) -> Update:
        """Set the claims to prove and the passages that they may cite.

        Raises:
            InputError: The previous graph returned no `Answer`.
        """
        answer = state["answer"]
        if not isinstance(answer, Answer):
            raise InputError(
                "There is no draft to prove",
                why="the drafting graph returned no Answer",
                fix="Make it return one under the key `answer`.",
            )
        adopt_cost(answer, state.get("ledger") or {})
        if answer.claims and answer.reason:
            # Only a note: after the proof, just parts of the reason, such as a spent budget, hold.
            note(f"the draft was {answer.status}: {answer.reason}")
        # Another graph may repeat a passage, which would then have two numbers.
        nearest = [one.passage for one in answer.nearest]  # those of an answer without claims
        passages = append_new([], [*answer.passages, *nearest])
        return {
            "passages": passages,
            "long_term": [passage.id for passage in passages],
            "given": list(answer.claims),
            "stop": "" if answer.claims else answer.reason,
        }
