"""Writes documents and errors as JSON, for the way between a reading process and the main one."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from citeproof import errors
from citeproof.tools.documents.base import Document, Part
from citeproof.types import Box

_PLAIN = [one.name for one in fields(Part) if one.name not in {"text", "boxes"}]


def to_json(result: Document | errors.CiteproofError) -> bytes:
    """A document, or why it cannot be read; a text that several parts share is written once."""
    if isinstance(result, errors.CiteproofError):
        kind = type(result).__name__
        told = {"error": kind, "what": result.what, "why": result.why, "fix": result.fix}
        return json.dumps(told).encode()
    texts: dict[int, int] = {}
    parts = []
    for part in result.parts:
        place = texts.setdefault(id(part.text), len(texts))
        values = {name: getattr(part, name) for name in _PLAIN if getattr(part, name)}
        boxes = [box.model_dump() for box in part.boxes]
        parts.append({**values, "text": place, **({"boxes": boxes} if boxes else {})})
    held = {id(part.text): part.text for part in result.parts}
    value = {
        "source": result.source,
        "title": result.title,
        "problems": result.problems,
        "texts": list(held.values()),
        "parts": parts,
    }
    return json.dumps(value).encode()


def from_json(data: bytes) -> Document:
    """Read the JSON of `to_json`.

    Raises:
        CiteproofError: It was an error.
    """
    value: dict[str, Any] = json.loads(data)
    if "error" in value:
        kind = getattr(errors, value["error"])
        raise kind(value["what"], why=value["why"], fix=value["fix"])
    texts = value["texts"]
    parts = tuple(_part(one, texts) for one in value["parts"])
    return Document(value["source"], value["title"], parts, tuple(value["problems"]))


def _part(value: dict[str, Any], texts: list[str]) -> Part:
    values: dict[str, Any] = {"start": 0, "body": 0, "end": 0}
    values |= value
    values["kept"] = tuple((start, end) for start, end in value.get("kept", ()))
    values["headings"], values["rows"] = map(
        tuple, (value.get("headings", ()), value.get("rows", ()))
    )
    values["text"] = texts[value["text"]]
    values["boxes"] = tuple(Box(**box) for box in value.get("boxes", ()))
    return Part(**values)
