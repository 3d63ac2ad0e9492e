"""HyDE: searches for passages like one that the model makes up (Gao et al. 2023)."""

from __future__ import annotations

from citeproof.errors import BudgetExceededError
from citeproof.prompts import Prompt, fill, template
from citeproof.runtime.meter import note
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.llm.model import LLM
from citeproof.tools.retrieval import Retriever, check_k
from citeproof.types import Passage

__all__ = ["HyDERetriever"]


class HyDERetriever:
    """A retriever that searches with a hypothetical answer instead of the question.

    In an embedding space, an answer is closer to real passages than the question is. As in
    LLatrieval's comparison, it is a single passage, and the question itself is not searched for.

    Args:
        source: The retriever that searches.
        llm: Writes the passage.
        passage_tokens: Most tokens of the passage.
    """

    def __init__(self, source: Retriever, llm: LLM, *, passage_tokens: int = 192) -> None:
        self.source = source
        self.llm = llm.for_role("hyde")
        self.passage_tokens = passage_tokens

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` passages, the best first; none for an empty query.

        If the reply is empty or the budget is spent, the query itself is searched for.

        Raises:
            InputError: `k` is less than 1.
            RetrievalError: The search failed.
            ModelError: The model does not answer.
        """
        check_k(k)
        if not query.strip():
            return []
        return await self.source.retrieve(await self._imagine(query), k)

    async def _imagine(self, query: str) -> str:
        prompt = Prompt("", "", fill(template("hyde"), question=query))
        try:
            reply = await self.llm.text(prompt, max_tokens=self.passage_tokens)
        except BudgetExceededError as error:
            note(f"hyde: the question itself was searched for ({error.what})")
            return query
        passage = " ".join(strip_marks(reply).split())
        if not any(map(str.isalnum, passage)):
            note("hyde: an empty passage, the question itself was searched for")
            return query
        return passage
