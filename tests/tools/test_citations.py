"""Marks, supporting sentences and repetitions."""

import time

import pytest

from citeproof.tools.citations import adds_nothing, marks, strip_marks, supporting_sentence
from citeproof.types import Citation, Claim, Verdict


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("It is old [1].", "It is old."),
        ("It is old [1][2].", "It is old."),
        ("It is old [1, 2].", "It is old."),
        ("It is old [1-3].", "It is old."),
        ("It is old. [ 4 ]", "It is old."),
        ("It is old [passage 1].", "It is old."),
        ("It is old [Document 1].", "It is old."),
        ("It is old [1 & 2].", "It is old."),
        ("The array a[i] is old [sic].", "The array a[i] is old [sic]."),
    ],
)
def test_strip_marks(text: str, bare: str) -> None:
    assert strip_marks(text) == bare


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("It is old.", "It is old [1][3]."),
        ('He said "no."', 'He said "no [1][3]."'),
        ("It is old", "It is old [1][3]"),
        ("Is it old?!", "Is it old [1][3]?!"),
    ],
)
def test_marks_stand_before_the_full_stop(text: str, marked: str) -> None:
    citations = tuple(Citation(passage_id=str(n), number=n) for n in (1, 3))
    assert (
        marks(Claim(text=text, citations=citations, verdict=Verdict(status="unchecked"))) == marked
    )


def test_a_claim_without_citations_has_no_marks() -> None:
    assert marks(Claim(text="It is old.", verdict=Verdict(status="unsupported"))) == "It is old."


def test_the_supporting_sentence_shares_the_rare_words() -> None:
    passage = (
        "The lighthouse stands on the cape. The lighthouse was built by Ann Lee in 1871. "
        "The lighthouse is white."
    )
    assert (
        supporting_sentence(passage, "Ann Lee was the builder of the lighthouse.")
        == "The lighthouse was built by Ann Lee in 1871."
    )


def test_without_spaces_between_words_the_supporting_sentence_is_found_too() -> None:
    assert supporting_sentence("塔建于1850年。它很高。桥是新的。", "塔很高。") == "它很高。"


def test_accents_written_apart_are_those_of_the_letters() -> None:
    text = "The pool is shut. Mu\u0308ller opens it."
    assert supporting_sentence(text, "Müller opens.") == "Mu\u0308ller opens it."


def test_no_shared_word_gives_no_sentence() -> None:
    assert supporting_sentence("Cats sleep.", "The tower is high.") == ""
    assert supporting_sentence("", "The tower is high.") == ""


@pytest.mark.parametrize(
    ("claim", "repeats"),
    [
        ("Ann Lee built the tower in 1871.", True),
        ("The tower was built in 1871.", True),
        ("Ann Lee built the tower.", True),
        ("Ann Lee built the tower in 1872.", False),
        ("Ann Lee did not build the tower in 1871.", False),
        ("The tower built Ann Lee.", False),
        ("Ann Lee built the tower in 1871 and died in 1880.", False),
    ],
)
def test_a_repetition_adds_nothing(claim: str, repeats: bool) -> None:
    accepted = ["Ann Lee built the tower in 1871."]
    if claim == "The tower was built in 1871.":
        accepted = ["The tower was built by Ann Lee in 1871."]
    assert adds_nothing(claim, accepted) is repeats


def test_the_sentence_of_a_long_passage_is_found_in_linear_time() -> None:
    """With each sentence compared with each other it took a minute."""
    began = time.process_time()
    assert supporting_sentence("The tower. " * 15_000, "A tower.") == "The tower."
    assert time.process_time() - began < 3
