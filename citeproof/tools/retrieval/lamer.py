"""LAMER: adds possible answers to the query (Shen et al. 2023)."""

from __future__ import annotations

from functools import partial

from citeproof.errors import BudgetExceededError
from citeproof.prompts import Prompt, context, fill, template
from citeproof.runtime.gather import together
from citeproof.runtime.meter import note, spend
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.llm.model import LLM
from citeproof.tools.retrieval import Retriever, check_k
from citeproof.types import Passage, Usage

__all__ = ["LAMERRetriever"]


class LAMERRetriever:
    """A retriever that searches for the question, then with answers guessed from the results.

    The model sees what the first search found, right or wrong, and writes several possible answers
    in concurrent calls. The second query has the question and an answer, for each different answer.

    Args:
        source: The retriever that searches.
        llm: Guesses the answers.
        shown: Number of passages that the model sees.
        answers: Number of answers to guess.
        answer_tokens: Most tokens of an answer.
        temperature: The model's temperature; at 0 all answers are the same.
    """

    def __init__(
        self,
        source: Retriever,
        llm: LLM,
        *,
        shown: int = 10,
        answers: int = 5,
        answer_tokens: int = 128,
        temperature: float = 0.7,
    ) -> None:
        self.source = source
        self.llm = llm.for_role("lamer")
        self.shown = shown
        self.answers = answers
        self.answer_tokens = answer_tokens
        self.temperature = temperature

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """Return at most `k` passages, the best first; none for an empty query.

        If all replies are empty or the budget is spent, the query itself is searched for.

        Raises:
            InputError: `k` is less than 1.
            RetrievalError: A search failed.
            ModelError: The model does not answer.
        """
        check_k(k)
        if not query.strip():
            return []
        found = await self.source.retrieve(query, self.shown)
        spend(Usage(retrievals=1))
        return await self.source.retrieve(await self._augment(query, found), k)

    async def _augment(self, query: str, found: list[Passage]) -> str:
        shared = context(query, dict(enumerate(found, start=1)))
        prompt = Prompt(template("system"), shared, fill(template("lamer"), question=query))
        jobs = [
            partial(
                self.llm.text,
                prompt,
                max_tokens=self.answer_tokens,
                temperature=self.temperature,
                sample=sample,
            )
            for sample in range(self.answers)
        ]
        try:
            replies = await together(jobs, len(jobs))
        except BudgetExceededError as error:
            note(f"lamer: the question itself was searched for ({error.what})")
            return query
        guesses = dict.fromkeys(" ".join(strip_marks(reply).split()) for reply in replies)
        said = [guess for guess in guesses if any(map(str.isalnum, guess))]
        if not said:
            note("lamer: no possible answer, the question itself was searched for")
        return " ".join(f"{query} {guess}" for guess in said) or query
