"""Reads e-mail: single messages and mailboxes."""

from __future__ import annotations

import email
import email.policy
import re
from email.message import EmailMessage, MIMEPart
from pathlib import Path

from citeproof.errors import DocumentError
from citeproof.text import whole
from citeproof.tools.documents.base import Document, Part, sections, unusable
from citeproof.tools.documents.encodings import as_utf8, decode_any
from citeproof.tools.documents.html import read_html
from citeproof.tools.documents.text import find_text_headings, write_out_tables

_FIX = "Save it from the mail program again."
_MOST_MESSAGES = 100_000
_BORDER = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\r\n]*\r?\n(?=[!-9;-~]+:)")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
"""A line of a message that would look like the border of two."""
_HEADERS = ("Subject", "From", "To", "Cc", "Date")
_STUB = 3
"""A plain text with less than a third of the words of the HTML only says that there is HTML."""


def read_eml(data: bytes, path: Path) -> Document:
    """Read a message: its headers, and its plain text, or its HTML if that says far more."""
    return _message(data, path, "")


def read_mbox(data: bytes, path: Path) -> Document:
    """Read the messages of a mailbox."""
    begins = [(found.start(), found.end()) for found in _BORDER.finditer(data)][:_MOST_MESSAGES]
    if not begins:
        raise unusable(path, "it contains no message", _FIX)
    parts: list[Part] = []
    problems: list[str] = []
    ends = [start for start, _ in begins[1:]] + [len(data)]
    for number, ((_, start), end) in enumerate(zip(begins, ends, strict=True), start=1):
        where = f"message {number}"
        try:
            found = _message(_QUOTED_FROM.sub(rb"\1", data[start:end]), path, where)
        except DocumentError as error:
            problems.append(f"{where} was left out: {error.why}")
        else:
            parts += found.parts
            problems += [f"{where}: {one}" for one in found.problems]
    if not parts:
        raise unusable(path, "no message in it holds any text", _FIX)
    return Document(str(path), path.stem, tuple(parts), tuple(problems))


def _message(data: bytes, path: Path, where: str) -> Document:
    try:
        message = email.message_from_bytes(data, policy=email.policy.default)
        assert isinstance(message, EmailMessage)
        headers = {name: whole(str(message[name])) for name in _HEADERS if message[name]}
        bodies = filter(None, (message.get_body((kind,)) for kind in ("plain", "html")))
        contents = [(body.get_content_type(), _content(body)) for body in bodies]
        problems = [
            f"its attachment {part.get_filename() or part.get_content_type()} was not read; "
            "save it beside the message"
            for part in message.iter_attachments()
        ]
        if not contents:
            problems.append(f"no text was found in it, only {message.get_content_type()}")
    except Exception as error:  # odd headers and encodings break the parser in many ways
        raise unusable(path, f"it is not a valid message ({error})", _FIX) from error
    if not headers:
        raise unusable(path, "it has neither a subject nor a sender", _FIX)
    title = " ".join(headers.get("Subject", "").split()) or path.stem
    head = "\n".join(f"{name}: {' '.join(value.split())}" for name, value in headers.items())
    said, more = "", tuple[str, ...]()
    for kind, content in contents:  # first the plain text
        try:
            own, told = _read(kind, content, path)
        except DocumentError:  # a page without text
            if len(contents) == 1:
                raise
        else:
            if len(own.split()) > _STUB * len(said.split()):
                said, more = own, told
    text, rows = write_out_tables(f"{head}\n\n{said.strip()}")
    parts = sections(text, find_text_headings(text), title, kept=rows, location=where)
    return Document(str(path), title, parts, (*problems, *more))


def _read(kind: str, content: bytes, path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the text of a body, and problems."""
    if kind != "text/html":
        return decode_any(content, path)
    page = read_html(content, path)
    return page.parts[0].text, page.problems


def _content(body: MIMEPart) -> bytes:
    payload = body.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return b""
    return as_utf8(payload, body.get_content_charset("utf-8"))
