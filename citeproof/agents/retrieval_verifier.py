"""Checks whether the chosen passages suffice, and asks for what they lack (LLatrieval, section 3).

`RetrievalVerifier` asks the model whether they suffice, and `MissingInfo` for the next query.
`RetrievalRecorder` records the result of the search.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from citeproof.agents.base import LLMNode, Node
from citeproof.errors import ModelReplyError
from citeproof.prompts import fill
from citeproof.prompts.demonstrations import demonstrations
from citeproof.runtime.meter import note
from citeproof.state import Retrieval, SearchState, Update, in_short, memory_passages
from citeproof.text import count
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.citations.marks import strip_marks

__all__ = ["MissingInfo", "RetrievalRecorder", "RetrievalVerifier"]

EXAMPLE = "An example of a question, and of an answer that passages should suffice for:"


class Support(BaseModel):
    """The reply: how well the passages support an answer."""

    score: float = Field(ge=0.0, le=10.0)


@dataclass(frozen=True)
class RetrievalVerifier(LLMNode):
    """Closes a round: lets the model judge D as a whole."""

    verification: Literal["class", "score"] = "class"
    """`class`: the model says yes or no. `score`: it gives a score from 0 to 10, which is compared
    with the threshold."""
    threshold: float = 7.0
    """τ: least score that suffices."""
    verify_summaries: bool = False
    """Whether the model reads the selector's summaries, if there are any."""
    verifier_example: bool = False
    """Whether the model sees the question and the answer of a packaged example."""
    form: AnyForm = "prose"
    """Form of the answer in that example."""

    @property
    def prompt_name(self) -> str:
        """The prompt of its kind of verdict."""
        return "retrieval_verifier" + ("_score" if self.verification == "score" else "")

    async def __call__(self, state: SearchState) -> Update:
        """Add the verdict to the last round; an unreadable reply counts as insufficient."""
        if not state["rounds"]:
            return {}
        sufficient, score = await self._verdict(state)
        judged = {"sufficient": sufficient, "score": score}
        *earlier, last = state["rounds"]
        return {"rounds": [*earlier, last.model_copy(update=judged)]}

    async def _verdict(self, state: SearchState) -> tuple[bool, float | None]:
        passages = memory_passages(state)
        if not passages:
            return False, None
        if self.verify_summaries:
            passages = {n: in_short(p, state["summaries"]) for n, p in passages.items()}
        task = fill(self.template(), question=state["question"])
        if self.verifier_example:
            task = f"{self._example()}\n\n{task}"
        prompt = self.compose_prompt(state["question"], passages, task)
        try:
            if self.verification == "score":
                score = (await self.llm.parse(prompt, Support, max_tokens=24)).score
                return score >= self.threshold, score
            choice = await self.llm.choose(prompt, ("Yes", "No"))
        except ModelReplyError as error:
            note(f"retrieval_verifier: counted as not verified ({error.what})")
            return False, None
        return choice["Yes"] > choice["No"], None

    def _example(self) -> str:
        example = demonstrations(self.form)[0]
        answer = strip_marks(example.answer)
        return f"{EXAMPLE}\nQuestion: {example.question}\nAnswer: {answer}"


class EndState(SearchState):
    """The keys that the recorder reads."""

    stop: str


@dataclass(frozen=True)
class RetrievalRecorder(Node):
    """Ends a search with a `Retrieval`, even if the run ended early."""

    async def __call__(self, state: EndState) -> Update:
        """Set the retrieval, and `doubt` if the passages were not found to suffice."""
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
    """Why the search ended without passages that suffice."""
    if state["stop"]:
        return state["stop"]
    if not state.get("long_term"):
        return "No passage was found for the question."
    return f"The passages were not found to suffice after {count(len(state['rounds']), 'round')}."


TRIED = "\n\nThis was searched for already; write something else:"

_LABEL = re.compile(r"^\W*(?:(?:missing|new|pseudo)\W+)?(?:passage|question|query)\W*:\W*", re.I)
_EDGES = ' \t\n"“”*_'


@dataclass(frozen=True)
class MissingInfo(LLMNode):
    """Writes the next query.

    In an embedding space, a pseudo passage is closer to real passages than a question is. Before
    the first search, when there are no passages to lack anything, the query is a hypothetical
    answer (HyDE; Gao et al. 2023).
    """

    query_style: Literal["passage", "question"] = "passage"
    tell_tried: bool = True
    """False hides earlier queries from the model."""

    @property
    def prompt_name(self) -> str:
        """The prompt of its style."""
        return "missing_info_question" if self.query_style == "question" else "missing_info"

    async def __call__(self, state: SearchState) -> Update:
        """Set the query; if the reply is empty, it is the question itself."""
        passages = memory_passages(state)
        is_question = self.query_style == "question" and bool(passages)
        queries = (done.query for done in state["rounds"])
        tried = [query for query in dict.fromkeys(queries) if query != state["question"]]
        tried = tried if self.tell_tried else []
        task = fill(
            self.template(self.prompt_name if is_question else "missing_info"),
            question=state["question"],
            tried="\n- ".join([TRIED, *tried]) if tried else "",
        )
        prompt = self.compose_prompt(state["question"], passages, task)
        reply = await self.llm.text(prompt, max_tokens=64 if is_question else 192)
        query = _query(reply, first_line=is_question)
        if not any(map(str.isalnum, query)):
            note("missing_info: an empty query, the question itself was searched for")
            query = state["question"]
        return {"query": query}


def _query(reply: str, *, first_line: bool) -> str:
    text = _LABEL.sub("", strip_marks(reply)).strip(_EDGES)
    if first_line:
        text = text.partition("\n")[0]
    return " ".join(text.split()).strip(_EDGES)
