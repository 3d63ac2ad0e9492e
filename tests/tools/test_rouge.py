"""ROUGE-2 as the library counts it, for any script and any length."""

import pytest

from citeproof.tools.rouge import rouge_2, tokenize

TEXTS = ["the old tower was lit then", "near the old tower", "it was, so it was", "so it was", ""]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reference", TEXTS)
def test_the_library_counts_alike(reference: str, text: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rouge2"]).score(reference, text)["rouge2"]
    assert rouge_2(reference, text) == pytest.approx((theirs.recall, theirs.fmeasure))


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
