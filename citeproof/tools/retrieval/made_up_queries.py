"""Searches for what the model makes up: HyDE (Gao et al. 2023) and LAMER (Shen et al. 2023)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from citeproof.errors import BudgetExceededError
from citeproof.prompts import Prompt, context, fill, template
from citeproof.runtime.gather import together
from citeproof.runtime.meter import note, spend
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.llm.model import LLM
from citeproof.tools.retrieval import Retriever, check_k
from citeproof.types import Passage, Usage

__all__ = ["HyDERetriever", "LAMERRetriever"]


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
        """
        check_k(k)
        if not query.strip():
            return []
        prompt = Prompt("", "", fill(template("hyde"), question=query))
        job = partial(self.llm.text, prompt, max_tokens=self.passage_tokens)
        [passage] = await _make_up(self.llm, [job], "an empty passage") or [query]
        return await self.source.retrieve(passage, k)


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
        """
        check_k(k)
        if not query.strip():
            return []
        found = await self.source.retrieve(query, self.shown)
        spend(Usage(retrievals=1))
        shared = context(query, dict(enumerate(found, start=1)))
        prompt = Prompt(template("system"), shared, fill(template("lamer"), question=query))
        guess = partial(
            self.llm.text, prompt, max_tokens=self.answer_tokens, temperature=self.temperature
        )
        jobs = [partial(guess, sample=sample) for sample in range(self.answers)]
        guesses = await _make_up(self.llm, jobs, "no possible answer")
        augmented = " ".join(f"{query} {answer}" for answer in guesses) or query
        return await self.source.retrieve(augmented, k)


async def _make_up(
    llm: LLM, jobs: Sequence[Callable[[], Awaitable[str]]], lacking: str
) -> list[str]:
    """Return the different replies that have words; if there are none, the run's notes say why."""
    try:
        replies = await together(jobs, len(jobs))
    except BudgetExceededError as error:
        note(f"{llm.role}: the question itself was searched for ({error.what})")
        return []
    texts = dict.fromkeys(" ".join(strip_marks(reply).split()) for reply in replies)
    said = [text for text in texts if any(map(str.isalnum, text))]
    if not said:
        note(f"{llm.role}: {lacking}, the question itself was searched for")
    return said
