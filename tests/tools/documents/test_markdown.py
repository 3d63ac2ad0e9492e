"""Markdown: its lines, boxes and definitions, and the marks of programs that are not shown."""

from __future__ import annotations

import time

import pytest

from citeproof.tools.documents.markdown_page import render
from citeproof.tools.sentences import sentences
from tests.tools.documents.reading import passages, read

KEEPERS = "The keepers of the lighthouse at Pellow Head"
"""Words that fill a line, so that the next one may continue it."""
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
    (f"> {KEEPERS}\n> fish.", f"{KEEPERS} fish."),
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
MARKS = [
    ("See [[Plans]] and [[Plans|your plan]].", "See Plans and your plan."),
    ("See [[Plans#Fees]], [[#Fees]] or [[Plans#^id1]].", "See Plans > Fees, Fees or Plans."),
    ("See [[Plans#Costs|**the costs**]].", "See the costs."),
    ("| Plan | See |\n|-|-|\n| A | [[Plans\\|costs]] |", "Plan: A; See: costs"),
    ("See: ![[Map.png|100]] and ![[Plans#Costs]] here.", "See: and here."),
    ("`[[Plans]]`:\n\n```\n[[Plans]]\n```", "`[[Plans]]`:\n\n```\n[[Plans]]\n```"),
    ("if [[ -f x ]] then [[]] or [[#]]", "if [[ -f x ]] then [[]] or [[#]]"),
    ("As found [[1]](a.md), and by [@bo[bot]](b.md).", "As found [1], and by @bo[bot]."),
    ("It is ==due== today; a==b or c == d==e", "It is due today; a==b or c == d==e"),
    ("It is due.%% ask\nAnn %% Today, 5%% more or 6%%", "It is due. Today, 5%% more or 6%%"),
    ("%%\nAsk\n\n- Ann\n  %%\n\nIt is due.\n\n%% 5\n\n6", "It is due.\n\n%% 5\n\n6"),
    ("```\n%%\nx\n%%\n```", "```\n%%\nx\n%%\n```"),
    ("It is due. ^b15695\n\n- Go ^go-1\n\nx ^2", "It is due.\n\n- Go\n\nx ^2"),
]
TAGS = [
    ('{% hint style="info" %}\nSave it first.\n{% endhint %}', "Save it first."),
    ('- One\n- Two\n  {% endhint %}\n\n{% page-ref page="a.md" %}', "- One\n- Two"),
    ('{% tabs %}\n{% tab title="Linux" %}\nRun it.\n{% endtab %}', "Linux\nRun it."),
    ('{{< figure src="a.png" width="70%" caption="Pier > quay" >}}', "Pier > quay"),
    ("The name. {{<required>}} {{% old %}}", "The name. (required) (old)"),
    ('{{< tab header="Bash" >}}\nRun it.\n{{< /tab >}}', "Bash\nRun it."),
    ("{{% notice tip %}}\nRun it.\n{{% /notice %}}", "Run it."),
    ('{{< glossary text="Oil" id="o" >}} is {{< age >}} old.', "Oil is (age) old."),
    (
        '{{< info title="Oil" >}} It\nis {% raw %}{{ x }}{% endraw %}. {{< /info >}}',
        "Oil\nIt\nis {{ x }}.",
    ),
    ('{% include note.html content="Run it." %}', "Run it."),
    ("{% comment %}\nAsk.\n\nAnn.\n{% endcomment %}\n\nRun it.", "Run it."),
    ("{{/*\nAsk:\n\n1. Ann\n*/}}\n\nRun{% comment %}x{% endcomment %} it.", "Run it."),
    ("{{/* Ask */}}\n\n{{< comment >}}Ask{{< /comment >}}\nRun it.", "Run it."),
    ("1. TOC\n{:toc}\n\nRun it.", "Run it."),
    ("[Oil](a.md){ .button #b } and *lit*{: .x }, $x_{i=1}$", "Oil and lit, $x_{i=1}$"),
    ('<div class="a" markdown="1">\n- *Run*\n</div>\n\n<p markdown>\n*it*\n</p>', "- Run\n\nit"),
    ('<div markdown="1">\n*Run*\n</div>\n```\nf\n```', "Run\n\n```\nf\n```"),
    (
        "<details markdown>\n  <summary>\n    Oil\n  </summary>\n- a\n</details>\n*Run*",
        "Oil\n\n- a\n\nRun",
    ),
    ("<div>\n*Run*\n</div>\n*it*", "*Run*\n\n*it*"),
    ("[Oil][o] is [lit][l].\n\n[o]: /a{{< v x=y >}}/b\n[l]: {{ site.x }}/b", "Oil is lit."),
    ("Write {% if %} here, and {{ name }}.", "Write {% if %} here, and {{ name }}."),
    ("```\n{% if a %}\n```", "```\n{% if a %}\n```"),
    ("{{ 7 * 6 }}", "{{ 7 * 6 }}"),
    ("{% highlight md %}\n```\nf\n```\n{% endhighlight %}", "````md\n```\nf\n```\n````"),
    ("{% highlight sh %}\n# no heading\n{% endhighlight %}", "```sh\n# no heading\n```"),
]
LINES = [
    (f"{KEEPERS} are:\nAnn Lee", f"{KEEPERS} are:\nAnn Lee"),
    (f"{KEEPERS} are older than\\\nthe pier", f"{KEEPERS} are older than\nthe pier"),
    (f"{KEEPERS}, the sea and the sky  \nthe stars", f"{KEEPERS}, the sea and the sky\nthe stars"),
    (f"{KEEPERS}, a lamp, and a store\n- a boat", f"{KEEPERS}, a lamp, and a store\n\n- a boat"),
    (f"{KEEPERS}, and a lamp\n```\nmake\n```", f"{KEEPERS}, and a lamp\n\n```\nmake\n```"),
    (f"{KEEPERS}, a lamp, and a store\n2. a boat", f"{KEEPERS}, a lamp, and a store\n2. a boat"),
    (f"• {KEEPERS}, and masons\n• a boat", f"• {KEEPERS}, and masons\n• a boat"),
    (f"| {KEEPERS} | 1871 |\n| Ann | 1880 |", f"| {KEEPERS} | 1871 |\n| Ann | 1880 |"),
    (f"[Keepers](https://x.org/{'a' * 40})\n[Lamp](https://x.org)", "Keepers\nLamp"),
    (f"```\n{KEEPERS} are lit and dark\nwait\n```", f"```\n{KEEPERS} are lit and dark\nwait\n```"),
    ("The lamp is lit\nat dusk", "The lamp is lit\nat dusk"),
]


