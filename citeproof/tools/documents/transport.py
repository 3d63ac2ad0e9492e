"""Writes documents and errors as JSON, for the way between a reading process and the main one."""

from __future__ import annotations

import json
from typing import Any

from citeproof import errors
from citeproof.tools.documents.base import Document, Part
from citeproof.types import Box


def to_json(result: Document | errors.CiteproofError) -> bytes:
    """A document, or why it cannot be read; a text that several parts share is written once."""
    if isinstance(result, errors.CiteproofError):
        kind = type(result).__name__
        told = {"error": kind, "what": result.what, "why": result.why, "fix": result.fix}
        return json.dumps(told).encode()
    texts = {text: n for n, text in enumerate(dict.fromkeys(part.text for part in result.parts))}
    parts = [
        {**vars(own), "text": texts[own.text], "boxes": [box.model_dump() for box in own.boxes]}
        for own in result.parts
    ]
    return json.dumps({**vars(result), "parts": parts, "texts": list(texts)}).encode()


def from_json(data: bytes) -> Document:
    """Read the JSON of `to_json`.

    Raises:
        CiteproofError: It was an error.
    """
    value: dict[str, Any] = json.loads(data)
    if "error" in value:
        kind = getattr(errors, value["error"])
        raise kind(value["what"], why=value["why"], fix=value["fix"])
    texts = value.pop("texts")
    parts = tuple(_part(texts[one["text"]], one) for one in value["parts"])
    return Document(**value | {"parts": parts, "problems": tuple(value["problems"])})


def _part(text: str, value: dict[str, Any]) -> Part:
    lists = {name: tuple(own) for name, own in value.items() if isinstance(own, list)}
    lists["kept"] = tuple(map(tuple, value["kept"]))
    lists["boxes"] = tuple(Box(**box) for box in value["boxes"])
    return Part(**value | lists | {"text": text})
