"""A check as SARIF 2.1.0, which code hosts show as notes beside the lines of the text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citeproof.console.check import describe_verdict
from citeproof.paths import expand
from citeproof.tools.checking.locations import locate
from citeproof.tools.sentences import Span
from citeproof.types import CheckedSentence, CheckReport, Support

__all__ = ["render_sarif"]

_LEVELS = {
    "contradicted": ("error", "A passage of the documents says otherwise."),
    "unsupported": ("warning", "No passage of the documents supports the sentence."),
    "misattributed": ("warning", "Another passage than those cited supports the sentence."),
    "uncited": ("note", "A passage supports the sentence, which cites none."),
}
"""Verdict → level, and what it means; the order is that of the rules."""
_RULES = list(_LEVELS)
_INVALID = "invalid-citation"


def render_sarif(report: CheckReport, text: str, file: Path) -> str:
    """The sentences of a checked file that its own citations do not support, as SARIF.

    Args:
        report: The check.
        text: What was checked, as it stands in the file.
        file: Named as given where that is a relative path, so that a host finds it.
    """
    spans = locate(text, [sentence.text for sentence in report.sentences])
    uri = _uri(file)
    results = []
    for sentence, span in zip(report.sentences, spans, strict=True):
        place = _location(uri, _region(text, span))
        if sentence.verdict in _LEVELS:
            results.append(_result(sentence, place))
        if sentence.invalid:
            numbers = "".join(f"[{number}]" for number in sentence.invalid)
            said = f"There is no document {numbers}: {sentence.text}"
            results.append(_entry(_INVALID, len(_RULES), "error", said, place))
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver()},
                "columnKind": "unicodeCodePoints",
                "results": results,
                "properties": {"model": report.model, "threshold": report.threshold},
            }
        ],
    }
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _driver() -> dict[str, Any]:
    rules = [_rule(name, level, meaning) for name, (level, meaning) in _LEVELS.items()]
    rules.append(_rule(_INVALID, "error", "The sentence cites a number that no document has."))
    return {"name": "citeproof", "version": version("citeproof"), "rules": rules}


def _rule(name: str, level: str, meaning: str) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": meaning},
        "defaultConfiguration": {"level": level},
    }


def _result(sentence: CheckedSentence, place: dict[str, Any]) -> dict[str, Any]:
    verdict = sentence.verdict
    said = f"{describe_verdict(sentence)}: {sentence.text}"
    others = sentence.against if verdict == "contradicted" else sentence.support
    entry = _entry(verdict, _RULES.index(verdict), _LEVELS[verdict][0], said, place)
    if others:
        entry["relatedLocations"] = _related_locations(others)
    return entry


def _entry(rule: str, index: int, level: str, said: str, place: dict[str, Any]) -> dict[str, Any]:
    message = {"text": said[:1].upper() + said[1:]}
    return {
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": message,
        "locations": [place],
    }


def _related_locations(supports: Sequence[Support]) -> list[dict[str, Any]]:
    """Quotes of the documents, each with its file."""
    return [
        {
            "id": number,
            **_location(_uri(support.passage.source)),
            "message": {
                "text": f"{support.passage.place}: {support.sentence or support.passage.text}"
            },
        }
        for number, support in enumerate(supports, start=1)
    ]


def _location(uri: str, region: dict[str, int] | None = None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if region:
        place["region"] = region
    return {"physicalLocation": place}


def _region(text: str, span: Span | None) -> dict[str, int]:
    """Lines and columns from 1, the end column behind the last character."""
    if span is None:
        return {"startLine": 1}
    start, end = _position(text, span.start), _position(text, span.end)
    return {
        "startLine": start[0],
        "startColumn": start[1],
        "endLine": end[0],
        "endColumn": end[1],
    }


def _position(text: str, place: int) -> tuple[int, int]:
    before = text[:place]
    return before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1


def _uri(file: Path | str) -> str:
    """Relative to the current folder where the file is in it; a host resolves it so."""
    if "://" in str(file):  # a document that was read from an address
        return str(file)
    path, here = expand(Path(file)).resolve(), Path.cwd().resolve()
    if path.is_relative_to(here):
        return quote(path.relative_to(here).as_posix())
    return path.as_uri()
