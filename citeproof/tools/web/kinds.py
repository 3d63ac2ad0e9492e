"""The reader of a page: its content type decides."""

from __future__ import annotations

import codecs
import mimetypes
from pathlib import PurePosixPath

import httpx

from citeproof.tools.documents.files import READERS
from citeproof.tools.web.fetch import Reply

_ENDINGS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "application/pdf": ".pdf",
    "application/x-pdf": ".pdf",
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}
_SAY_LITTLE = ("", "text/plain", "application/octet-stream", "binary/octet-stream")
"""Servers send these for want of a better one; the URL may say more."""
_TEXTS = (".html", ".txt", ".md", ".jsonl")


def ending_of(reply: Reply) -> str:
    """The file ending that stands for the kind of a page; empty where no reader reads it."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    told = PurePosixPath(httpx.URL(reply.url).path).suffix.lower()
    if kind in _SAY_LITTLE and told in READERS:
        return told
    return _ending(kind)


def _ending(kind: str) -> str:
    ending = _ENDINGS.get(kind) or mimetypes.guess_extension(kind) or ""
    return ending if ending in READERS else ""


def is_page(url: str) -> bool:
    """Whether a URL may be that of something to read, as far as its ending tells."""
    kind, _ = mimetypes.guess_type(httpx.URL(url).path)
    return kind is None or bool(_ending(kind))


def as_utf8(reply: Reply, ending: str) -> bytes:
    """Text in the encoding that the server names, as UTF-8 with a byte order mark."""
    if ending not in _TEXTS or not reply.charset:
        return reply.data
    try:
        text, _ = codecs.lookup(reply.charset).decode(reply.data)
        return text.removeprefix("\ufeff").encode("utf-8-sig")
    except (LookupError, UnicodeError):
        return reply.data  # then its reader finds out
