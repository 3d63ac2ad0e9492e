"""Marks, supporting sentences and repetitions."""

import time
from typing import Any

import pytest

from citeproof.testing import passage as made
from citeproof.tools.citations.marks import (
    adds_nothing,
    cite,
    join_claims,
    marks,
    supporting_sentence,
)
from citeproof.tools.citations.quotes import find_quote
from citeproof.types import Box, Citation, Claim, Passage, Verdict


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("It is old.", "It is old [1][3]."),
        ('He said "no."', 'He said "no [1][3]."'),
        ("It is old", "It is old [1][3]"),
        ("Is it old?!", "Is it old [1][3]?!"),
        ("It is old. It is tall!", "It is old [1][3]. It is tall [1][3]!"),
        ("塔は古い。塔は高い。", "塔は古い [1][3]。塔は高い [1][3]。"),
        ("To stage it, run git add .", "To stage it, run git add . [1][3]"),
        ("To go up, run cd ..", "To go up, run cd .. [1][3]"),
    ],
)
def test_marks_stand_before_the_full_stop(text: str, marked: str) -> None:
    citations = tuple(Citation(passage_id=str(n), number=n) for n in (1, 3))
    said = Claim(text=text, citations=citations, verdict=Verdict(status="unchecked"))
    assert marks(said) == marked
    assert marks(said.model_copy(update={"citations": ()})) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It opened in 1871.[3]", "It opened in 1871 [1]."),
        ("It is old.[4][passage 5] It is tall.[6]", "It is old [1]. It is tall [1]."),
        ("它很高。[3] 桥是新的。[4]", "它很高 [1]。 桥是新的 [1]。"),
        ("In 1871,[3] it opened.", "In 1871, it opened [1]."),
        ("Its name is argv[1] here.", "Its name is argv[1] here [1]."),
        ("Type `jq a.[0] b` twice.[2]", "Type `jq a.[0] b` twice [1]."),
    ],
)
def test_the_reference_marks_of_a_quote_are_not_shown(text: str, shown: str) -> None:
    source = made(text)
    quote = find_quote(text, source)
    assert quote is not None
    claim = quote.claim(1, Verdict(status="supported"))
    assert marks(claim) == shown
    assert find_quote(claim.text, source) == quote


def test_a_line_ends_after_what_has_no_stop() -> None:
    texts = ["It is old.", "Do both:", "Sail", "Rest", 'She said: "Stop!"', "It ends."]
    verdict = Verdict(status="supported")
    claims = [Claim(text=text, citations=(), verdict=verdict) for text in texts]
    said = 'It is old. Do both:\nSail\nRest\nShe said: "Stop!" It ends.'
    assert join_claims(claims) == said
    assert join_claims(claims[:1], lambda one: f"{one.text} [flag]") == "It is old. [flag]"
    assert join_claims([]) == ""


@pytest.mark.parametrize(
    ("sentences", "claim", "best"),
    [
        (
            [
                "The lighthouse stands on the cape. ",
                "The lighthouse was built by Ann Lee in 1871. ",
                "The lighthouse is white.",
            ],
            "Ann Lee was the builder of the lighthouse.",
            1,
        ),
        (["It is a tower. ", "It dates from 1871."], "A tower of 1871.", 1),
        (["Oake Forest is old. ", "It has many species."], "Oake Forest has many species.", 1),
        (["塔建于1850年。", "它很高。", "桥是新的。"], "塔很高。", 1),
        (["The pool is shut. ", "Mu\u0308ller opens it."], "Müller is here.", 1),
        (["Cats sleep."], "The tower is high.", None),
        ([""], "The tower is high.", None),
    ],
    ids=["rare words", "numbers", "not the title", "no spaces", "accents apart", "none", "empty"],
)
def test_the_supporting_sentence(sentences: list[str], claim: str, best: int | None) -> None:
    source = Passage(id="a", title="Oake Forest", text="".join(sentences))
    expected = "" if best is None else sentences[best].strip()
    assert supporting_sentence(source, claim) == expected


@pytest.mark.parametrize(
    ("claim", "repeats"),
    [
        ("Ann Lee built the tower in 1871.", True),
        ("The bridge was built in 1850.", True),
        ("Ann Lee built the tower.", True),
        ("Ann Lee built the tower in 1872.", False),
        ("Ann Lee did not build the tower in 1871.", False),
        ("The tower built Ann Lee.", False),
        ("Ann Lee built the tower in 1871 and died in 1880.", False),
    ],
)
def test_a_repetition_adds_nothing(claim: str, repeats: bool) -> None:
    accepted = ["The bridge was built by Bo Ray in 1850.", "Ann Lee built the tower in 1871."]
    assert adds_nothing(claim, accepted) is repeats


def box(start: int, end: int, top: float) -> Box:
    return Box(start=start, end=end, left=0.1, top=top, right=0.9, bottom=top + 0.02)


BUILT = "Ann Lee built it."
PAGE = Passage(
    id="p",
    text="The tower is white. Ann Lee built it in 1871.",
    page=3,
    boxes=(box(0, 19, 0.1), box(20, 32, 0.1), box(33, 45, 0.2)),
)


def test_a_citation_says_where_its_sentence_stands() -> None:
    [citation] = cite({4: PAGE}, "Ann Lee was the builder.")
    assert (citation.passage_id, citation.number, citation.page) == ("p", 4, 3)
    assert citation.sentence == "Ann Lee built it in 1871."
    assert citation.boxes == (box(0, 12, 0.1), box(13, 25, 0.2))


@pytest.mark.parametrize(
    ("change", "claim", "why"),
    [
        ({}, "Goats.", "no sentence of the passage shares a word with the claim"),
        ({"boxes": ()}, BUILT, "its source does not give the position of the page's lines"),
        ({"boxes": PAGE.boxes[:1]}, BUILT, "the sentence is not visible on its page"),
        ({"boxes": (), "page": None}, BUILT, ""),
    ],
)
def test_a_citation_without_boxes_says_why(change: dict[str, Any], claim: str, why: str) -> None:
    [citation] = cite({1: PAGE.model_copy(update=change)}, claim)
    assert (citation.boxes, citation.unplaced) == ((), why)


def test_the_sentence_of_a_long_passage_is_found_in_linear_time() -> None:
    """With each sentence compared with each other it took a minute."""
    began = time.process_time()
    assert supporting_sentence(made("The tower. " * 15_000), "A tower.") == "The tower."
    assert time.process_time() - began < 3
