"""Starts a run that looks for no passages, or not before something is written."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.agents.retriever import asked
from citeproof.state import BaselineUpdate

__all__ = ["OpenerState", "QuestionOpener"]


class OpenerState(TypedDict):
    """What the opener reads."""

    question: str


@dataclass(frozen=True)
class QuestionOpener:
    """Checks the question, and clears all that an earlier run on the thread has left."""

    async def __call__(self, state: OpenerState) -> BaselineUpdate:
        """Empty the memory.

        Raises:
            InputError: The question is empty.
        """
        asked(state.get("question"))
        return {
            "passages": [],
            "long_term": [],
            "short_term": [],
            "claims": [],
            "rejected": [],
            "dropped": [],
            "stop": "",
        }
