"""Asks for the information that the passages lack (LLatrieval, section 3.2, Missing-Info Query)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.base import LLMNode
from citeproof.prompts import fill
from citeproof.runtime.meter import note
from citeproof.state import SearchState, Update, memory_passages
from citeproof.tools.citations.marks import strip_marks

__all__ = ["MissingInfo"]

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
