"""`citeproof check`: reads a text and prints what supports each of its sentences."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from citeproof.console.output import write_line, write_signed
from citeproof.console.reading import read_text
from citeproof.errors import InputError
from citeproof.text import count, find, plain
from citeproof.tools.citations.marks import strip_marks
from citeproof.types import CheckedSentence, CheckReport, CheckVerdict, QuotedPassage, shown_score

LOOK: dict[CheckVerdict, tuple[str, str, str]] = {
    "supported": ("✓", "green", "supported by what it cites"),
    "misattributed": ("≠", "magenta", "supported, but not by what it cites"),
    "uncited": ("+", "cyan", "supported, but cites nothing"),
    "contradicted": ("⊘", "red", "contradicted by what was found"),
    "unsupported": ("✗", "yellow", "not supported by anything found"),
    "unchecked": ("·", "dim", "states nothing to check"),
}
"""Verdict → sign, colour, and words for where there is no colour."""
_SEVERITY: list[CheckVerdict] = ["contradicted", "unsupported"]
"""The verdicts that `--fail-on` accepts, worst first."""


def verdicts_that_fail(name: str | None) -> set[CheckVerdict]:
    """Return the verdicts that fail a check: the named one and worse.

    Without a name, every verdict fails it except `supported` and `unchecked`.
    """
    if name is None:
        return set(LOOK) - {"supported", "unchecked"}
    for place, verdict in enumerate(_SEVERITY, start=1):
        if name == verdict:
            return set(_SEVERITY[:place])
    raise InputError(f"--fail-on cannot be {name!r}", fix=f"Use {' or '.join(_SEVERITY)}.")


def read(text: Path) -> str:
    """Read a text file; `-` is the standard input."""
    said, _ = read_text(text)
    if not any(map(str.isalnum, strip_marks(said))):
        raise InputError("The text holds no sentence", fix="Give it words to check.")
    return said


def show(report: CheckReport, console: Console) -> None:
    """Print each sentence with its verdict and what supports it, then the totals."""
    paragraph = 1
    for sentence in report.sentences:
        if sentence.paragraph != paragraph:
            console.print()
            paragraph = sentence.paragraph
        _sentence(sentence, console)
    console.print()
    _invalid(report.invalid_citations, console)
    colour = "green" if is_complete(report) else "yellow"
    sums = (f" · {count_verdicts(report)}", "dim")
    write_line(console, Text.assemble((describe_recall(report), colour), sums))


def describe_recall(report: CheckReport) -> str:
    """Say how much of a text its own citations support: `3 of 4 sentences … (recall 75%)`.

    For a text that cites nothing, say how much of it anything supports.
    """
    checked = len(report.sentences) - report.counts.unchecked
    sentences = count(checked, "sentence")
    if report.citation_recall is None:
        return "No sentence states anything that could be checked"
    if not _cites(report):
        return f"{report.counts.uncited} of {sentences} supported by what was found"
    cite = "it cites" if checked == 1 else "they cite"
    recall = f"(citation recall {report.citation_recall:.0%})"
    return f"{report.counts.supported} of {sentences} supported by what {cite} {recall}"


def count_verdicts(report: CheckReport) -> str:
    """List the number of sentences per verdict: `1 supported · 0 misattributed · …`."""
    counts = report.counts.model_dump()
    return " · ".join(f"{counts[verdict]} {verdict}" for verdict in LOOK)


def describe_verdict(sentence: CheckedSentence) -> str:
    """Put a verdict into words, with its score: `supported by what it cites, score 0.97`."""
    words = LOOK[sentence.verdict][2]
    if sentence.score is None:
        return words
    best = "best score" if sentence.verdict in ("unsupported", "contradicted") else "score"
    return f"{words}, {best} {shown_score(sentence.score)}"


def _cites(report: CheckReport) -> bool:
    return any(sentence.citations for sentence in report.sentences)


def is_complete(report: CheckReport) -> bool:
    """Whether every checked sentence has support: its citations, or anything if none cites."""
    if not _cites(report):
        return report.counts.uncited + report.counts.unchecked == len(report.sentences)
    return report.citation_recall == 1.0


def _sentence(sentence: CheckedSentence, console: Console) -> None:
    sign, colour, _ = LOOK[sentence.verdict]
    line = Text.assemble((plain(sentence.text), colour))
    if sentence.citations:
        marks = "".join(f"[{number}]" for number in sentence.citations)
        line.append(f" {marks}", style="cyan")
    write_signed(console, Text(sign, style=f"bold {colour}"), line)
    if sentence.verdict != "unchecked":
        write_line(console, describe_verdict(sentence), "dim", indent=4)
    _invalid(sentence.invalid, console, indent=4)
    for support in sentence.support:
        _support(support, console)
    if sentence.against:
        write_line(console, "contradicted in", "red", indent=4)
    for support in sentence.against:
        _support(support, console)


def _support(support: QuotedPassage, console: Console) -> None:
    passage = support.passage
    number = "" if support.number is None else f"[{support.number}] "
    line = Text.assemble((number, "cyan"), (passage.place, "bold"))
    if passage.source and plain(passage.source) != passage.place:
        line.append(f" ({plain(passage.source)})", style="dim")
    write_line(console, line, indent=4)
    text, quoted = plain(passage.text), plain(support.sentence)
    if quoted and find(text, quoted):
        write_line(console, f"“{quoted}”", indent=8)


def _invalid(numbers: tuple[int, ...], console: Console, indent: int = 0) -> None:
    if numbers:
        marks = "".join(f"[{number}]" for number in numbers)
        write_line(console, f"invalid citations: {marks}", "red", indent=indent)
