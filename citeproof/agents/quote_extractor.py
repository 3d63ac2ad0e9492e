"""Copies from the passages what answers the question (after FRONT, grounding)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.answerer import Answerer

__all__ = ["QuoteExtractor"]


@dataclass(frozen=True)
class QuoteExtractor(Answerer):
    """An answerer that is told to copy sentences; `quote_verifier` sees whether it did."""

    may_abstain: bool = True

    @property
    def prompt_name(self) -> str:
        """Its own."""
        return "quote_extractor"
