"""Text formats: plain text, Markdown, reStructuredText, notebooks; and what they are cut into."""

from __future__ import annotations

import json
import time

import pytest

from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.passages import cut
from citeproof.types import Box
from tests.tools.documents.reading import STORY, passages, read, refused

TABLE = "| part | share | due |\n|:--|--:|---|\n"


def titles(text: str, name: str) -> list[str]:
    return list(dict.fromkeys(p.title for p in passages(text, name)))


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "a.txt",
            f"The Lamp\n========\n\n{STORY}\n\n2. Oil\n\n{STORY}\n\n2.1 Whale oil\n\n{STORY}\n\n"
            f"Chapter 3: The wick.\n\n{STORY}\n\nLamps\n-----\n\n{STORY}\n",
            [
                "The Lamp",
                "The Lamp – 2. Oil",
                "The Lamp – 2. Oil – 2.1 Whale oil",
                "The Lamp – Chapter 3: The wick.",
                "The Lamp – Chapter 3: The wick. – Lamps",
            ],
        ),
        (
            "oil.txt",  # a manual page, with lines in capitals
            f"OIL(1)\n\nNAME\n     oil\n\nSEE ALSO & MORE\n     {STORY}\n     A mode is one of:\n\n"
            + "           •   A mode is for the keeper.\n" * 3
            + f"\n     {STORY}\n\n     OPTIONS\n     {STORY}\n\nEND USE\n\n{STORY}"
            "\n\nGO.\n\nHALT\n\n",
            ["OIL(1) – NAME", "OIL(1) – SEE ALSO & MORE", "OIL(1) – END USE"],
        ),
        (
            "a.rst",  # the order of the marks gives the levels
            f"====\nLamp\n====\n\n{STORY}\n\nThe ``oil``\n----------\n\n{STORY}\n\n"
            f"Kinds\n~~~~~\n\n{STORY}\n\nWick\n----\n\n{STORY}\n\n"
            "====  ====\na     b\n====  ====\n",
            ["Lamp", "Lamp – The oil", "Lamp – The oil – Kinds", "Lamp – Wick"],
        ),
    ],
)
def test_headings_of_unparsed_text(name: str, text: str, found: list[str]) -> None:
    assert titles(text, name) == found


@pytest.mark.parametrize(
    ("begins", "title"),
    [
        ("Shade trees and the yield of coffee: a field trial of six years", "Shade trees"),
        ("Shade trees\n\nMarisol Quintana, Peter Oduya", "Shade trees"),
        ("Shade trees\n\nMarisol Quintana\n\nHuila", "a"),
        ("Shade trees fell.", "a"),
        (" ".join(["Shade"] * 21), "a"),
    ],
)
def test_the_first_line_of_plain_text_may_be_its_title(begins: str, title: str) -> None:
    [found] = titles(f"{begins}\n\n{STORY}\n", "a.txt")
    assert found.startswith(title)


@pytest.mark.parametrize(
    "line",
    [
        "6. Arbitrary. “It generates a random name for the scratch file.”",
        "DO :1 <- #0$#256",
        "B: “Indeed.”",
        "A short line alone",
        "1. first of a list",
        "1881",
        "I went home",
        "3. Offset of the clock (in seconds). [2.8e+04]",
        "OK 12",
        "    10. Remote poll [10]",
    ],
)
def test_other_lines_of_plain_text_are_no_headings(line: str) -> None:
    assert titles(f"Once.\n\n{STORY}\n\n{line}\n\n{STORY}\n", "jargon.txt") == ["jargon"]


