"""Of the marks of note-taking programs, the words that a reader sees are kept."""

from __future__ import annotations

import pytest

from tests.tools.documents.reading import passages, read


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("See [[Plans]] and [[Plans|your plan]].", "See Plans and your plan."),
        (
            "See [[Plans#Costs]], [[#Costs]] or [[Plans#^id1]].",
            "See Plans > Costs, Costs or Plans.",
        ),
        ("See [[Plans#Costs|**the costs**]].", "See the costs."),
        ("| Plan | See |\n|-|-|\n| A | [[Plans\\|costs]] |", "Plan: A; See: costs"),
        ("See: ![[Map.png|100]] and ![[Plans#Costs]] here.", "See: and here."),
        (
            "Type `[[Plans]]`, or:\n\n```\n[[Plans]]\n```",
            "Type `[[Plans]]`, or:\n\n```\n[[Plans]]\n```",
        ),
        ("if [[ -f x ]] then [[]] or [[#]]", "if [[ -f x ]] then [[]] or [[#]]"),
        ("As found [[1]](a.md), and by [@bo[bot]](b.md).", "As found [1], and by @bo[bot]."),
        ("It is ==due== today; a==b or c == d==e", "It is due today; a==b or c == d==e"),
        ("It is due.%% ask\nAnn %% Today, 5%% more or 6%%", "It is due. Today, 5%% more or 6%%"),
        ("It is due. ^b15695\n\n- Go ^go-1\n\nx ^2", "It is due.\n\n- Go\n\nx ^2"),
    ],
)
def test_notes_are_read_as_their_program_shows_them(raw: str, read: str) -> None:
    [passage] = passages(f"# Notes\n\n{raw}\n", "a.md")
    assert [line.rstrip() for line in passage.text.split("\n")] == read.split("\n")


@pytest.mark.parametrize(
    ("begins", "title"),
    [
        ("# Sync\n\n# Limits\n", "Sync"),
        ("Notes\n\n# Sync\n\n# Limits\n", "My notes"),
        ("Notes\n\n# Sync\n\n## Limits\n", "Sync"),
        ("## Sync\n\n## Limits\n", "My notes"),
        ("## Sync\n\n### Limits\n", "Sync"),
        ("## Sync\n\n# Limits\n", "My notes"),
        ("---\ntitle: All of it\n---\n# Sync\n", "All of it"),
    ],
)
def test_one_of_several_sections_is_not_the_title(begins: str, title: str) -> None:
    assert read(f"{begins}\nOnce.\n", "My notes.md").title == title
