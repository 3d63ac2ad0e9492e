"""Cites for each claim the passage that matches it best (ALCE, section 3: POST-HOC CITE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.agents.answerer import marked_claim
from citeproof.agents.form_answerer import AnyForm
from citeproof.agents.retriever import given, searched
from citeproof.state import BaselineUpdate, append_new
from citeproof.tools.events import EvidenceFound, emit
from citeproof.tools.meter import spend
from citeproof.tools.retrieval import Retriever as Source
from citeproof.tools.retrieval import retrieve_many
from citeproof.types import Claim, Usage

__all__ = ["CitationAttacher"]


class AttacherState(TypedDict):
    """What the attacher reads."""

    question: str
    claims: list[Claim]
    documents: NotRequired[list[Any]]


@dataclass(frozen=True)
class CitationAttacher:
    """Searches for each claim, and cites the first passage found, whether it proves it or not.

    The paper searches the hundred best passages of the question; this searches all there are.
    """

    retriever: Source | None
    form: AnyForm = "prose"
    """Outside prose a claim is searched for behind the question, as it is a mere name."""

    async def __call__(self, state: AttacherState) -> BaselineUpdate:
        """Set the citations and the passages; a claim for which nothing is found stays uncited.

        Raises:
            InputError: There is nothing to search, or a document is of no use.
            RetrievalError: The search failed.
        """
        claims = state["claims"]
        source = searched(self.retriever, given(state.get("documents") or ()))
        queries = [
            claim.text if self.form == "prose" else f"{state['question']} {claim.text}"
            for claim in claims
        ]
        found = await retrieve_many(source, queries, 1)
        spend(Usage(retrievals=len(queries)))
        passages = append_new([], [passage for best in found for passage in best])
        emit(EvidenceFound(queries=tuple(queries), passages=tuple(passages)))
        numbered = dict(enumerate(passages, start=1))
        numbers = {passage.id: number for number, passage in numbered.items()}
        return {
            "passages": passages,
            "long_term": list(numbers),
            "claims": [
                marked_claim(claim.text, [numbers[passage.id] for passage in best], numbered)
                for claim, best in zip(claims, found, strict=True)
            ],
        }
