"""The values that citeproof gives back: frozen, comparable and JSON-able."""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Answer", "Citation", "Claim", "Passage", "Usage", "Verdict"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Passage(_Value):
    """A piece of a document, about 100 words long, cut at sentence ends."""

    id: str
    """Stable within a store: the same text of the same source has the same id."""
    text: str
    title: str = ""
    source: str = ""
    """Where the text comes from: a path or an address."""
    page: int | None = None
    """Page of the source, from 1; None where the source has no pages."""
    start: int = 0
    """Offset of the first character of `text` in the text of its source."""
    end: int = 0
    """Offset after the last character."""

    @property
    def premise(self) -> str:
        """The passage as an entailment model reads it: a title line, then the text (ALCE)."""
        return f"Title: {self.title}\n{self.text}" if self.title else self.text

    @staticmethod
    def make_id(source: str, text: str, start: int = 0) -> str:
        """An id that depends on nothing but where the passage stands and what it says."""
        key = f"{source}\x00{start}\x00{text}".encode()
        return hashlib.sha256(key).hexdigest()[:16]


class Citation(_Value):
    """A passage that a claim rests on."""

    passage_id: str
    number: int = Field(ge=1)
    """The number shown in the answer's text, given in order of first use."""
    sentence: str = ""
    """The sentence of the passage that supports the claim best."""


class Verdict(_Value):
    """What the verifiers found out about a claim."""

    status: Literal["supported", "unsupported", "unchecked"]
    tier: Literal["cited", "memory"] | None = None
    """Which passages entail the claim: those that were cited, or the memory as a whole."""
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Probability of entailment, given by the tier that decided; None where unchecked."""
    trials: int = Field(default=1, ge=1)
    """How many times the claim was written until this verdict."""
    reason: str = ""
    """Why a claim is unchecked; empty otherwise."""


class Claim(_Value):
    """One sentence of an answer."""

    text: str
    """The sentence, without citation marks."""
    citations: tuple[Citation, ...] = ()
    verdict: Verdict


class Usage(_Value):
    """What a run cost. Usages add up with `+`."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Those of the prompt tokens that the server took from its key-value cache."""
    completion_tokens: int = 0
    nli_pairs: int = 0
    """Premise-hypothesis pairs that were asked for, whether a cache answered them or not."""
    retrievals: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        mine, theirs = self.model_dump(), other.model_dump()
        return Usage(**{key: mine[key] + theirs[key] for key in mine})


class Answer(_Value):
    """What every method returns."""

    question: str
    method: str
    status: Literal["answered", "partial", "abstained"]
    """partial: some claim is not supported, or a limit ended the run; abstained: no claim."""
    reason: str = ""
    """Why the answer is partial or was not given."""
    text: str = ""
    """The claims in order, each with its marks [1][2]."""
    claims: tuple[Claim, ...] = ()
    passages: tuple[Passage, ...] = ()
    """The cited passages; `passages[n - 1]` is the one with number n."""
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    """What went otherwise than planned and was repaired, such as an unreadable reply."""
