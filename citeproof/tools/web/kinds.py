"""Selects the reader of a page, mainly by its content type."""

from __future__ import annotations

import mimetypes
from pathlib import PurePosixPath

import httpx

from citeproof.tools.documents.files import READERS
from citeproof.tools.transport import content_type
from citeproof.tools.web.fetch import Reply

_ENDINGS = {  # unknown to some versions of the standard library
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "application/x-pdf": ".pdf",
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}
_SAY_LITTLE = ("", "text/plain", "application/octet-stream", "binary/octet-stream")
"""Servers send these if they know no better type; the URL may then tell more."""
TEXTS = (".html", ".txt", ".md", ".jsonl")
"""Formats whose encoding the server may declare."""


def ending_of(reply: Reply) -> str:
    """Return the file suffix for a page's type, or an empty string if no reader supports it."""
    kind = content_type(reply)
    told = PurePosixPath(httpx.URL(reply.url).path).suffix.lower()
    if kind in _SAY_LITTLE and told in READERS:
        return told
    return _ending(kind)


def _ending(kind: str) -> str:
    ending = _ENDINGS.get(kind) or mimetypes.guess_extension(kind) or ""
    return ending if ending in READERS else ""


def is_page(url: str) -> bool:
    """Return whether a URL may lead to a readable page, judged by its suffix."""
    kind, _ = mimetypes.guess_type(httpx.URL(url).path)
    return kind is None or bool(_ending(kind))
