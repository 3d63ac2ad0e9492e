"""Starts a run: checks the question, and clears what an earlier one on the thread has left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from langgraph.types import Overwrite

from citeproof.agents.base import Node, budget_of, current_place
from citeproof.errors import SettingsError
from citeproof.state import SourceState, Update, calls_of
from citeproof.tools.sources import read_documents, validate_question

__all__ = ["QuestionReader", "require_checkpointer"]

EMPTY: dict[str, Any] = {
    "long_term": [],
    "short_term": [],
    "claims": [],
    "rejected": [],
    "dropped": [],
    "draft": None,
    "demonstration": "",
    "given": [],
    "first": [],
    "first_dropped": [],
    "shown": 0,
    "verifier_claims": [],
    "kept": [],
    "query": "",
    "waiting": [],
    "summaries": {},
    "short_forms": {},
    "samples": [],
    "rounds": [],
    "swaps": [],
    "retrieval": None,
    "case_id": "",
    "answerable": None,
    "doubt": None,
    "answer": None,
    "stop": "",
}


@dataclass(frozen=True)
class QuestionReader(Node):
    """What a graph begins with that answers several questions on one thread.

    All other nodes do without it: their keys have defaults.
    """

    review: bool = False
    """Whether a person is to decide on claims, for which the run must be kept meanwhile."""

    async def __call__(self, state: SourceState) -> Update:
        """Make the documents that came with the question the corpus, and empty all else.

        Raises:
            InputError: The question is empty, or a document is of no use.
            SettingsError: A review is asked for that could not be resumed.
        """
        validate_question(state["question"])
        ledger, place = state.get("ledger") or {}, current_place()
        if self.review:
            require_checkpointer()
        documents = state.get("documents") or []
        corpus = read_documents(documents) or (state.get("corpus") or [] if place.graph else [])
        around = {key: ledger[key] for key in ledger.keys() - calls_of(ledger, place.graph).keys()}
        cleared: Update = {**EMPTY, "passages": Overwrite([]), "ledger": Overwrite(around)}  # type: ignore[typeddict-item]
        # What is there in the outermost graph is the budget of the question before.
        outer = state.get("budget") if place.graph else None
        budget = budget_of(place, self.parameters, outer, around)
        # A graph of somebody else's may read the documents in the next step.
        return {**cleared, "corpus": corpus, "documents": documents, "budget": budget}


def require_checkpointer() -> None:
    """Refuse a review in a run that could never go on.

    Raises:
        SettingsError: The run has no checkpointer.
    """
    if current_place().thread is None:
        raise SettingsError(
            "A review needs a checkpointer",
            why="the run must be kept while a person decides",
            fix="Build the outermost graph with checkpointer=…, or leave review off; a LangGraph "
            "server brings its own.",
        )
