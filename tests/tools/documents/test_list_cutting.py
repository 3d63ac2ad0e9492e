"""A long list is cut between its items, and the pieces are joined again only if all are there."""

from __future__ import annotations

import re

import pytest

from citeproof import Passage
from citeproof.tools.citations.lists import whole_lists
from citeproof.tools.documents.passages import cut
from tests.tools.documents.reading import read

STEPS = [
    f"Step {n} of the work. It takes {n} hours and a pair of dry gloves." for n in range(1, 10)
]


def pieces(text: str) -> list[Passage]:
    return cut(read(text, "a.md"), 40)


def numbered(items: list[str]) -> str:
    return "\n".join(f"{n}. {item}" for n, item in enumerate(items, start=1))


def test_a_long_list_is_cut_between_its_items() -> None:
    found = pieces(f"It is long:\n\n{numbered(STEPS)}\n\nThen rest.\n")
    *parts, rest = found
    assert (rest.text, rest.location) == ("Then rest.", "")
    held = [re.findall(r"^\d", one.text, re.MULTILINE) for one in parts]
    assert [number for own in held for number in own] == list("123456789")
    assert [one.location for one in parts] == [f"items {n[0]}-{n[-1]} of 9" for n in held]
    assert all(one.text.startswith(n[0]) for one, n in zip(parts[1:], held[1:], strict=True))


def test_what_is_nested_in_an_item_stays_with_it() -> None:
    nested = [f"{step}\n   - Mind the {n}th rope." for n, step in enumerate(STEPS)]
    found = pieces(numbered(nested))
    assert all("Mind" in one.text.splitlines()[-1] for one in found)
    assert found[-1].location.endswith("-9 of 9")


def test_a_long_item_is_cut() -> None:
    found = pieces(f"Work:\n\n1. Rest.\n2. {' '.join(STEPS)}\n3. Sleep.\n")
    assert [one.location for one in found][1:] == ["item 2 of 3"] * (len(found) - 2) + [
        "items 2-3 of 3"
    ]
    assert list(whole_lists(found)) == []


@pytest.mark.parametrize("text", ["- One\n- Two\n", "No list, but a sentence. " * 40])
def test_others_have_no_location(text: str) -> None:
    assert {one.location for one in pieces(text)} == {""}


def test_the_pieces_are_joined_if_all_are_there() -> None:
    found = pieces(f"Work:\n\n{numbered(STEPS)}\n\nFood:\n- milk\n- bread\n")
    work, food = whole_lists(reversed(found))
    assert [item.text for item in work.items] == STEPS
    assert work.lead is not None
    assert work.lead.text == "Work:"
    assert work.premise.count("Step") == 9
    assert {item.passage.id for item in work.items} == {one.id for one in found if one.location}
    assert [item.text for item in food.items] == ["milk", "bread"]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_without_one_of_them_there_is_no_list(missing: int) -> None:
    found = pieces(numbered(STEPS))
    del found[missing]
    assert list(whole_lists(found)) == []


def test_pieces_of_two_lists_are_not_joined() -> None:
    one = pieces(numbered(STEPS))
    other = pieces(f"{'It rains. ' * 60}\n\n{numbered(STEPS)}")
    assert list(whole_lists([*one[:1], *(p for p in other if p.location[:7] != "items 1")])) == []
