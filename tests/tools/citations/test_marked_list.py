"""Lists of names are read however they are set out."""

import pytest

from citeproof.tools.citations.marked_list import read_marked_list, read_marked_name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ann Lee [2], Bo Ray [1].", "Ann Lee 2, Bo Ray 1"),
        ("Ann Lee [2], Bo Ray [1] and Cy Fox [3]", "Ann Lee 2, Bo Ray 1, Cy Fox 3"),
        ("- Ann Lee [2]\n- Bo Ray\n3. Cy Fox [1]", "Ann Lee 2, Bo Ray, Cy Fox 1"),
        ("[1] Ann Lee\n[2] Bo Ray", "Ann Lee 1, Bo Ray 2"),
        ("Ann Lee [1], ann lee [2], Bo Ray [2]", "Ann Lee 1, Bo Ray 2"),
        ("**Ann Lee** [1]; *Bo Ray* [passage 2]", "Ann Lee 1, Bo Ray 2"),
        ("Ann Lee [1][2], Bo Ray [1, 2]", "Ann Lee 1 2, Bo Ray 1 2"),
        ("Ann Lee [1],Bo Ray [2]", "Ann Lee 1, Bo Ray 2"),
        ("Ann Lee, Bo Ray", "Ann Lee, Bo Ray"),
        ('"Weird Al" Yankovic [1], "Ann Lee" [2]', '"Weird Al" Yankovic 1, Ann Lee 2'),
        ("9/11 [1], 1984 [2]", "9/11 1, 1984 2"),
        ("Who Goes There? Part Two [1], Dr. No [2]", "Who Goes There? Part Two 1, Dr. No 2"),
        ("Curtain [1], And Then There Were None [2]", "Curtain 1, And Then There Were None 2"),
        ("Ann [sic] Lee [1], Bo Ray [ 2 ], or Cy Fox [3]", "Ann [sic] Lee 1, Bo Ray 2, Cy Fox 3"),
        ("Washington, D.C. [1], Paris [2].", "Washington, D.C. 1, Paris 2"),
        ("[1], [2]", ""),
        ("", ""),
    ],
)
def test_names_and_their_numbers(text: str, found: str) -> None:
    read = read_marked_list(text)
    assert ", ".join(" ".join([name.text, *map(str, name.numbers)]) for name in read) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *((empty, None) for empty in ("", "\n", "[1]", "…")),
        ("Ann Lee [1].", ("Ann Lee", (1,))),
        ("June 5, 1871", ("June 5, 1871", ())),
        ('"Weird Al" Yankovic [1]', ('"Weird Al" Yankovic', (1,))),
        ('"Ann Lee" [1].', ("Ann Lee", (1,))),
        ("Washington, D.C. [2][1].", ("Washington, D.C.", (2, 1))),
        ("\n - 42 metres [1, 2]\nIt is deep [3].", ("42 metres", (1, 2))),
    ],
)
def test_a_single_name_is_the_first_line(
    text: str, found: tuple[str, tuple[int, ...]] | None
) -> None:
    assert [tuple(name) for name in read_marked_name(text)] == ([found] if found else [])
