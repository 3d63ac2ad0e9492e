"""Messages, made by the standard library."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from tests.tools.documents.reading import passages, read, refused


def message(text: str = "The lamp is lit.", html: str = "") -> EmailMessage:
    made = EmailMessage()
    made["Subject"], made["From"] = "Die Lampe für Jürg", "Anna <anna@example.org>"
    made["Date"] = "Mon, 01 Jan 2024 10:00:00 +0000"
    if text:
        made.set_content(text)
    if html and text:
        made.add_alternative(html, subtype="html")
    elif html:
        made.set_content(html, subtype="html")
    return made


FROM = "From: Anna <anna@example.org>"
HEAD = f"Subject: Die Lampe für Jürg\n{FROM}\nDate: Mon, 01 Jan 2024 10:00:00 +0000"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("The lamp is lit.", ""),
        ("The lamp is lit.", "<p>no</p>"),
        ("", "<p>The lamp <b>is lit</b>."),
        (" \n", "<p>The lamp <b>is lit</b>."),
        ("Stub.", "<p>The lamp <b>is lit</b>."),
        ("The lamp is lit.", "<!-- -->"),
    ],
)
def test_a_message_has_its_headers_and_its_text(text: str, html: str) -> None:
    [passage] = passages(bytes(message(text, html)), "a.eml")
    assert passage.text == f"{HEAD}\n\nThe lamp is lit."
    assert passage.title == "Die Lampe für Jürg"


@pytest.mark.parametrize("kind", ["plain", "html"])
@pytest.mark.parametrize(("charset", "sent"), [("latin-1", "latin-1"), ("us-ascii", "utf-8")])
def test_the_encoding_that_a_message_names_counts(kind: str, charset: str, sent: str) -> None:
    head = f"Subject: Oil\nContent-Type: text/{kind}; charset={charset}\n\n"
    [passage] = passages(head.encode() + "Zürich".encode(sent), "a.eml")
    assert passage.text.endswith("Zürich")


def test_copies_are_named_and_quoted_lines_of_a_mailbox_restored() -> None:
    data = b"From a Mon Jan 1 10:00:00 2024\nSubject: Oil\nCc: b@example.org\n\n>From the isle.\n"
    assert [p.text for p in passages(data, "a.mbox")] == [
        "Subject: Oil\nCc: b@example.org\n\nFrom the isle."
    ]


def test_attachments_are_told() -> None:
    made = message()
    made.add_attachment(b"x", maintype="application", subtype="pdf", filename="log.pdf")
    assert read(bytes(made), "a.eml").problems == (
        "its attachment log.pdf was not read; save it beside the message",
    )


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        ("plain", "Caf\xe9 in Z\xfcrich", "it is not UTF-8 and was read as cp1252"),
        ("html", "<p>It is lit.<!-- Until when?", "a comment in it is not closed"),
    ],
)
def test_problems_of_the_text_are_told(kind: str, text: str, told: str) -> None:
    head = f"Subject: Oil\nContent-Type: text/{kind}\n\n"
    [problem] = read((head + text).encode("latin-1"), "a.eml").problems
    assert problem.startswith(told)


def test_a_mailbox_has_its_messages_one_by_one() -> None:
    box = b"".join(
        b"From anna Mon Jan 1 10:00:00 2024\n" + bytes(message(said)) + b"\n" for said in "ab"
    )
    assert [p.location for p in passages(box, "a.mbox")] == ["message 1", "message 2"]


@pytest.mark.parametrize(
    ("name", "why"), [("a.eml", "neither a subject"), ("a.mbox", "contains no message")]
)
def test_what_is_no_message_is_refused(name: str, why: str) -> None:
    assert why in refused("just some words\n\nand more", name)
