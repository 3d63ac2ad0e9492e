"""The reader of a page: its content type decides."""

from __future__ import annotations

import codecs
import mimetypes
from collections.abc import Mapping
from email.message import Message
from pathlib import PurePosixPath

import httpx

from citeproof.tools.documents.files import READERS

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


def ending_of(url: str, headers: Mapping[str, str]) -> str:
    """The file ending that stands for the kind of a page; empty where no reader reads it."""
    kind, _ = _content_type(headers)
    told = PurePosixPath(httpx.URL(url).path).suffix.lower()
    if kind in _SAY_LITTLE and told in READERS:
        return told
    ending = _ENDINGS.get(kind) or mimetypes.guess_extension(kind) or ""
    return ending if ending in READERS else ""


def is_page(url: str) -> bool:
    """Whether a URL may be that of something to read, as far as its ending tells."""
    kind, _ = mimetypes.guess_type(httpx.URL(url).path)
    return kind is None or bool(ending_of(url, {"content-type": kind}))


def as_utf8(data: bytes, ending: str, headers: Mapping[str, str]) -> bytes:
    """Text in the encoding that the server names, as UTF-8 with a byte order mark."""
    _, charset = _content_type(headers)
    if ending not in _TEXTS or not charset:
        return data
    try:
        codec = codecs.lookup(charset)
        return codec.decode(data)[0].removeprefix("\ufeff").encode("utf-8-sig")
    except (LookupError, UnicodeError):
        return data  # then its reader finds out


def _content_type(headers: Mapping[str, str]) -> tuple[str, str]:
    message = Message()
    message["content-type"] = headers.get("content-type", "")
    told = headers.get("content-type", "").partition(";")[0].strip().lower()
    return told, str(message.get_param("charset") or "")
