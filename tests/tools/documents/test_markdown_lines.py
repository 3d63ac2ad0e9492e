"""Wrapped lines of Markdown become one line; others stay as they are."""

from __future__ import annotations

import pytest

from citeproof.tools.sentences import sentences
from tests.tools.documents.reading import passages


def test_links_and_emphasis_over_two_lines_are_read_whole() -> None:
    text = (
        "# Who built it?\n\nThe tower on the headland was begun in 1871 by\n"
        "[Ann T. Lee](https://example.org/ann-lee) and\n"
        "[Bob Ray](https://example.org/bob). **Both of them had been masons in the town for\n"
        "thirty years**. The masons of the town were paid by the *[Harbour\n"
        "Board](https://example.org/board)*.\n\nIt belongs to the\n[Lee](https://x.org) family.\n"
    )
    [page] = passages(text, "page.md")
    assert sentences(page.text) == [
        "The tower on the headland was begun in 1871 by Ann T. Lee and Bob Ray.",
        "Both of them had been masons in the town for thirty years.",
        "The masons of the town were paid by the Harbour Board.",
        "It belongs to the Lee family.",
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "**The keepers of the lighthouse at Pellow Head**\nAnn Lee was the first.",
            ["The keepers of the lighthouse at Pellow Head", "", "Ann Lee was the first."],
        ),
        (
            "The keepers of the lighthouse at Pellow Head are:\nAnn Lee",
            ["The keepers of the lighthouse at Pellow Head are:", "Ann Lee"],
        ),
        (
            "The lighthouse at Pellow Head is older than these:\\\nthe pier",
            ["The lighthouse at Pellow Head is older than these:", "the pier"],
        ),
        (
            "The lamp of the lighthouse, the sea and the sky  \nthe stars",
            ["The lamp of the lighthouse, the sea and the sky", "the stars"],
        ),
        (
            "The lighthouse has keepers, a lamp, and a store\n- a boat",
            ["The lighthouse has keepers, a lamp, and a store", "", "- a boat"],
        ),
        (
            "The lighthouse has keepers, a lamp, and a store\n```\nmake\n```",
            ["The lighthouse has keepers, a lamp, and a store", "", "```", "make", "```"],
        ),
        (
            "The lighthouse has keepers, a lamp, and a store\n2. a boat",
            ["The lighthouse has keepers, a lamp, and a store", "2. a boat"],
        ),
        (
            "• the keepers of the lighthouse, and the masons\n• a boat",
            ["• the keepers of the lighthouse, and the masons", "• a boat"],
        ),
        (
            "| the keepers of the lighthouse | since 1871 |\n| Ann Lee | 1880 |",
            ["| the keepers of the lighthouse | since 1871 |", "| Ann Lee | 1880 |"],
        ),
        (
            "[The keepers](https://example.org/keepers.html)\n[The lamp](https://example.org/lamp)",
            ["The keepers", "The lamp"],
        ),
        (
            "```\nwhile the_lamp_of_the_lighthouse_is_lit and dark\nwait\n```",
            ["```", "while the_lamp_of_the_lighthouse_is_lit and dark", "wait", "```"],
        ),
        ("The lamp is lit\nat dusk", ["The lamp is lit", "at dusk"]),
    ],
)
def test_other_lines_stay(text: str, lines: list[str]) -> None:
    [passage] = passages(f"# Notes\n\n{text}\n", "a.md")
    assert passage.text.split("\n") == lines


@pytest.mark.parametrize("heading", ["# {}", "{}\n====="])
def test_a_heading_is_not_joined_with_the_text(heading: str) -> None:
    name = "The keepers of the lighthouse at Pellow Head"
    [passage] = passages(f"{heading.format(name)}\nAnn Lee was the first.", "a.md")
    assert (passage.title, passage.text) == (name, "Ann Lee was the first.")


def test_front_matter_stays_out() -> None:
    front = "---\ntitle: The lighthouse at Pellow Head\ndescription: How it was built, and lit\n"
    [page] = passages(f"{front}weight: 3\n---\n\nIt was lit in 1871.\n", "page.md")
    assert (page.title, page.text) == ("The lighthouse at Pellow Head", "It was lit in 1871.")
