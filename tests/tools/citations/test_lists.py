"""The lists of a passage are found with their introduction, whole and without numbers."""

from __future__ import annotations

import pytest

from citeproof import Passage
from citeproof.tools.citations.lists import lists_in

LATE = "It is late. "


def found(text: str) -> list[str]:
    """The lists of a text, each as its lead and its items."""
    lists = lists_in(Passage(id="a", title="A page", text=text))
    parts = [
        [one.lead.text if one.lead else "", *(item.text for item in one.items)] for one in lists
    ]
    return [" | ".join(own) for own in parts]


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("No list.", []),
        ("Buy:\n- milk", []),
        ("- milk\n- bread", [" | milk | bread"]),
        ("Buy:\n- milk\n- bread\nThen pay.", ["Buy: | milk | bread"]),
        ("买：\n- 买牛奶！\n- 买面包！\n然后付钱。", ["买： | 买牛奶！ | 买面包！"]),
        ("Buy:\nii. milk\niii. bread\nThen pay.", ["Buy: | milk | bread"]),
        ("It is late. Buy:\n\n* milk\n\n* bread\n\nPay.", ["It is late. Buy: | milk | bread"]),
        ("It is late.\n\nBuy:\n- milk\n- bread", ["Buy: | milk | bread"]),
        (f"{LATE * 26}Buy:\n- milk\n- bread", [f"{LATE * 24}Buy: | milk | bread"]),
        ("## Steps\n1. Open it.\n2. Shut it.", [" | Open it. | Shut it."]),
        (
            "It needs the extra `pdf`.\n- Tables are read.\n- Links are too.",
            [" | Tables are read. | Links are too."],
        ),
        ("Steps\n1) Open it.\n2) Shut it.", [" | Open it. | Shut it."]),
        ("Do two:\n- Sail: play\n  a card.\n- Rest.", ["Do two: | Sail: play a card. | Rest."]),
        (
            "Do this:\n1. Open it:\n   - by hand,\n   - or by key.\n2. Shut it.",
            ["Do this: | Open it: - by hand, - or by key. | Shut it."],
        ),
        ("Do this:\n1. Open\nthe lid.\n2. Shut it.", ["Do this: | Open the lid. | Shut it."]),
        (
            "Good:\n- fast\n- small\n\nBad:\n- new\n- loud",
            ["Good: | fast | small", "Bad: | new | loud"],
        ),
        (
            "Do two of these. Both may be the same.\n- Sail.\n- Rest.",
            ["Do two of these. Both may be the same. | Sail. | Rest."],
        ),
    ],
)
def test_lists(text: str, lists: list[str]) -> None:
    assert found(text) == lists


@pytest.mark.parametrize(
    ("text", "name", "premise"),
    [
        ("- milk\n- bread", "To buy", "- milk\n- bread"),
        ("Take:\n- milk\n- bread\n\nPay.", "To buy Take:", "Take:\n- milk\n- bread"),
        ("It is late.\n\n## Food\n- milk\n- bread", "## Food", "## Food\n- milk\n- bread"),
        ("Food\n\nIt is late.\n- milk\n- bread", "Food", "Food\n- milk\n- bread"),
        ("Food\n\nTake:\n- milk\n- bread", "Food Take:", "Food\n\nTake:\n- milk\n- bread"),
        ("Food\n\nIt is late.\n\nTake:\n- milk\n- bread", "To buy Take:", "Take:\n- milk\n- bread"),
    ],
)
def test_a_list_is_named_by_its_heading_and_lead(text: str, name: str, premise: str) -> None:
    [one] = lists_in(Passage(id="a", title="Shop – To buy", text=text))
    assert (one.name, one.premise) == (name, f"Title: Shop – To buy\n{premise}")


@pytest.mark.parametrize(
    ("text", "numbered"),
    [
        ("1. Open.\n2. Shut.", True),
        ("Do:\n(a) Open.\n(b) Shut.", True),
        ("Do:\n - Open.\n - Shut.", False),
    ],
)
def test_whether_the_items_have_numbers(text: str, numbered: bool) -> None:
    [one] = lists_in(Passage(id="a", title="", text=text))
    assert one.is_numbered is numbered