def test_the_words_that_a_manual_page_cuts_are_joined() -> None:
    page = "The op\u2010\n     tion -l is well-\n     known in Saint\u2010\n     Malo."
    [passage] = passages(page, "oil.txt")
    assert passage.text == "The option -l is well-\n     known in Saint\u2010\n     Malo."


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.rst"])
def test_the_pieces_of_a_long_list_are_named_for_what_introduces_it(name: str) -> None:
    items = "\n".join(f"- mode number {n}, which waits for no other mode" for n in range(30))
    first, *rest = passages(f"It conflicts\nwith:\n\n{items}\n\nThe end of it.\n", name)
    assert " ".join(first.text.split()).startswith("It conflicts with: - mode number 0")
    assert {p.title for p in rest[:-1]} == {"a – It conflicts with"}
    assert rest[-1].text.endswith("The end of it.")


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.rst", "a.html"])
@pytest.mark.parametrize("before", [70, 80, 90, 95, 100])
def test_a_list_stays_whole_and_with_its_introduction(before: int, name: str) -> None:
    items = [f"State {n}, in which the lamp waits.\n  It can be left." for n in range(5)]
    above, below = f"{'It rains and ' * (before // 3)}it snows.", f"{'It blows and ' * 40}it hails."
    if name == "a.html":
        told = f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
        content = f"<p>{above} The lamp has five states:</p>{told}<p>{below}</p>"
    else:
        told = "\n".join(f"- {item}" for item in items)
        content = f"{above} The lamp has five states:\n\n{told}\n\n{below}\n"
    found = passages(content, name)
    [whole] = [passage for passage in found if "State" in passage.text]
    assert "The lamp has five states:" in whole.text
    assert all(f"State {n}" in whole.text for n in range(5))
    assert max(len(passage.text.split()) for passage in found) <= 180


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("**Budget.** It *rose* by __5%__ and _fell_.", "Budget. It rose by 5% and fell."),
        ("***Both*** at once", "Both at once"),
        (f"```\n{TABLE}| Exam | 75% | |\n```", f"```\n{TABLE}| Exam | 75% | |\n```"),
        ("Call `f(**options)` or `__init__`.", "Call `f(**options)` or `__init__`."),
        ("* a list of *.py and *.md, 2 * 3 * 4", "- a list of *.py and *.md, 2 * 3 * 4"),
        ("snake_case_name and a_b_", "snake_case_name and a_b_"),
        (r"a \*star\*, and 3 \- 2 \< snake\_case\_", "a *star*, and 3 - 2 < snake_case_"),
        (r"\# Not `a\-b`, $a\,b_1$ 10\% \<b>", r"# Not `a\-b`, $a\,b_1$ 10% <b>"),
        ("```\na\\-b\n```\n\n    c\\-d", "```\na\\-b\n```\n\n    c\\-d"),
        ("```oil **and**```\n\n**lit**", "```oil **and**```\n\nlit"),
        ("````\n```\n**a**\n```` b\n````\n**c**", "````\n```\n**a**\n```` b\n````\n\nc"),
        ("1. ~~~\n   **a**\n   ~~~\n\n   **b**", "1. ~~~\n  **a**\n  ~~~\n  b"),
        ("It is\n    **lit**.", "It is lit."),
        ('See:<iframe src="x.org" allow="a; b"></iframe>\nRun <code>a</code>.', "See: Run a."),
        ('<kbd\n  class="a">Press</kbd> it, and give <file>.', "Press it, and give <file>."),
        (
            "1. Go:\n\n    - **up**\n    - <b>down</b>\n\n\tto *it*\n\n          **x**",
            "1. Go:\n  - up\n  - down\n  to it\n         **x**",
        ),
        (
            '!!! note "Limits"\n\n    **Five**.\n\n=== "Oil"\n\n    *Lamp*.\n\nEnd\n\n    **x**',
            "Limits\n\nFive.\n\nOil\n\nLamp.\n\nEnd\n\n    **x**",
        ),
        ("- Go\n\nNow:\n\n    **x**\n    <b>\n", "- Go\n\nNow:\n\n    **x**\n    <b>"),
        ("Footnote*, and another*", "Footnote*, and another*"),
        ("**Bold with *italic* inside**", "Bold with italic inside"),
        ("[11 *local* days](https://noss.org/a_(b) 'T') off", "11 local days off"),
        ("See **[the fares](f.md#noss)** [![Map](m.svg)](m)", "See the fares Map"),
        (
            "[Fares][f], [F], [other] [1] [^1]\n\n[f]: <f.md> 'T'\n[^1]: Once.",
            "Fares, F, [other] [1]\n\nOnce.",
        ),
        ("`a[0](b)`, not \\[a](b).\n\n    [a](b)", "`a[0](b)`, not [a](b).\n\n    [a](b)"),
        ("See <https://noss.org/a?b> or <x>.", "See https://noss.org/a?b or <x>."),
        ("It costs 5.<!-- Say that\nit is free. -->", "It costs 5."),
        ("It costs ~~40~~<del>50</del>45 &euro;&nbsp;net.", "It costs 45 € net."),
        ("10<sup>6</sup> m,<br>the 1<sup>st</sup>", "10⁶ m,\nthe 1st"),
        ("<details><summary>Why?</summary>\n\nIt <b>rained</b>.\n</details>", "Why?\n\nIt rained."),
        (
            "<table>\n<tr><th>Isle</th>\n<th>Sheep</th></tr>\n<tr><td rowspan=2>Noss</td>\n"
            "<td>3</td></tr>\n<tr><td><i>4</i></td></tr>\n</table>",
            "Isle: Noss; Sheep: 3\nIsle: Noss; Sheep: 4",
        ),
        ("Run `git add <b>` or git add <file>.", "Run `git add <b>` or git add <file>."),
        ("```html\n<b>&lt;</b><!-- x -->\n```", "```html\n<b>&lt;</b><!-- x -->\n```"),
        ("a?b=1&copy=2 and ~5 to ~6", "a?b=1&copy=2 and ~5 to ~6"),
    ],
)
def test_markdown_is_read_without_marks_and_html(raw: str, read: str) -> None:
    [passage] = passages(raw, "a.md")
    assert passage.text == read


