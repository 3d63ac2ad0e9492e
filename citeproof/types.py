"""The values that citeproof returns: frozen, comparable and JSON-able."""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from citeproof.markdown import literal, paragraph, row
from citeproof.text import file_name, plain

__all__ = [
    "Answer",
    "Box",
    "CheckCounts",
    "CheckReport",
    "CheckVerdict",
    "CheckedSentence",
    "Citation",
    "Claim",
    "Passage",
    "QuotedPassage",
    "Usage",
    "Verdict",
]

CheckVerdict = Literal[
    "supported", "misattributed", "uncited", "contradicted", "unsupported", "unchecked"
]
"""The verdict of a check on a sentence:

- supported: its cited passages entail it;
- misattributed: they do not, but another passage does;
- uncited: it cites nothing, but a passage entails it;
- contradicted: none of the passages tried entails it, and one says otherwise;
- unsupported: none of the passages tried entails it or says otherwise;
- unchecked: it states nothing, for instance a heading, a lead-in or a question.
"""


def shown_score(score: float) -> str:
    """A score with two digits, rounded down, so no score below a threshold looks equal to it."""
    return f"{int(score * 100 + 1e-9) / 100:.2f}"


class _Value(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_serialization_defaults_required=True,
    )


class Box(_Value):
    """The place of a piece of text on its page. Sides are shares of the page, from 0 to 1."""

    start: int
    """Offset of the piece's first character in the text."""
    end: int
    left: float
    top: float
    """Distance from the upper edge of the page."""
    right: float
    bottom: float


class Passage(_Value):
    """A piece of a document, about 100 words long, cut at sentence ends."""

    id: str
    """Stable within a store: the same text of the same source has the same id."""
    text: str
    title: str = ""
    source: str = ""
    """Source of the text: a path or an address."""
    page: int | None = None
    """Page of the source, from 1; None if the source has no pages."""
    location: str = ""
    """Location of the text in a source without pages, as in `slide 4`, and in a list that is too
    long for a passage, as in `items 4-6 of 9`."""
    boxes: tuple[Box, ...] = ()
    """The lines of `text` on their page, with a box for each sentence's part of a line; empty if
    the source has no positions."""
    start: int = 0
    """Offset of the first character of `text` in the text of its source."""
    end: int = 0
    """Offset after the last character."""

    @property
    def place(self) -> str:
        """Title and page or location, as in `Harbour guide, p. 3`, without control characters."""
        title = plain(self.title) or self.origin or "untitled"
        where = plain(self.location) if self.page is None else f"p. {self.page}"
        return f"{title}, {where}" if where else title

    @property
    def origin(self) -> str:
        """The source as shown to others: a web address, or a file's name without folders."""
        return file_name(plain(self.source))

    @property
    def premise(self) -> str:
        """The passage as an entailment model reads it: a title line, then the text (ALCE)."""
        return f"Title: {self.title}\n{self.text}" if self.title else self.text

    @staticmethod
    def make_id(source: str, text: str, start: int = 0) -> str:
        """An id that depends only on the passage's source, position and text."""
        key = f"{source}\x00{start}\x00{text}".encode()
        return hashlib.sha256(key).hexdigest()[:16]


class _Quotation(_Value):
    sentence: str = ""
    """The sentence of the passage that bears most on the claim or the question."""
    page: int | None = None
    """Page of the source with the sentence, from 1; None if the source has no pages."""
    boxes: tuple[Box, ...] = ()
    """The place of the sentence on that page, a box for each line; offsets refer to `sentence`."""
    unplaced: str = ""
    """Why a sentence on a page has no boxes; empty otherwise."""


class Citation(_Quotation):
    """A passage that a claim cites."""

    passage_id: str
    number: int = Field(ge=1)
    """The number shown in the answer's text, in order of first use."""


class Verdict(_Value):
    """The verdict of the verifiers on a claim."""

    status: Literal["supported", "contradicted", "unsupported", "unchecked"]
    """contradicted: no passages entail the claim, and one says otherwise."""
    tier: Literal["cited", "memory"] | None = None
    """The passages that entail the claim: those that were cited, or the memory as a whole."""
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Probability that the cited passages entail the claim, if the claim was proved; otherwise, the
    score of the tier that decided last. None if unchecked."""
    trials: int = Field(default=1, ge=1)
    """Number of times the claim was written until this verdict."""
    reason: str = ""
    """Why a claim is unchecked, who approved an unsupported one, which sentences a name was taken
    from, or that the claim is a quote; empty otherwise."""

    @property
    def failed(self) -> bool:
        """Whether the claim was checked and not proved."""
        return self.status in ("unsupported", "contradicted")

    def __str__(self) -> str:
        """As in `supported 0.90`; without a number if nothing was scored."""
        return self.status if self.score is None else f"{self.status} {shown_score(self.score)}"


class Claim(_Value):
    """One sentence of an answer."""

    text: str
    """The sentence, without citation marks."""
    citations: tuple[Citation, ...] = ()
    verdict: Verdict
    against: tuple[Citation, ...] = ()
    """Passages of the run that say otherwise, even if others prove the claim."""


class Usage(_Value):
    """The cost of a run. Usages add up with `+`."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the server took from its key-value cache."""
    completion_tokens: int = 0
    nli_pairs: int = 0
    """Premise-hypothesis pairs that were requested, whether or not a cache answered them."""
    retrievals: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        mine, theirs = self.model_dump(), other.model_dump()
        return Usage(**{key: mine[key] + theirs[key] for key in mine})


