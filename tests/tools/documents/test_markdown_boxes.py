"""Block quotes, boxes and definitions of Markdown are read as text, without their marks."""

from __future__ import annotations

import time

import pytest

from citeproof.tools.documents.markdown_page import render
from tests.tools.documents.reading import passages

DEFINITIONS = [
    (
        "***\n\n: The kind of oil. Any of\nthe two.\n\n    Defaults to **5**.\n\n        x\n\nOn.",
        "The kind of oil. Any of the two.\n\nDefaults to 5.\n\n    x\n\nOn.",
    ),
    ("***\n\n" + ": Lit.\n" * 50, "\n\n".join(["Lit."] * 50)),
    (
        "It is lit[^1] since 1920.[^b]\n\n[^1]: By oil.\n\n    Or gas.\n[^b]: So Bell.",
        "It is lit since 1920.\n\nBy oil.\n\nOr gas.\n\nSo Bell.",
    ),
    ("At 5 :30 or : 6", "At 5 :30 or : 6"),
]
QUOTES = [
    (
        "> It is a state in which each and every one\n> copes.",
        "It is a state in which each and every one copes.",
    ),
    ("He said:\n> Go.\n\nAnd went.", "He said:\n\nGo.\n\nAnd went."),
    ("> One\n>\n> Two\n>> Three", "One\n\nTwo\n\nThree"),
    ("1. Open it\n   > It may be hot.", "1. Open it\n  It may be hot."),
    ("> ```\n> # lamp --oil > log\n> ```", "```\n# lamp --oil > log\n```"),
    ("> ## Removed\n> Since 2025.\n> ---", "Removed\n\nSince 2025."),
    ("```\n> kept\n```", "```\n> kept\n```"),
    ("Lit:\n\n    > kept", "Lit:\n\n    > kept"),
]
BOXES = [
    ("> [!NOTE]\n> Oil it daily.", "Oil it daily."),
    ("> [!tip]- Oil it daily.\n> Or weekly.", "Oil it daily.\n\nOr weekly."),
    ("> [!warning|wide] Hot lamps\n> Wait.", "Hot lamps\n\nWait."),
    ("> [!note]", ""),
    (
        "!!! warning\n\n    Hot.\n\n    Wait:\n\n        x = 1\n\nOn.",
        "Hot.\n\nWait:\n\n    x = 1\n\nOn.",
    ),
    ('??? note "Five lamps"\n    Oil them.', "Five lamps\n\nOil them."),
    ("- Go\n\n    !!! note\n        Lit.\n\n    On.", "- Go\n  Lit.\n  On."),
    ('=== "Linux"\n\n    ```sh\n    lamp\n    ```', "Linux\n\n```sh\nlamp\n```"),
    ("!!! It is lit !!!", "!!! It is lit !!!"),
    (":::note\n\nHot.\n\n:::\n\nOn.", "Hot.\n\nOn."),
    (":::tip[Oil **first**]\nThen light.\n:::", "Oil first\n\nThen light."),
    ("::: details Five lamps\nOil them.\n:::", "Five lamps\n\nOil them."),
    ("::: {.callout-note}\nHot.\n:::", "Hot."),
    ("```{note}\nHot.\n```\n\nOn.", "Hot.\n\nOn."),
    (":::{tip} Oil\n:class: x\n\nThen light.\n:::", "Oil\n\nThen light."),
    ("````{admonition} Oil\n```sh\noil --all\n```\n````", "Oil\n\n```sh\noil --all\n```"),
    ("- Go\n\n  ```{note}\n  Hot.\n  ```\n\n  On.", "- Go\n  Hot.\n  On."),
    ("```{code-block} sh\n> kept\n```", "```{code-block} sh\n> kept\n```"),
    ("```\n:::note\n```", "```\n:::note\n```"),
    ("Hot.\n{: .note }", "Hot."),
]


@pytest.mark.parametrize(("raw", "read"), [*DEFINITIONS, *QUOTES, *BOXES])
def test_quotes_boxes_and_definitions_are_read_as_text(raw: str, read: str) -> None:
    [passage] = passages(f"# Lamps\n\nSee.\n\n{raw}\n", "a.md")
    assert passage.text == f"See.\n\n{read}".strip()


def test_a_term_names_its_definition() -> None:
    long = "It is lit at dusk, and put out at dawn by the keeper. " * 30
    found = passages(f"# Lamps\n\n{long}\n\nThe lamp\n: It is hot.\n: {long}\n\nOn.", "a.md")
    assert any("The lamp\nIt is hot.\nIt is lit" in passage.text for passage in found)
    assert "Lamps – The lamp" in {passage.title for passage in found}
    assert (found[-1].title, found[-1].text) == ("Lamps", "On.")


def test_a_heading_in_a_quote_begins_no_section() -> None:
    [passage] = passages("# Lamps\n\nSee.\n\n> # Removed\n> Since 2025.", "a.md")
    assert (passage.title, passage.text) == ("Lamps", "See.\n\nRemoved\n\nSince 2025.")


def test_an_underlined_heading_above_code_is_no_tab() -> None:
    [passage] = passages("Lamp\n===\n\n    oil = 5\n", "a.md")
    assert (passage.title, passage.text.strip()) == ("Lamp", "oil = 5")


def test_many_marks_take_time_in_proportion_to_their_number() -> None:
    texts = [">" * 20_000, "> " * 10_000 + "x", "!!! a\n" * 5_000, '=== "' * 5_000, ":" * 20_000]
    texts += [": a\n" * 5_000, "a\n: b\n\n" * 3_000, ": a\n\n    b\n\n" * 2_000]
    spaces = " " * 20_000
    texts += [
        f"::: a{spaces}{{",
        f"> # a{spaces}x",
        f"# a{spaces}x\n{{#",
        f"!!! a{spaces}{{",
        f"^abcd{spaces}x",
    ]
    texts += ["```{note}\n" * 3_000, "```{note}\n:a:\n" * 3_000, "```{note}\n```\n" * 3_000]
    texts += ["".join(f"{' ' * 4 * n}!!! a\n" for n in range(300)), "> [!a\n" * 5_000]
    began = time.process_time()
    for text in texts:
        render(text)
    assert time.process_time() - began < 20
