"""Renders a check as SARIF 2.1.0, which code hosts show as notes beside the lines of the text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from citeproof.console.check import describe_verdict
from citeproof.paths import resolve
from citeproof.tools.checking.locations import locate
from citeproof.tools.sentences import Span
from citeproof.types import CheckReport, QuotedPassage

_RULES = {
    "contradicted": ("error", "A passage of the documents says otherwise."),
    "unsupported": ("warning", "No passage of the documents supports the sentence."),
    "misattributed": ("warning", "A passage supports the sentence, but not one that it cites."),
    "uncited": ("note", "A passage supports the sentence, but the sentence cites none."),
    "invalid-citation": ("error", "The sentence cites a number that no document has."),
}
"""Rule, named after a verdict or its own → level and meaning."""


def render_sarif(report: CheckReport, text: str, file: Path) -> str:
    """Render the sentences of a file that their own citations do not support, as SARIF."""
    spans = locate(text, [sentence.text for sentence in report.sentences])
    uri, results = _uri(file), []
    for sentence, span in zip(report.sentences, spans, strict=True):
        place = _location(uri, _region(text, span))
        if sentence.verdict in _RULES:
            said = f"{describe_verdict(sentence)}: {sentence.text}"
            others = sentence.against if sentence.verdict == "contradicted" else sentence.support
            results.append(_result(sentence.verdict, said, place, others))
        if sentence.invalid:
            numbers = "".join(f"[{number}]" for number in sentence.invalid)
            said = f"There is no document {numbers}: {sentence.text}"
            results.append(_result("invalid-citation", said, place))
    rules = [
        {
            "id": name,
            "shortDescription": {"text": meaning},
            "defaultConfiguration": {"level": level},
        }
        for name, (level, meaning) in _RULES.items()
    ]
    driver = {"name": "citeproof", "version": version("citeproof"), "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"model": report.model, "threshold": report.threshold},
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    log = {"$schema": schema, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _result(
    rule: str, said: str, place: dict[str, Any], others: Sequence[QuotedPassage] = ()
) -> dict[str, Any]:
    """Make a finding; `others` are quotes of documents, each with its file."""
    related = [
        {
            "id": number,
            **_location(_uri(own.passage.source)),
            "message": {"text": f"{own.passage.place}: {own.sentence or own.passage.text}"},
        }
        for number, own in enumerate(others, start=1)
    ]
    return {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "level": _RULES[rule][0],
        "message": {"text": said[:1].upper() + said[1:]},
        "locations": [place],
        **({"relatedLocations": related} if related else {}),
    }


def _location(uri: str, region: dict[str, int] | None = None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if region:
        place["region"] = region
    return {"physicalLocation": place}


def _region(text: str, span: Span | None) -> dict[str, int]:
    """Return lines and columns from 1; the end column is one past the last character."""
    if span is None:
        return {"startLine": 1}
    found = {}
    for name, place in (("start", span.start), ("end", span.end)):
        found[f"{name}Line"] = text.count("\n", 0, place) + 1
        found[f"{name}Column"] = place - text.rfind("\n", 0, place)
    return found


def _uri(file: Path | str) -> str:
    """Return a URI, relative if the file is below the current folder, as hosts resolve it."""
    if "://" in str(file):  # a document read from the web
        return str(file)
    path, here = resolve(Path(file)), resolve(Path())
    if path.is_relative_to(here):
        return quote(path.relative_to(here).as_posix())
    return path.as_uri()
