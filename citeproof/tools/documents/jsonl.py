"""Reads JSON lines, each with a passage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from citeproof.errors import DocumentError
from citeproof.text import whole
from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.encodings import decode

_MOST_NAME = 2_000
"""Characters of an id or a source; every passage of the object repeats them."""


def read_jsonl(data: bytes, path: Path) -> Document:
    """Read JSON lines: objects with `text`, and optionally `title`, `id` and `source`."""
    parts: list[Part] = []
    problems: list[str] = []
    seen: dict[str, Part] = {}
    # Not splitlines(): JSON strings may contain U+2028 and similar characters unescaped.
    for number, line in enumerate(decode(data, path).split("\n"), start=1):
        if not line.strip():
            continue
        part = read_object(line, f"{path}, line {number}")
        if not part.text.strip():
            problems.append(f"line {number} has an empty text and was left out")
            continue
        if part.id:
            first = seen.setdefault(part.id, part)
            if (first.text, first.title) != (part.text, part.title):
                raise DocumentError(
                    f"{path}, line {number}, cannot be used",
                    why=f"an earlier line has the same id {part.id!r} and another text",
                    fix="Give every object an id of its own, or none.",
                )
            if first is not part:
                continue
        parts.append(part)
    return Document(str(path), path.stem, tuple(parts), tuple(problems))


def read_object(line: str, place: str) -> Part:
    """Read the passage on a line; `place` names its file and number in errors.

    Raises:
        DocumentError: The line is not an object with a `text`.
    """
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise DocumentError(
            f"{place}, is not JSON", why=why, fix="Every line must be one whole object."
        ) from error
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise DocumentError(
            f"{place}, cannot be used",
            why="it is not an object with a string under `text`",
            fix='Write each line as {"text": …}, optionally with "title", "id" and "source".',
        )
    for key, kinds in (("title", str), ("source", str), ("id", (str, int))):
        own = "" if value.get(key) is None else value[key]
        if not isinstance(own, kinds):
            raise DocumentError(
                f"{place}, cannot be used", why=f"`{key}` is {own!r}, which is not a string"
            )
        value[key] = whole(str(own))
    if max(len(value["source"]), len(value["id"])) > _MOST_NAME:
        raise DocumentError(
            f"{place}, cannot be used",
            why=f"its `id` or `source` has more than {_MOST_NAME:,} characters",
        )
    text = whole(value["text"])
    return Part(text, 0, 0, len(text), value["title"], source=value["source"], id=value["id"])
