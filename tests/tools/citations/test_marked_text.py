"""Marks are read apart from the sentences that bear them."""

from __future__ import annotations

import pytest

from citeproof.tools.citations.marked_text import mark_mentions, read_marked, unwrap

NOTES = ("[a]", "[citation needed]", "[^1]", "【1†source】")
"""Behind a stop, these end a sentence as well."""


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is old [2].", (2,)),
        ("It is old [2][1].", (2, 1)),
        ("It is old. [2]", (2,)),
        ("It is old [1, 3].", (1, 3)),
        ("It is old [1 and 3].", (1, 3)),
        ("It is old [1-3].", (1, 2, 3)),
        ("It is old [1–3, 7].", (1, 2, 3, 7)),
        ("It is old [1], [2].", (1, 2)),
        ("It is old [1]–[3].", (1, 2, 3)),
        ("It is old [1](https://x.org/a_(b)?c=2).", (1,)),
        ("It is old.[1](#note-1)[2](https://x.org/)", (1, 2)),
        ("It is old. ✅ [1]", (1,)),
        ("It is old [[1]](#cite_note-1)[[2]](https://x.org/).", (1, 2)),
        ("It is old [[1]][[2]].", (1, 2)),
        ("It is old.[2][1]: 12[3]", (2, 1, 3)),
        ("It is old (see also [1], [2]; [4]).", (1, 2, 4)),
        ("It is old ([The Light][2], [Wikipedia][1]).", (2, 1)),
        ("It is old [Passage 2].", (2,)),
        ("It is old [ Document 2 ].", (2,)),
        ("It is old [1 & 3].", (1, 3)),
        ("It is old [passages 2 to 4].", (2, 3, 4)),
        ("It [1] is old [1][1].", (1,)),
        ("[2] It is old.", (2,)),
        ("- It is old [2].", (2,)),
        ("**It is old [2].**", (2,)),
        ("It is old [0].", (0,)),
        ("It is old.", ()),
        ("It is old [3-1].", ()),
        ("It is old [1-999999].", tuple(range(1, 102))),
    ],
)
def test_a_sentence_and_its_numbers(text: str, numbers: tuple[int, ...]) -> None:
    [sentence] = read_marked(text)
    assert (sentence.text, sentence.numbers) == ("It is old.", numbers)


@pytest.mark.parametrize(
    "text",
    [
        "It is old [1]. It is white [2].",
        "It is old. [1] It is white. [2]",
        "It is old.[1] It is white.[2]",
        "[1] It is old.\n[2] It is white.",
        "[1]: It is old.\n\n[2]: It is white.",
        "It is old. ([1]) It is white. ([2])",
        "It is old. [1](https://x.org/1) It is white. [2](https://x.org/2)",
        "It is old.<sup>[1]</sup> It is white.<sup>[2]</sup>",
        "It is old. [1], [1] It is white. [2]",
        "- It is old [1].\n- It is white [2].",
        "1. It is old. [1]\n2. It is white. [2]",
        "It is old.\n[1]\nIt is white.\n[2]",
        "It is old.[1]: 12–13 It is white.[2]",
        "It is old. (Source: [1]) It is white. (Sources: [2])",
        "It is old. ([Wikipedia][1]) It is white. ([The Light][2])",
        "It is old [[1]](#cite_note-1). It is white.[[2]](https://x.org)",
        "•\tIt is old. [1]\no\tIt is white. [2]",
        "◦ It is old. [1]\n● It is white. [2]",
        "ii. It is old. [1]\niii. It is white. [2]",
        *(f"It is old.{note}[1] It is white.[2]" for note in NOTES),
    ],
)
def test_each_mark_belongs_to_its_sentence(text: str) -> None:
    first, second = read_marked(text)
    assert (first.text[:10], first.numbers) == ("It is old.", (1,))
    assert second == ("It is white.", (2,))


