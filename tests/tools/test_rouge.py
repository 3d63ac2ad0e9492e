"""ROUGE-2 as the library counts it, for any script and any length."""

import subprocess
import sys

import pytest

from citeproof.tools.rouge import Overlap, rouge_2, tokenize


def test_bigrams_are_counted_against_both_texts() -> None:
    """Five and three bigrams, of which `the old` and `old tower` are common."""
    found = rouge_2("the old tower was lit then", "near the old tower")
    assert found == Overlap(precision=2 / 3, recall=2 / 5, f1=0.5)


def test_a_repeated_bigram_counts_as_often_as_both_have_it() -> None:
    assert rouge_2("so it was, so it was", "so it was").recall == 2 / 5


def test_f1_is_the_same_both_ways_round() -> None:
    one, other = "Ann Lee built the tower.", "Ann Lee built it, and Bo Ray kept the tower."
    assert rouge_2(one, other).f1 == rouge_2(other, one).f1
    assert 0 < rouge_2(one, other).f1 < 1


def test_case_punctuation_and_order_of_words() -> None:
    assert rouge_2("Ann Lee; built IT!", "ann lee built it").f1 == 1.0
    assert rouge_2("one two three", "three two one").f1 == 0.0


@pytest.mark.parametrize(
    ("one", "other", "f1"),
    [
        ("Paris", "paris.", 1.0),
        ("Paris", "London", 0.0),
        ("Paris", "It is Paris.", 0.0),
        ("", "", 0.0),
        ("", "Paris is old", 0.0),
        ("?!", "?!", 0.0),
    ],
)
def test_texts_too_short_for_a_bigram(one: str, other: str, f1: float) -> None:
    assert rouge_2(one, other).f1 == f1


@pytest.mark.parametrize(
    "text", ["The tower's 3.5 m (11 ft), isn't it?", "snake_case A-B; 1,000 …", "", "  \n"]
)
def test_english_is_cut_as_the_library_cuts_it(text: str) -> None:
    from rouge_score.tokenizers import DefaultTokenizer

    assert tokenize(text) == DefaultTokenizer().tokenize(text)


def test_other_scripts_have_words_as_well() -> None:
    assert rouge_2("Башня стоит на мысе", "башня стоит здесь").recall == pytest.approx(1 / 3)
    assert rouge_2("灯塔在岬角", "灯塔在海边").recall == pytest.approx(2 / 4)


def test_the_library_is_not_loaded_before_it_is_needed() -> None:
    code = "import citeproof.tools.rouge, sys; sys.exit('rouge_score' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
