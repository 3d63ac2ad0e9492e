"""RankGPT: the language model ranks the results of a search (Sun et al. 2023)."""

from __future__ import annotations

import re

from citeproof.errors import BudgetExceededError, InputError
from citeproof.prompts import Prompt, context, fill, template
from citeproof.runtime.meter import note
from citeproof.tools.llm.model import LLM
from citeproof.tools.retrieval import Retriever, check_k
from citeproof.types import Passage

__all__ = ["RankGPTRetriever", "permutation"]

_MARKED = re.compile(r"\[\s*(\d{1,6})\s*\]")
_NUMBER = re.compile(r"\d{1,6}")
_WORDS = 300
"""Most words of a passage that are shown, as in the paper's program."""


class RankGPTRetriever:
    """A retriever that lets the model rank the candidates of another one, window by window.

    The windows move from the last candidates to the first and overlap, so that a good passage rises
    from window to window.

    Args:
        source: Finds the candidates.
        llm: Ranks them.
        candidates: Number of candidates to find for a query.
        window: Number of candidates to rank in one call, at least 2.
        step: Number of places that the window moves by, from 1 to `window`.
    """

    def __init__(
        self,
        source: Retriever,
        llm: LLM,
        *,
        candidates: int = 50,
        window: int = 20,
        step: int = 10,
    ) -> None:
        if window < 2 or not 1 <= step <= window:
            raise InputError(
                f"Windows of {window} passages cannot be moved by {step}",
                fix="A window is at least 2 and a step from 1 to the window.",
            )
        self.source = source
        self.llm = llm.for_role("rankgpt")
        self.candidates = candidates
        self.window = window
        self.step = step

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` passages, the best first; none for an empty query.

        If the budget is spent, the remaining windows keep their order.
        """
        check_k(k)
        ranked = await self.source.retrieve(query, max(self.candidates, k))
        end = len(ranked)
        try:
            while end > 1:
                start = max(0, end - self.window)
                ranked[start:end] = await self._order(query, ranked[start:end])
                end = end - self.step if start else 0
        except BudgetExceededError as error:
            note(f"rankgpt: not all passages were ranked ({error.what})")
        return ranked[:k]

    async def _order(self, query: str, passages: list[Passage]) -> list[Passage]:
        shown = {
            number: passage.model_copy(update={"text": " ".join(passage.text.split()[:_WORDS])})
            for number, passage in enumerate(passages, start=1)
        }
        task = fill(template("rankgpt"), question=query, count=len(passages))
        prompt = Prompt(template("system"), context(query, shown), task)
        reply = await self.llm.text(prompt, max_tokens=16 + 8 * len(passages))
        return [passages[number - 1] for number in permutation(reply, len(passages))]


def permutation(reply: str, count: int) -> list[int]:
    """Return the numbers from 1 to `count` in the order in which a reply names them.

    Numbers in brackets count, or all numbers if there are none in brackets. Repeated and unknown
    numbers are dropped; missing ones follow in their old order.
    """
    numbers = [int(n) for n in _MARKED.findall(reply) or _NUMBER.findall(reply)]
    named = dict.fromkeys(n for n in numbers if 1 <= n <= count)
    if not named:
        note("rankgpt: no order could be read; the passages stayed as they were")
    return list(dict.fromkeys([*named, *range(1, count + 1)]))