def test_bold_lines_of_markdown_head_sections() -> None:
    raw = f"""# Handbook
**How do I register?**
Ask at the desk. {STORY}

**Dr. Anna Bell**

__Head of [research](r.md)__
She leads the lab. {STORY}

- **No heading** in a list

Tides are told below.

**Tides**

**No heading** at all

```
**Nor this**
```

**Never smoke here.**

{STORY}"""
    found = passages(raw, "handbook.md")
    assert list(dict.fromkeys(p.title for p in found)) == [
        "Handbook",
        "Handbook – How do I register?",
        "Handbook – Head of research",
    ]
    parts = {part.headings: part.text[part.start : part.end] for part in read(raw, "h.md").parts}
    assert parts["Dr. Anna Bell",].strip() == "Dr. Anna Bell"
    assert parts["Tides",].startswith("Tides\n")
    assert "**" not in found[0].text


@pytest.mark.parametrize(
    "text",
    [
        "# " + "[" * 20_000 + "](" * 20_000,
        "# a" + " " * 50_000 + "b",
        "# a" + " #" * 50_000 + "b",
        "<h1>" * 50_000,
        "---\ntitle: a" + " " * 50_000 + "b\n---\n",
        "    <!--\n\n" * 20_000,
        "```\n`````\n" * 20_000,
        "<" + "A" * 50_000,
        "<A" + " title='" * 20_000,
        "<A a={" * 20_000,
        "{" + "a." * 50_000,
        "{a[" * 10_000,
        "{/*" * 20_000,
        "export {" + "\n{" * 20_000,
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.mdx"])
def test_markdown_is_read_in_linear_time(text: str, name: str) -> None:
    began = time.process_time()
    read(f"Oil.\n\n{text}\n\nOil.", name)
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Programming in C#", "Programming in C#"),
        ("# Programming in C# ##", "Programming in C#"),
        ("# The `__init__` method", "The __init__ method"),
        (r"# The snake\_case \#1", "The snake_case #1"),
        ("# The lamp {#lamp .big}", "The lamp"),
        ("<h1 align=center>\n<img src=a> The <b>lamp</b>\n</h1>", "The lamp"),
        ("<h2>The <code>&lt;b></code> of <del>an</del> m<sup>2</sup></h2>", "The <b> of m²"),
    ],
)
def test_what_belongs_to_a_heading_of_markdown(line: str, title: str) -> None:
    [passage] = passages(f"{line}\n\nIt is lit.", "a.md")
    assert (passage.title, passage.text) == (title, "It is lit.")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (
            "import a from 'b'\nexport const c = {\n  d: 1,\n\n  e: 2,\n}\n\nIt is lit.",
            "It is lit.",
        ),
        ("export const a = '('\n\nIt is lit.", "It is lit."),
        ("Run\n```npm {x}```\n\nIt is {x}lit.", "Run ```npm {x}```\n\nIt is lit."),
        ("You can\nexport it as CSV.\nimport it.", "You can\nexport it as CSV.\nimport it."),
        ("Get\n\n```js\nimport {a} from 'b'\n```", "Get\n\n```js\nimport {a} from 'b'\n```"),
        (
            '<Step icon={<A b="c"/>} title="What\'s new">\n\n    Pay **it**.\n</Step>',
            "What's new\n\nPay it.",
        ),
        ("<Card\n  title='Oil'\n  href=\"/x\"\n>\n  Lamp oil.\n</Card>", "Oil\n\nLamp oil."),
        ('<TabItem value="a" label="Oil">\nLamp oil.\n</TabItem>', "Oil\n\nLamp oil."),
        ("It is {/* not\n{b} */}{props.lit['x'].y}{' '}lit.<>{z}</>", "It is lit."),
        ("`<Oil> {x}`, \\<Oil>, {1, 2} and a < B", "`<Oil> {x}`, <Oil>, {1, 2} and a < B"),
    ],
)
def test_mdx_is_read_without_scripts_components_and_values(raw: str, text: str) -> None:
    [passage] = passages(f"---\ntitle: The lamp\n---\n\n{raw}", "a.mdx")
    assert (passage.title, passage.text.strip()) == ("The lamp", text)


