"""A state of a baseline to call a node with, outside any graph."""

from __future__ import annotations

from typing import Any

from citeproof.state import SamplesState, ShortenedState
from citeproof.types import Claim
from tests.agents.states import state


def reading(**changes: Any) -> ShortenedState:
    """A and B in the memory, C forgotten; nothing is shortened yet."""
    return state(**changes)  # type: ignore[return-value]


def sampled(*samples: list[Claim], **changes: Any) -> SamplesState:
    """The same, with some answers to choose from."""
    return {**state(**changes), "samples": list(samples)}  # type: ignore[typeddict-unknown-key]
