"""Edits say something else; where there is nothing to change they say so."""

from __future__ import annotations

from random import Random

import pytest

from citeproof.tools.entailment.spans import find_spans, replace_span
from training import edits

SENTENCE = "Ann Lee built the Orrin Tower in 1871 with 40 masons."


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1871", "year"),
        ("October 16, 1973", "date"),
        ("40", "number"),
        ("1,200 feet", "number"),
        ("Ann Lee", "name"),
        ("the Bank of England", "name"),
        ("poor health", "phrase"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert edits.kind(text) == kind


def test_spans_of_each_kind() -> None:
    assert find_spans(SENTENCE, "year") == ["1871"]
    assert find_spans(SENTENCE, "number") == ["40"]
    assert find_spans(SENTENCE, "name") == ["Ann Lee", "Orrin Tower"]
    assert find_spans("On 3 May 1871 it rained.", "date") == ["3 May 1871"]
    assert find_spans("She came third of 21, on the 21st.", "ordinal") == ["third", "21st"]


@pytest.mark.parametrize("seed", range(20))
def test_a_substitution_changes_one_thing_to_another_of_its_kind(seed: int) -> None:
    found = edits.substitute(SENTENCE, SENTENCE + " Bo Ray lit it.", Random(seed))
    assert found is not None
    new, old, put = found
    assert old in SENTENCE
    assert old not in new
    assert new == SENTENCE.replace(old, put)
    assert edits.kind(old) == edits.kind(put)


def test_nothing_to_change_is_none() -> None:
    rng = Random(1)
    plain = "it rained"
    assert edits.substitute(plain, plain, rng) is None
    assert edits.negate(plain, rng) is None
    assert edits.rescope(plain, rng) is None
    assert edits.reverse(plain, rng) is None


def test_negation_goes_in_and_out() -> None:
    rng = Random(1)
    assert edits.negate("The tower was lit.", rng) == "The tower was not lit."
    assert edits.negate("The tower was not lit.", rng) == "The tower was lit."


def test_roles_change_places_but_not_where_order_means_nothing() -> None:
    rng = Random(1)
    assert edits.reverse("Ann Lee taught Bo Ray.", rng) == "Bo Ray taught Ann Lee."
    assert edits.reverse("Ann Lee married Bo Ray.", rng) is None


def test_whole_words_only_are_swapped() -> None:
    assert replace_span("Ann met Anna.", "Ann", "Bo") == "Bo met Anna."


@pytest.mark.parametrize(
    ("question", "answer", "sentence"),
    [
        ("Who wrote Emma?", "Jane Austen", "Jane Austen wrote Emma."),
        ("who is the keeper of the tower", "Bo Ray", "The keeper of the tower is Bo Ray."),
        ("When was the tower built?", "1871", "The tower was built in 1871."),
        ("Which mason built the tower?", "Ann", None),
        ("Why did it fall?", "wind", None),
    ],
)
def test_some_questions_become_sentences(question: str, answer: str, sentence: str | None) -> None:
    assert edits.declare(question, answer) == sentence


def test_plainer_sentences_stay_true() -> None:
    sentence = "In May 1871, it was lit (at last), which pleased the keeper."
    said = {edits.plainer(sentence, "Orrin Tower", Random(seed)) for seed in range(30)}
    assert "It was lit." in {text.replace(", which pleased the keeper", "") for text in said}
    assert all("(" not in text for text in said)
    assert edits.plainer("It was lit.", "Orrin Tower", Random(2)) in {
        "It was lit.",
        "Orrin Tower was lit.",
    }


@pytest.mark.parametrize("seed", range(10))
def test_what_holds_of_all_is_not_edited_to_some(seed: int) -> None:
    changed = edits.rescope("It always called on all members.", Random(seed))
    assert changed is not None
    assert not {"some", "sometimes"} & set(changed.split())


@pytest.mark.parametrize(
    ("sentence", "plain"),
    [
        (
            "The President of Cuba, who is elected, serves for five years.",
            "The President of Cuba serves for five years.",
        ),
        ("It was lit by Ann Lee, who had built it.", "It was lit by Ann Lee."),
        ("She went on in ads in which Bo Ray sang.", None),
        ("The keeper who lit it, Bo Ray, slept.", None),
        ("Ann, who played drums, flute and harp, sang.", None),
        ("It was lit, which pleased Dr. Ray.", None),
    ],
)
def test_an_aside_goes_with_both_of_its_commas(sentence: str, plain: str | None) -> None:
    said = {edits.plainer(sentence, "tower", Random(seed)) for seed in range(30)}
    assert said == {sentence, plain or sentence}


@pytest.mark.parametrize(
    "sentence",
    [
        "The most important for Luther was grace.",
        "The NBA's second most wins are his.",
        "Its most loved streets are here.",
        "It is most famous for salt.",
    ],
)
def test_superlatives_are_not_counts(sentence: str) -> None:
    assert edits.rescope(sentence, Random(1)) in {None, sentence.replace("second", "first")} | {
        sentence.replace("second", "third")
    }


def test_most_of_some_are_all_or_few() -> None:
    said = {edits.rescope("It lit most ships and most of the bay.", Random(n)) for n in range(20)}
    assert said == {
        "It lit all ships and most of the bay.",
        "It lit few ships and most of the bay.",
    }


@pytest.mark.parametrize(
    "sentence",
    [
        "Ann Lee is an American actor.",
        "Danse Macabre, also called Death Dance, is old.",
        "Bo Ray sold Metro- Goldwyn- Mayer.",
        "Ann Lee was seen by English writers.",
        "Bo Ray's boat carried Ann Lee.",
        "The first king of Vessay saw Ann Lee of Orrin.",
        "Princess Alice, the Duchess, slept.",
        "Ann Lee was the Keeper.",
    ],
)
def test_what_makes_no_sentence_or_none_that_differs_is_not_reversed(sentence: str) -> None:
    assert {edits.reverse(sentence, Random(seed)) for seed in range(20)} <= {None}