def test_a_mark_at_the_end_of_a_line_ends_a_sentence_without_a_stop() -> None:
    first = "Ann Lee of Penzance built the white tower at Pellow Head in 1871"
    second = "**Bo Ray** of Saint Ives kept the light there for about thirty years"
    read = [tuple(own) for own in read_marked(f"{first} [1]\n{second} [2][3]  \n“It fell” [4]")]
    assert read == [(first, (1,)), (second, (2, 3)), ("“It fell”", (4,))]
    [wrapped] = read_marked(f"{first} [1]\nand was painted white [2].")
    assert wrapped.numbers == (1, 2)


@pytest.mark.parametrize(
    "text",
    ["([1] " * 4000, f"({'[1]' * 4000} x", f"({'[1] ' * 4000}x", f"({'[a][1]' * 4000} x"],
)
def test_brackets_that_stay_open_are_read_all_the_same(text: str) -> None:
    assert read_marked(f"It is old {text}")[0].numbers == (1,)


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [("Its page https://x.org/t?id=7 gives 1850", (1,)), ("Use `sys.argv[1]` for the name", ())],
    ids=["an address stays whole", "an index in code is no mark"],
)
def test_signs_within_a_sentence(sentence: str, numbers: tuple[int, ...]) -> None:
    marks = "".join(f" [{number}]" for number in numbers)
    assert [tuple(own) for own in read_marked(f"{sentence}{marks}. Then call run() [2].")] == [
        (f"{sentence}.", numbers),
        ("Then call run().", (2,)),
    ]


@pytest.mark.parametrize("text", ["", "  \n", "[1]", "[1][2]\n", "...", "- "])
def test_nothing_but_marks_is_no_sentence(text: str) -> None:
    assert read_marked(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "He wrote a[i] [sic] it.",
        "See array[3x].",
        f"It [{'9' * 500}] is old.",
        "*Hamlet* is a play.",
        "**Ann** and **Bo**",
        "_Ann_ wrote it.",
        '"It is old."',
        "x.",
    ],
)
def test_other_brackets_and_emphasis_of_a_part_stay(text: str) -> None:
    assert [tuple(sentence) for sentence in read_marked(text)] == [(text, ())]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("It is old.", "It is old."),
        ("“It is old.”", "It is old."),
        ("**It is old.**", "It is old."),
        ("*It is old.*", "It is old."),
        ("_It is old._", "It is old."),
        ('**"It is old."**', "It is old."),
        ('"**It is old.**"', "It is old."),
        ('"It is old.', "It is old."),
        ("It is old.”", "It is old."),
        ("**It is old.", "It is old."),
        ('"Weird Al" Yankovic sings.', '"Weird Al" Yankovic sings.'),
        ('Lennon wrote "Imagine."', 'Lennon wrote "Imagine."'),
        ("“Ann” and “Bo”", "“Ann” and “Bo”"),
        ('**"Imagine" is old.**', '"Imagine" is old.'),
        ('""', ""),
    ],
)
def test_only_what_stands_around_all_of_it_goes(text: str, left: str) -> None:
    assert unwrap(text) == left


# Passages that a reply cites in words


@pytest.mark.parametrize(
    ("reply", "marked"),
    [
        ("It has 24 judges, as stated in passage 1.", "It has 24 judges [1]."),
        ("The passage states that it is old. It is white.", "It is old. It is white."),
        ("According to the passages, it is old.", "It is old."),
        ("Passage 2 says that it is old.", "It is old [2]."),
        ("It is old (according to passage 2) and white.", "It is old [2] and white."),
        (
            "As shown in passage 3, it is old. Based on passage 1, it is white.",
            "It is old [3]. It is white [1].",
        ),
        ("See it, according to passages 1, 2 and 3.", "See it [1][2][3]."),
        ("A is 1.\nAccording to the passage [2], “b” is 2", "A is 1.\n“B” is 2 [2]"),
    ],
)
def test_a_mention_becomes_a_mark(reply: str, marked: str) -> None:
    assert mark_mentions(reply) == marked


@pytest.mark.parametrize(
    "reply",
    [
        "Passage 1 is a poem.",
        "The rite of passage 1 is old.",
        "The passage of the bill shows that it is new.",
        "The film is based on the passage.",
        "He paid as stated in the passage 12 of the law.",
        " " * 100_000 + "according to passage " * 10_000,
    ],
)
def test_other_text_stays(reply: str) -> None:
    assert mark_mentions(reply) == reply
