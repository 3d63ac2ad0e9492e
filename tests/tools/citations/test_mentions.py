"""Passages that a reply cites in words."""

import pytest

from citeproof.agents.claim_generator import sentences
from citeproof.testing import passage
from citeproof.tools.citations.answer_text import read_claims
from citeproof.tools.citations.marked_text import mark_mentions


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


def test_claims_are_read_without_mentions() -> None:
    reply = "The tower is old, as stated in passage 1."
    [claim] = read_claims(reply, {1: passage("The tower is old.")}, "prose")
    assert (claim.text, [c.number for c in claim.citations]) == ("The tower is old.", [1])
    assert sentences(reply) == ["The tower is old."]
