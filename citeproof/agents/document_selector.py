"""Chooses the new D: k passages from D and a window of candidates (LLatrieval, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from citeproof.agents.base import LLMNode
from citeproof.prompts import fill
from citeproof.state import SearchState, Swap, Update, in_short
from citeproof.types import Passage

__all__ = ["DocumentSelector"]


class Selection(BaseModel):
    """The reply: numbers of passages."""

    numbers: list[int] = Field(max_length=64)


@dataclass(frozen=True)
class DocumentSelector(LLMNode):
    """Reads the next window of candidates, and keeps the best k of these and D."""

    k: int = 5
    """Size of D."""
    window: int = 20
    """Number of candidates to read at a time."""
    count_chosen: bool = False
    """Whether the passages of D count as part of the window."""

    async def __call__(self, state: SearchState) -> Update:
        """Choose the new D from D and the window: k passages, or all if there are fewer.

        Numbers that are out of range or repeated are dropped. Gaps are filled from D in order, then
        from the window in retrieval order, so an unreadable reply leaves D unchanged.
        """
        before, waiting = state.get("long_term", []), state["waiting"]
        by_id = {passage.id: passage for passage in state["passages"]}
        beside = len(before) if self.count_chosen and state["swaps"] else 0
        room = max(1, self.window - beside)
        offered = list(dict.fromkeys([*before, *waiting[:room]]))
        picked: list[int] = []
        if len(offered) > self.k:
            shown = [in_short(by_id[key], state["summaries"]) for key in offered]
            picked = await self._pick(state["question"], shown)
        chosen = [offered[n - 1] for n in picked if 1 <= n <= len(offered)]
        after = list(dict.fromkeys([*chosen, *offered]))[: self.k]
        swap = Swap(
            round=max(1, len(state["rounds"])),
            entered=tuple(by_id[key] for key in after if key not in before),
            left=tuple(by_id[key] for key in before if key not in after),
        )
        return {
            "long_term": after,
            "waiting": waiting[room:],
            "swaps": [*state["swaps"], swap],
        }

    async def _pick(self, question: str, passages: Sequence[Passage]) -> list[int]:
        # New numbers put D first and are small.
        numbered = dict(enumerate(passages, start=1))
        task = fill(self.template("document_selector"), k=self.k, count=len(numbered))
        prompt = self.compose_prompt(question, numbered, task)
        longest = 24 + 4 * len(numbered)
        reply = await self.parse(prompt, Selection, longest, "no numbers could be read")
        return reply.numbers if reply else []