def test_markdown_with_imports_is_mdx() -> None:
    script = "import Oil, {type Lamp} from './oil.js';"
    [passage] = passages(f"{script}\n\n<Oil x={{1}} />\n\nIt is lit.", "a.md")
    assert passage.text == "It is lit."
    [passage] = passages(f"```js\n{script}\n```\n\n<Oil x={{1}} />", "a.md")
    assert passage.text == f"```js\n{script}\n```\n\n<Oil x={{1}} />"


def test_an_unclosed_comment_in_markdown_is_told() -> None:
    document = read("It rained.\n\n<!-- It snowed.", "a.md")
    assert [p.text for p in cut(document)] == ["It rained."]
    told = "a comment in it is not closed, so what follows it was left out"
    assert document.problems == (told,)


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (
            f"Marks:\n\n{TABLE}| Essay, 1,500 words | 25% | 2 May |\n| Exam | 75% | |\n\nDone.",
            "Marks:\n\npart: Essay, 1,500 words; share: 25%; due: 2 May\npart: Exam; share: 75%"
            "\n\nDone.",
        ),
        (f"{TABLE}| a\\|b | 1 |", "part: a|b; share: 1"),
        ("Day | Lamp\n--- | ---\n1 | lit\nThe end.", "Day: 1; Lamp: lit\nThe end."),
        ("| | 2020 |\n|---|---|\n| North | 12 |", "North; 2020: 12"),
        ("Either | or\nnot a | table", "Either | or\nnot a | table"),
    ],
)
def test_a_row_of_a_pipe_table_can_be_read_alone(raw: str, read: str, name: str) -> None:
    [passage] = passages(raw, name)
    assert passage.text == read


def test_a_table_of_a_database_in_plain_text_has_rows_of_its_own() -> None:
    [passage] = passages(" id | name \n----+------\n  7 | North", "a.txt")
    assert passage.text == "id: 7; name: North"


@pytest.mark.parametrize(
    ("name", "read"), [("a.txt", TABLE.strip()), ("a.md", "part | share | due")]
)
def test_a_table_without_rows_is_its_header(name: str, read: str) -> None:
    [passage] = passages(TABLE.strip(), name)
    assert passage.text == read