@pytest.mark.parametrize(("raw", "read"), [*DEFINITIONS, *QUOTES, *BOXES, *MARKS, *TAGS, *LINES])
def test_markdown_is_read_as_its_program_shows_it(raw: str, read: str) -> None:
    [passage] = passages(f"# Lamps\n\nSee.\n\n{raw}\n", "a.md")
    assert passage.text == f"See.\n\n{read}".strip()


def test_a_term_names_its_definition() -> None:
    long = "It is lit at dusk, and put out at dawn by the keeper. " * 30
    found = passages(f"# Lamps\n\n{long}\n\nThe lamp\n: It is hot.\n: {long}\n\nOn.", "a.md")
    assert any("The lamp\nIt is hot.\nIt is lit" in passage.text for passage in found)
    assert "Lamps – The lamp" in {passage.title for passage in found}
    assert (found[-1].title, found[-1].text) == ("Lamps", "On.")


@pytest.mark.parametrize(
    ("raw", "title", "text"),
    [
        # A heading in a quote begins no section.
        ("# Lamps\n\nSee.\n\n> # Removed\n> Now.", "Lamps", "See.\n\nRemoved\n\nNow."),
        # An underlined heading above code is no tab.
        ("Lamp\n===\n\n    oil = 5", "Lamp", "oil = 5"),
        # A heading or a bold line is not joined with the text.
        (f"# {KEEPERS}\nAnn Lee was the first.", KEEPERS, "Ann Lee was the first."),
        (f"{KEEPERS}\n=====\nAnn Lee was the first.", KEEPERS, "Ann Lee was the first."),
        (f"**{KEEPERS}**\nAnn Lee.", "a", f"{KEEPERS}\n\nAnn Lee."),
    ],
)
def test_headings_of_markdown(raw: str, title: str, text: str) -> None:
    [passage] = passages(raw, "a.md")
    assert (passage.title, passage.text) == (title, text)


def test_many_marks_take_time_in_proportion_to_their_number() -> None:
    texts = [">" * 20_000, "> " * 10_000 + "x", "!!! a\n" * 5_000, '=== "' * 5_000, ":" * 20_000]
    texts += ["<a" + " markdown" * 20_000]
    texts += ["%% a\n" * 20_000, "{{< a >}} x " * 10_000, "[a](b){ .x " * 5_000]
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
