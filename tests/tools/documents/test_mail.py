"""Messages, made by the standard library."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from citeproof.errors import DocumentError
from citeproof.tools.documents.base import Document
from citeproof.tools.documents.files import parse
from citeproof.tools.documents.passages import cut


def message(text: str = "The lamp is lit.", html: str = "") -> EmailMessage:
    made = EmailMessage()
    made["Subject"], made["From"] = "Die Lampe für Jürg", "Anna <anna@example.org>"
    made["Date"] = "Mon, 01 Jan 2024 10:00:00 +0000"
    if text:
        made.set_content(text)
    if html:
        if text:
            made.add_alternative(html, subtype="html")
        else:
            made.set_content(html, subtype="html")
    return made


def read(made: EmailMessage) -> Document:
    return parse(bytes(made), Path("/docs/a.eml"))


FROM = "From: Anna <anna@example.org>"
HEAD = f"Subject: Die Lampe für Jürg\n{FROM}\nDate: Mon, 01 Jan 2024 10:00:00 +0000"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("The lamp is lit.", ""),
        ("The lamp is lit.", "<p>no</p>"),
        ("", "<p>The lamp <b>is lit</b>."),
    ],
)
def test_a_message_has_its_headers_and_its_text(text: str, html: str) -> None:
    [passage] = cut(read(message(text, html)))
    assert passage.text == f"{HEAD}\n\nThe lamp is lit."
    assert passage.title == "Die Lampe für Jürg"


def test_attachments_are_told() -> None:
    made = message()
    made.add_attachment(b"x", maintype="application", subtype="pdf", filename="log.pdf")
    assert read(made).problems == (
        "its attachment log.pdf was not read; save it beside the message",
    )


def test_a_mailbox_has_its_messages_one_by_one() -> None:
    box = b"".join(
        b"From anna Mon Jan 1 10:00:00 2024\n" + bytes(message(said)) + b"\n" for said in "ab"
    )
    found = cut(parse(box, Path("/docs/a.mbox")))
    assert [p.location for p in found] == ["message 1", "message 2"]


@pytest.mark.parametrize("name", ["a.eml", "a.mbox"])
def test_what_is_no_message_is_refused(name: str) -> None:
    with pytest.raises(DocumentError, match=r"neither a subject|no message begins"):
        parse(b"just some words\n\nand more", Path(name))
