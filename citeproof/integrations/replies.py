"""Replies to an agent in words: answers, verdicts, passages."""

from __future__ import annotations

from collections.abc import Sequence

from citeproof.types import Answer, CheckedSentence, CheckReport, Passage

__all__ = ["say_answer", "say_passages", "say_report"]


def say_answer(answer: Answer) -> str:
    """The text with its sources by number, whether it answers, and the claims that failed."""
    sources = [f"[{number}] {_place(one)}" for number, one in enumerate(answer.passages, start=1)]
    failed = [claim for claim in answer.claims if claim.verdict.failed]
    lines = [answer.text or "No answer.", *sources, answer.status.replace("_", " ")]
    if answer.reason:
        lines[-1] += f": {answer.reason}"
    return "\n".join([*lines, *(f"{claim.verdict.status}: {claim.text}" for claim in failed)])


def say_report(report: CheckReport) -> str:
    """A line for each sentence: its verdict, and what a source says otherwise."""
    return "\n".join(map(_verdict, report.sentences)) or "There is no sentence to check."


def say_passages(passages: Sequence[Passage]) -> str:
    """Each passage with its id and its place."""
    blocks = [f"{one.id}: {_place(one)}\n{one.text}" for one in passages]
    return "\n\n".join(blocks) or "Nothing was found."


def _verdict(sentence: CheckedSentence) -> str:
    line = f"{sentence.verdict}: {sentence.text}"
    for support in sentence.against:
        line += f" ({support.passage.place} says: “{support.sentence or support.passage.text}”)"
    return line


def _place(passage: Passage) -> str:
    known = passage.source and passage.source != passage.title
    return f"{passage.place} ({passage.source})" if known else passage.place
