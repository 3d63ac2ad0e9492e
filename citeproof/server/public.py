"""Prepares values to leave the server: passages name documents by links instead of paths."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from starlette.requests import Request

from citeproof.text import file_name, is_web

T = TypeVar("T")


def document_id(path: str) -> str:
    """Return the id under which a document is listed and shown."""
    return hashlib.sha256(path.encode()).hexdigest()[:32]


def document_link(source: str, base: str = "") -> str:
    """Link to a source: a web address as it is, a file below `base`, the server's address."""
    if is_web(source) or not Path(source).is_absolute():
        return file_name(source)
    return f"{base}/api/documents/{document_id(source)}/file"


def base_of(request: Request) -> str:
    """Return the server's address as the client wrote it."""
    return str(request.base_url).rstrip("/")


def with_links(value: T, base: str = "") -> T:
    """Replace the path of each source by a link; see `document_link`."""
    return with_sources(value, partial(document_link, base=base))


def with_sources(value: T, shown: Callable[[str], str]) -> T:
    """Replace the source of each passage or extract in a value by what `shown` returns."""
    changed: Any = value
    if isinstance(value, BaseModel) and {"source", "title"} <= type(value).model_fields.keys():
        title = changed.title or file_name(changed.source)
        changed = value.model_copy(update={"source": shown(changed.source), "title": title})
    elif isinstance(value, BaseModel):
        changed = value.model_copy(update={name: with_sources(own, shown) for name, own in value})
    elif isinstance(value, tuple | list):
        changed = type(value)(with_sources(own, shown) for own in value)
    elif isinstance(value, Mapping):
        changed = {key: with_sources(own, shown) for key, own in value.items()}
    return cast(T, changed)