class QuotedPassage(_Quotation):
    """A passage, with its sentence that supports, contradicts or nearly answers."""

    number: int | None = None
    """The number that cites the passage; None if none does."""
    passage: Passage


class Answer(_Value):
    """The answer that every method returns."""

    question: str
    asked: str = ""
    """The question as asked, if `question` is a rewriting that stands alone."""
    method: str
    status: Literal["answered", "partial", "not_found"]
    """answered: every claim is supported, and the question, or each of its parts, is answered by
    one of them; partial: a claim is not supported, a part is not answered or not surely, or a
    budget was spent; not_found: no claim answers the question, and the text is what the passages do
    say."""
    reason: str = ""
    """Why the answer is partial or was not found."""
    text: str = ""
    """The claims in order, each with its marks: `[1][2]`."""
    claims: tuple[Claim, ...] = ()
    passages: tuple[Passage, ...] = ()
    """The cited passages; `passages[n - 1]` is the one with number n."""
    nearest: tuple[QuotedPassage, ...] = ()
    """The passages that came nearest, each with the sentence that answers likeliest; if no answer
    was found and no passage is cited."""
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    """Problems that were repaired, such as an unreadable reply."""

    def _repr_markdown_(self) -> str:
        """The answer in notebooks: text, status, each claim with its verdict, sources."""
        reason = f", {literal(self.reason)}" if self.reason else ""
        standing = self.status.replace("_", " ")
        blocks = [paragraph(self.text), f"{paragraph(self.method)}: *{standing}*{reason}"]
        if self.claims:
            head = [row(["claim", "cites", "verdict"]), "|---|---|---|"]
            blocks.append("\n".join([*head, *(row(_cells(claim)) for claim in self.claims)]))
        sources = [
            f"- [{number}] **{literal(passage.place)}**: {literal(passage.text)}"
            for number, passage in enumerate(self.passages, start=1)
        ]
        sources += [
            f"- nearest: **{literal(near.passage.place)}**: {literal(near.sentence)}"
            for near in self.nearest
        ]
        blocks += ["\n".join(sources), "\n".join(f"- note: {literal(n)}" for n in self.notes)]
        return "\n\n".join(filter(None, blocks))


class CheckedSentence(_Value):
    """One sentence of a checked text."""

    text: str
    """The sentence, without citation marks, bullets and emphasis."""
    paragraph: int = Field(ge=1)
    """Number of the paragraph that contains the sentence."""
    citations: tuple[int, ...] = ()
    """The cited numbers in order, each once, including those that do not exist."""
    invalid: tuple[int, ...] = ()
    """The cited numbers that do not exist."""
    verdict: CheckVerdict
    score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Probability of entailment: the score of `support`, or the best of all passages tried; None if
    none was tried."""
    support: tuple[QuotedPassage, ...] = ()
    """Passages that entail the sentence: one alone, or two or three cited ones together."""
    against: tuple[QuotedPassage, ...] = ()
    """The passages that say otherwise, each by itself, even if others entail the sentence."""


class CheckCounts(_Value):
    """Number of sentences with each verdict."""

    supported: int = 0
    misattributed: int = 0
    uncited: int = 0
    contradicted: int = 0
    unsupported: int = 0
    unchecked: int = 0


class CheckReport(_Value):
    """The result of a check of a whole text."""

    sentences: tuple[CheckedSentence, ...] = ()
    """The sentences, in the order of the text."""
    counts: CheckCounts = CheckCounts()
    citation_recall: float | None = Field(default=None, ge=0.0, le=1.0)
    """Share of the checked sentences that their own citations support; None if there are none."""
    invalid_citations: tuple[int, ...] = ()
    """Cited numbers that do not exist, in ascending order."""
    model: str = ""
    """Name of the entailment model in reports."""
    threshold: float = 0.0
    """Least score that counted as entailed."""


def _cells(claim: Claim) -> list[str]:
    reason = f": {claim.verdict.reason}" if claim.verdict.reason else ""
    cites = "".join(f"[{citation.number}]" for citation in claim.citations)
    return [claim.text, cites, f"{claim.verdict}{reason}"]
