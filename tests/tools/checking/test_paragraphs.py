"""Markdown is read as paragraphs, and nothing of it gets lost."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from markdown_it import rules_block

from citeproof.tools.checking import paragraphs as module
from citeproof.tools.checking.paragraphs import paragraphs

BELOW = "\n\nIt is white [1]."


def read(text: str) -> list[tuple[str, str]]:
    return [(paragraph.kind, paragraph.text) for paragraph in paragraphs(text)]


@pytest.mark.parametrize(
    "text",
    [
        "# The tower" + BELOW,
        "The tower\n===" + BELOW,
        "The tower\n---\nIt is white [1].",
        "> The tower\n> ---" + BELOW,
        "The tower" + BELOW,
        "**The tower**" + BELOW,
        "__The tower__" + BELOW,
        "***The tower***" + BELOW,
        "**The tower**\nIt is white [1].",
        "**The** **tower**" + BELOW,
        "> **The tower**" + BELOW,
        "**The tower**\n- It is white [1].",
        "1. **The tower**\n   - It is white [1].",
        "- **The tower**\n  It is white [1].",
        "**The tower**\n[1] https://x.org",
    ],
)
def test_a_name_is_not_checked(text: str) -> None:
    assert read(text)[0] == ("name", "The tower")
    assert [kind for kind, _ in read(text)[1:]] in (["prose"], [])


@pytest.mark.parametrize("line", ["The tower (1871)", "The tower of St. Ives", "📌 The tower"])
def test_brackets_and_abbreviations_are_no_stops(line: str) -> None:
    assert read(line + BELOW)[0] == ("name", line)


@pytest.mark.parametrize(
    "text",
    [
        "It is old",
        "**It is old**",
        "It is old [1]" + BELOW,
        "It is old【1†source】" + BELOW,
        "It is old[^1]" + BELOW,
        "- It is old" + BELOW,
        "- **It is old**\n- **It is white**",
        "- **It is old**" + BELOW,
        "- The tower\n  ---" + BELOW,
        "• It is old" + BELOW,
        "◦ It is old" + BELOW,
        "– It is old" + BELOW,
        "ii. It is old" + BELOW,
        "> It is old" + BELOW,
        "It is old\n- It is white",
        "It is old\n```python\nx = 1\n```",
        "It is\nold\n---" + BELOW,
        "It is old.\n---" + BELOW,
        "**It is old.**" + BELOW,
        "**It is** old\n- It is white [1].",
        "**The tower**\nwas built in 1871." + BELOW,
        "It was built by\n**Ann Lee**\nIn 1871." + BELOW,
        "It is old\nIt is tall" + BELOW,
        "It is a, b, c, d, e, f, g, h, i, j, k" + BELOW,
        "मीनार पुरानी है।" + BELOW,
        "「塔は古い。」" + BELOW,
        *(
            f"It is old.{behind}{BELOW}"
            for behind in (
                " ([Lee](https://x.org/))",
                "【1†source】",
                "【1】",
                "[citation needed]",
                " [citation needed] [a]",
                "[^1]",
                "[a]",
                " (Lee 2019)",
                " (Lee (2019))",
                "²",
                " 🎉",
                ")",
                "**",
                "”",
            )
        ),
    ],
)
def test_what_can_be_false_is_checked(text: str) -> None:
    assert "name" not in [kind for kind, said in read(text) if "white" not in said]
    assert len(read(text)) > 0


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "| Year | Event |\n|---|---|\n| 1871 | **Ann** built it [1] |",
            ["Year: 1871; Event: Ann built it [1]"],
        ),
        ("Year|By|Source\n-|-|-\n1871|-|[1], [2]\n1902||", ["Year: 1871 [1], [2]", "Year: 1902"]),
        ("| Year |\n|---|\n| 1871 |", ["1871"]),
        ("| | |\n|---|---|\n| 1871 | Ann |", ["1871; Ann"]),
        ("|Who|Free|\n|-|-|\n|Ann|✓|", ["Who: Ann; Free: ✓"]),
        ("|Who|What|\n|-|-|\n|Ann|a\\|b<br>c|", ["Who: Ann; What: a|b c"]),
        ("|Who|What|\n|-|-|\n|Ann|It|Bo lied [1]|", ["Who: Ann; What: It; Bo lied [1]"]),
        ("> |Who|What|\n> |-|-|\n> |Ann|It|Bo lied|", ["Who: Ann; What: It; Bo lied"]),
        ("- |Who|What|\n  |-|-|\n  |Ann|It|", ["Who: Ann; What: It"]),
    ],
)
def test_a_row_of_a_table_is_one(text: str, rows: list[str]) -> None:
    assert [said for kind, said in read(text) if kind != "name"] == rows


def test_what_is_no_table_is_prose() -> None:
    assert read("|a|b|\n|-|-|\n|c|d|\nIt is old.")[-1] == ("prose", "It is old.")
    assert read("It is old | white\n|---|")[0] == ("prose", "It is old | white")
    long = "The tower was built by Ann Lee in the year of the great storm 1871"
    assert read(f"|{long}|b|\n|-|-|\n|c|d|")[0][0] == "row"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("> Ann built\n> the tower\nand left.", ["Ann built\nthe tower\nand left."]),
        ("> > Ann built\n> it.\n>\n> Bo left.", ["Ann built\nit.", "Bo left."]),
        ("- Ann\n  - Bo\n\n    Cy\n1) Di", ["Ann", "Bo", "Cy", "Di"]),
        ("- [x] Ann\n- [ ] Bo", ["Ann", "Bo"]),
        ("Ann built  \nit\\\nall.", ["Ann built\nit\nall."]),
        ("    Ann built\n    it.", ["Ann built\nit."]),
        ("1871. Ann built it.", ["1871. Ann built it."]),
        ("12. Ann built it.", ["Ann built it."]),
        ("*Ann* **Lee** ***built*** _it_.", ["Ann Lee built it."]),
        ("这是**重要**的。", ["这是重要的。"]),
        ("It is 2**10, and 2**10.", ["It is 2**10, and 2**10."]),
        ("x**2 + y**2 = (z)**2", ["x**2 + y**2 = (z)**2"]),
        ("2*3*4 and a*b*c", ["2*3*4 and a*b*c"]),
        ("The f(**kw) and g(**kw).", ["The f(**kw) and g(**kw)."]),
        ("The __init__ of __main__.py", ["The __init__ of __main__.py"]),
        ("The **19**th century", ["The 19th century"]),
        ("See ``a`[1]`` and `b`.", ["See `a[1]` and `b`."]),
        ("AT&amp;T &lt;1", ["AT&T <1"]),
        ("![A tower](x.png) stands.", ["A tower stands."]),
        ("<div>\nIt is old.\n</div>", ["<div>\nIt is old.\n</div>"]),
        ("It is old.\r\n\r\nIt is white.\r", ["It is old.", "It is white."]),
    ],
)
def test_the_signs_are_gone_and_the_words_are_left(text: str, said: list[str]) -> None:
    assert read(text) == [("prose", own) for own in said]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It is [the tower](https://x.org/a_(b)) [1](https://x.org).", "It is the tower [1]."),
        ("It is old [[3]](#cite_note-3).", "It is old [3]."),
        (r"It is old.[\[3\]](https://x.org/a)", "It is old.[3]"),
        (r"It is old \[2\].", "It is old [2]."),
        ("It is old [1](https://x.org 'A title').", "It is old [1]."),
        ("It is old [[1]][[2]].", "It is old [[1]][[2]]."),
        ("It is old.<sup>[1]</sup>", "It is old.<sup>[1]</sup>"),
        ("It is old [1]<br>It is white [2]", "It is old [1]\nIt is white [2]"),
        ("See <https://x.org/a>.", "See https://x.org/a."),
        *(
            (
                f'{text}\n\n[1]: https://x.org/a "A"\n[2]: <https://x.org/b>\n[^3]: https://x.org',
                own,
            )
            for text, own in (
                ("It is old [1].", "It is old [1]."),
                ("It is old [1][2].", "It is old [1][2]."),
                ("It is old [1][].", "It is old [1]."),
                ("It is old [[1]](#a).", "It is old [[1]](#a)."),
                ("It is old.[^3]", "It is old.[^3]"),
                ("It is [the tower][1].", "It is the tower [1]."),
                ("It is old. ([A][2], [B][1])", "It is old. ([A][2], [B][1])"),
                ("It is old (by [A][2]) in [B][1].", "It is old (by [A][2]) in B [1]."),
            )
        ),
    ],
)
def test_links_to_sources_are_marks_and_other_links_their_words(text: str, said: str) -> None:
    assert read(text) == [("prose", said)]


@pytest.mark.parametrize(
    "text",
    [
        "[1]: https://x.org",
        "[1] https://x.org/a_b_c\n[2] https://y.org",
        '[a b]: https://x.org "T"',
    ],
)
def test_addresses_of_sources_are_no_paragraphs(text: str) -> None:
    assert read(text) == []
    assert read(f"It is old.\n\n{text}") == [("prose", "It is old.")]
    assert read(f"Sources\n\n{text}") == [("name", "Sources")]


@pytest.mark.parametrize(
    "text", ["[1]: White.", "[Ann]: built", "[1]: <It is old>", "> [1]: White"]
)
def test_what_only_looks_like_an_address_is_read(text: str) -> None:
    [(kind, said)] = read(text)
    assert kind == "prose"
    assert set(re.findall(r"\w+", text)) <= set(re.findall(r"\w+", said))


def test_marks_that_stand_alone_belong_to_what_is_above() -> None:
    assert read("The tower\n\n[1]" + BELOW)[0] == ("prose", "The tower [1]")
    assert read("It is old:\n\n```python\nx\n```\n[1]") == [
        ("prose", "It is old: [1]"),
        ("code", "```python\nx\n```"),
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("```python\nx\n```", ["code"]),
        ("~~~ js title=a b\nx\n~~~~", ["code"]),
        ("- a\n\n  ```python\n  x\n  ```\n- b", ["prose", "code", "prose"]),
        ("```\nIt is old.\n```", ["prose"]),
        ("```Markdown\n# It\n\nIt is old.\n```", ["name", "prose"]),
        ("```text\nIt is old.\n~~~\nIt is white.", ["prose", "prose"]),
        ("```python\nIt is old.\n\nIt is white.", ["prose", "prose"]),
        ("```python\nIt is old.\n~~~", ["prose"]),
        ("```Ann built the tower\nIt is old.\n```", ["prose"]),
        ("```灯台は1871年に建てられた。\nIt is old.\n```", ["prose"]),
        ("> ```python\n> x\n\nIt is old.", ["prose", "prose"]),
        ("````markdown\nIt is old.\n```python\nx\n```\n````", ["prose", "code"]),
        ("    ```python\n    x\n    ```", ["code"]),
    ],
)
def test_only_code_in_closed_fences_that_name_a_language_is_code(
    text: str, kinds: list[str]
) -> None:
    assert [kind for kind, _ in read(text)] == kinds


def test_paragraphs_of_a_page_have_numbers() -> None:
    text = "# A\nOne:\n- two\n- three\n\nfour.\n**B**\nFive.\n\n|a|b|\n|-|-|\n|c|d|\n|e|f|"
    assert [paragraph.number for paragraph in paragraphs(text)] == [1, 2, 2, 2, 3, 4, 5, 6, 7, 7]


@pytest.mark.parametrize(
    "text", ["", " \n", "***", "- \n> ", "|-|-|", "```\n```", "[1]: https://x"]
)
def test_no_words_no_paragraphs(text: str) -> None:
    assert paragraphs(text) == []


SIGNS = """# |> |- |* |1. |10. |  |    |\t|```|```python|~~~|---|===|**|*|__|_|`|[|]|(|)|[1]|\\|<
|>|!|![|](|](#a)|[x]: |[1](https://x.org)|<br>|&amp;|•\t|o\t|【1†s】|: |? |. |<!--|-->|[^1]: |"""


def test_no_word_of_any_text_gets_lost() -> None:
    signs = [*SIGNS.split("|"), "|", "| ", "|-|-|\n", "\n---\n", "\n===\n", *["\n"] * 5, "\n\n"]
    for seed in range(500):
        chosen = random.Random(seed)
        text, word = "", 0
        for _ in range(chosen.randint(3, 30)):
            if chosen.random() < 0.5:
                word += 1
                text += f"wörd{word}x" + chosen.choice(["", " "])
            else:
                text += chosen.choice(signs)
        said = " ".join(paragraph.text for paragraph in paragraphs(text))
        assert [own for own in re.findall(r"wörd\d+x", text) if own not in said] == [], repr(text)


@pytest.mark.parametrize(
    "text",
    [
        "> " * 5000 + "Ann.",
        "- " * 5000 + "Ann.",
        "1. > " * 2000 + "Ann.",
        "\n".join(f"{'  ' * n}- Bo" for n in range(400)) + " and Ann.",
        "\n".join(f"{'> ' * n}Bo\n" for n in range(300)) + " and Ann.",
        "[" * 3000 + "Ann." + "](x)" * 3000,
        "*" * 3000 + "Ann." + "*" * 3000,
        "~" * 3000 + "\n" + "```python\n" * 3000 + "Ann.",
    ],
    ids=["quotes", "lists", "both", "indents", "growing quotes", "brackets", "stars", "fences"],
)
def test_deep_nesting_is_read_to_its_end(text: str) -> None:
    assert "Ann." in paragraphs(text)[-1].text


@pytest.mark.parametrize(
    "sign", ["```python\n", "```python\nx\n\n", "- ```python\n", "~~~~a\n~~~b\n"]
)
def test_fences_that_never_close_are_followed_to_the_end_once(
    sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = 0
    fence = rules_block.fence

    def counting(state: Any, start: int, end: int, silent: bool) -> bool:
        nonlocal lines
        found = fence(state, start, end, silent)
        lines += 0 if silent else state.line - start
        return found

    monkeypatch.setattr(module, "fence", counting)
    paragraphs(sign * 2000)
    assert 0 < lines <= 4 * 2000 * sign.count("\n")