def test_a_long_header_does_not_flood_its_table() -> None:
    raw = f"{'name ' * 200}| b\n---|---\n" + "1|2\n" * 500
    assert "".join(p.text for p in passages(raw, "a.txt")).count("name") == 200
    assert sum(len(p.text) for p in passages(raw, "a.md")) < 500 * 130  # a long name is cut


def test_no_row_of_a_long_markdown_table_is_cut() -> None:
    rows = "\n".join(f"| {n} | the lamp was lit early that day |" for n in range(30))
    found = passages(f"# Log\n\n| Day | Lamp |\n|---|---|\n{rows}\n\nThe end.\n", "a.md")
    assert len(found) > 2
    assert {p.title for p in found} == {"Log"}
    lines = [line for p in found for line in p.text.splitlines() if line]
    assert lines[:-1] == [f"Day: {n}; Lamp: the lamp was lit early that day" for n in range(30)]


@pytest.mark.parametrize(
    ("name", "top"),
    [
        ("a.md", f"# {'lamp ' * 200}\n\n"),
        ("a.md", f"---\ntitle: {'lamp ' * 200}\n---\n\n"),
        ("a.rst", f"{'lamp ' * 200}\n{'=' * 1000}\n\n"),
    ],
)
def test_a_heading_of_a_thousand_characters_is_cut(name: str, top: str) -> None:
    found = passages(top + f"{STORY}\n\n" * 5, name)
    assert len(found) > 2
    assert all(200 < len(p.title) <= 301 and p.title.endswith("…") for p in found)


def test_a_notebook_has_text_code_and_what_was_printed_or_failed() -> None:
    failed = {"ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": ["at"]}
    cells = [
        {"cell_type": "raw", "source": "---\ntitle: Log\n---"},
        {"cell_type": "markdown", "source": ["# Lamps\n", "It is lit."]},
        {"cell_type": "code", "source": "print(40 + 2)", "outputs": [{"text": ["42\n"]}]},
        {"cell_type": "code", "source": "1 / 0", "outputs": [failed]},
    ]
    [passage] = passages(json.dumps({"cells": cells}), "a.ipynb")
    assert passage.title == "Log – Lamps"
    assert passage.text == (
        "It is lit.\n\n```\nprint(40 + 2)\n```\n\n```\n42\n```"
        "\n\n```\n1 / 0\n```\n\n```\nZeroDivisionError: division by zero\n```"
    )


def test_only_the_first_cell_of_a_notebook_has_front_matter() -> None:
    rules = "---\ntitle: Rules\n---\nDogs stay out."
    cells = [{"cell_type": "markdown", "source": text} for text in ("", rules, rules)]
    document = read(json.dumps({"cells": cells}), "a.ipynb")
    assert document.title == "Rules"
    assert document.parts[0].text.count("Dogs stay out.") == 2
    assert document.parts[0].text.count("title: Rules") == 1


def test_what_a_notebook_leaves_open_ends_with_its_cell() -> None:
    cells = [
        {"cell_type": "markdown", "source": "~~~\n# oil"},
        {"cell_type": "code", "source": "run()", "outputs": [{"text": "```json\n{}\n"}]},
        {"cell_type": "markdown", "source": "# Lamps\n\nThey are **lit**."},
    ]
    document = read(json.dumps({"cells": cells}), "a.ipynb")
    assert document.title == "Lamps"
    assert "They are lit." in document.parts[-1].text


@pytest.mark.parametrize("text", ["[]", "{}", '{"cells": [1]}', "{"])
def test_what_is_no_notebook_is_refused(text: str) -> None:
    assert "not a valid notebook" in refused(text, "a.ipynb")


def test_other_encodings_are_read_and_told() -> None:
    text = "Zürich liegt am See. Über der Brücke wohnt Jürg, der die Möwen füttert.\n" * 5
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        document = read(text.encode(encoding), "a.txt")
        assert (document.parts[0].text, document.problems) == (text, ())
    for said, encoding in ((text, "latin-1"), (text, "cp1252"), ("Zürich am See\n", "latin-1")):
        document = read(said.encode(encoding), "a.txt")
        assert document.parts[0].text == said
        assert "it is not UTF-8 and was read as" in document.problems[0]


