"""Takes the answer of another graph apart: its claims are to be proved, its passages the memory."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import Node, adopt_cost
from citeproof.errors import InputError
from citeproof.runtime.meter import note
from citeproof.state import NodeState, Update, append_new
from citeproof.types import Answer

__all__ = ["DraftReader"]


class AnswerState(NodeState):
    """The keys that the reader reads."""

    answer: Answer | None


@dataclass(frozen=True)
class DraftReader(Node):
    """Makes a finished answer the input of a proof."""

    async def __call__(self, state: AnswerState) -> Update:
        """Set the claims to prove, and the passages that they may cite.

        Raises:
            InputError: The graph before this gave no `Answer`.
        """
        answer = state["answer"]
        if not isinstance(answer, Answer):
            raise InputError(
                "There is no draft to prove",
                why="the graph that drafts gave no Answer",
                fix="Let it write one under the key `answer`.",
            )
        adopt_cost(answer, state.get("ledger") or {})
        if answer.claims and answer.reason:
            # Only part of it may hold once the claims are proved, such as that a budget was spent.
            note(f"the draft was {answer.status}: {answer.reason}")
        # Anyone's graph may repeat a passage, which then would bear two numbers.
        passages = append_new([], list(answer.passages))
        return {
            "passages": passages,
            "long_term": [passage.id for passage in passages],
            "given": list(answer.claims),
            "stop": "" if answer.claims else answer.reason,
        }
