"""LangChain documents as passages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document
from pydantic import TypeAdapter, ValidationError

from citeproof.errors import InputError
from citeproof.text import whole
from citeproof.types import Box, Passage

_BOXES = TypeAdapter(tuple[Box, ...])


def as_passage(value: Passage | Document) -> Passage:
    """Return a passage unchanged, or make one from a LangChain document.

    Raises:
        InputError: The value is neither.
    """
    if isinstance(value, Passage):
        return value
    if not isinstance(value, Document):
        raise InputError(
            f"A {type(value).__name__} is not a passage",
            fix="Give `Passage` objects or LangChain documents.",
        )
    return to_passage(value)


def to_passage(document: Document) -> Passage:
    """Make a passage from a LangChain document.

    Its id is the document's own, or else made from source and text: an `id` in the metadata often
    belongs to a larger document, of which this is a piece.
    """
    data: Mapping[str, Any] = document.metadata or {}
    text = whole(document.page_content)
    source = str(data.get("source") or data.get("url") or data.get("link") or "")
    page = _number(data.get("page"))
    if page is not None and "total_pages" in data:
        page += 1  # LangChain's PDF loaders count pages from 0
    start = _number(data.get("start", data.get("start_index"))) or 0
    start = max(start, 0)  # LangChain's splitters write -1 if they do not know it
    return Passage(
        id=document.id or Passage.make_id(source, text, start),
        text=text,
        title=str(data.get("title") or ""),
        source=source,
        page=page or None,
        location=whole(place) if isinstance(place := data.get("location"), str) else "",
        boxes=_boxes(data.get("boxes")),
        start=start,
        end=start + len(text),
    )


def _boxes(value: object) -> tuple[Box, ...]:
    """Return the boxes of a passage that has become a document; none for anything else."""
    try:
        return _BOXES.validate_python(value)
    except ValidationError:
        return ()


def _number(value: object) -> int | None:
    """Return a whole number, which some vector stores return as a float."""
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):
        return None