def test_a_few_bad_bytes_do_not_change_the_encoding() -> None:
    said = "“Zürich” liegt am See, und Jürg wohnt dort über der Brücke.".encode()
    page = b'<meta charset="utf-8"><p>' + said + b" Caf\xe9"
    for name, data in (("a.txt", said + b" Caf\xe9"), ("a.html", page)):
        document = read(data, name)
        assert document.parts[0].text == f"{said.decode()} Caf\ufffd"
        assert document.problems == ("bytes in it that are not UTF-8 were read as \ufffd (1)",)


def test_utf_32_without_a_mark_is_refused() -> None:
    assert "NUL bytes" in refused("Zürich".encode("utf-16") + b"\0\0", "a.txt")
    assert "NUL bytes" in refused("Zürich".encode("utf-32-le"), "a.txt")


def test_invisible_characters_are_blanked_and_told() -> None:
    document = read("The la\U000e0041mp \u202eis lit.", "a.md")
    assert document.parts[0].text == "The la mp  is lit."
    assert document.problems[0].startswith("2 invisible characters")


def test_an_object_that_is_called_like_a_piece_of_another_is_kept() -> None:
    long = " ".join(f"The bell rang {n} times that day." for n in range(100))
    lines = [f'{{"id": "a", "text": "{long}"}}', '{"id": "a#1", "text": "Quite another thing."}']
    found = {passage.id: passage.text for passage in passages("\n".join(lines), "pool.jsonl")}
    assert found["a#1"] == "Quite another thing."
    assert " ".join(text for key, text in found.items() if key != "a#1") == long


def test_text_between_rules_is_no_front_matter() -> None:
    rules = "---\n\n# Rules\n\nThe pool closes at nine.\n\n---\n\nDogs stay out.\n"
    assert "closes at nine" in " ".join(p.text for p in passages(rules, "a.md"))
    front = "---\n# made by hand\ntitle: Rules\n---\nDogs stay out.\n"
    assert [p.text for p in passages(front, "b.md")] == ["Dogs stay out."]
    for given, title in (
        ('title = "Oil # 1" # now', "Oil # 1"),
        ("title = Oil # 1", "Oil"),
        ("title: >-\n  Oil\n  for lamps\nlang: en", "Oil for lamps"),
    ):
        [named] = passages(f"\n+++\n{given}\n+++\nDogs stay out.\n", "c.md")
        assert (named.title, named.text) == (title, "Dogs stay out.")
    [empty] = passages("---\ntitle: ''\n---\n# Pool\nDogs stay out.\n", "c.md")
    assert empty.title == "Pool"


@pytest.mark.parametrize("begins", ["It is", "For example, it is", "In that case, it is"])
def test_no_passage_begins_with_a_sentence_that_leans_on_the_one_before(begins: str) -> None:
    told = "The keeper lights the lamp at dusk and reads its gauge. "
    found = cut(read(f"{told * 3}{begins} lit by hand. {told * 2}", "a.txt"), 40)
    assert len(found) == 2
    assert not any(passage.text.startswith(begins) for passage in found)


def test_tiny_sections_of_a_page_are_one_passage_and_keep_their_boxes() -> None:
    said = ["Oil is dear.", "Coal is cheap.", "Wind is free."]
    text = "\n".join(said)

    def part(number: int, page: int) -> Part:
        start, end = text.index(said[number]), text.index(said[number]) + len(said[number])
        box = Box(start=start, end=end, left=0, top=number / 4, right=1, bottom=1)
        return Part(text, start, start, end, "Fuel", (f"Part {number}",), page, boxes=(box,))

    parts = (part(0, 1), part(1, 1), part(2, 2))
    first, second = cut(Document("fuel.pdf", "Fuel", parts))
    assert (first.text, first.page, first.title) == ("Oil is dear.\nCoal is cheap.", 1, "Fuel")
    assert [first.text[box.start : box.end] for box in first.boxes] == said[:2]
    assert (second.text, second.page) == ("Wind is free.", 2)
