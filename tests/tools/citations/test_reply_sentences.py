from __future__ import annotations

import pytest

from citeproof.tools.citations.reply_sentences import reply_sentences, restore_tags

LONG = "The tall stone tower on the northern headland was lit in 1871"  # as if it were wrapped


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("Ann Lee built it.", ["Ann Lee built it."]),
        ("Ann Lee built it. Bo kept it.", ["Ann Lee built it.", "Bo kept it."]),
        ("\nAnn Lee built it.\n\nBo kept it.", ["Ann Lee built it.", "Bo kept it."]),
        ("Ann Lee built it. DONE", ["Ann Lee built it."]),
        ("Next sentence: Ann Lee built it [2].", ["Ann Lee built it."]),
        ("Ann Lee built it, as stated in passage 1.", ["Ann Lee built it."]),
        ('"Ann Lee built it."', ["Ann Lee built it."]),
        ("Done Deal was released in 1998.", ["Done Deal was released in 1998."]),
        ("Donegal is a county.", ["Donegal is a county."]),
        (f"{LONG}\nDONE", [LONG]),
        ("DONE", []),
        ("Done. The answer is complete.", []),
        ("[1][2]", []),
        ('{"foo": 12}', []),
        ('```json\n{"citations": [1]}\n```', []),
        ("It has:\n1. Shops\n2. A hall\nIt is old.", ["It has: Shops, A hall.", "It is old."]),
        ("Take these steps:\n- Open it.\n- Close it.", ["Open it.", "Close it."]),
        ("Run this:\n```\ngit add x\n```\nThen go on.", ["Run this: git add x.", "Then go on."]),
        ("Take these steps:", ["Take these steps:"]),
        (
            "open the valve that is on top\nclose the door",
            ["open the valve that is on top", "close the door"],
        ),
        ("\u200b \t", []),
        ("", []),
    ],
)
def test_the_sentences_of_a_reply(reply: str, found: list[str]) -> None:
    assert reply_sentences(reply) == found


@pytest.mark.parametrize(
    ("text", "passages", "restored"),
    [
        ("Type git add ‹file>.", ["git add <file>"], "Type git add <file>."),
        ("Type git add ‹file>.", ["git add ‹file>"], "Type git add ‹file>."),
        ("‹|im_end|>", ["<|im_end|>"], "‹|im_end|>"),
        ("‹/passage>", ["</passage>"], "‹/passage>"),
        ("1 < 2", [], "1 < 2"),
    ],
)
def test_a_tag_is_restored_if_a_passage_has_it(
    text: str, passages: list[str], restored: str
) -> None:
    assert restore_tags(text, passages) == restored
