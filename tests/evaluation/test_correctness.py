"""Metrics of correctness, worked by hand."""

from __future__ import annotations

import time

import pytest

from citeproof.evaluation.examples import Mode
from citeproof.evaluation.metrics.correctness import (
    found_answers,
    qampari_scores,
    rouge_lsum,
    short_answer_scores,
)
from citeproof.evaluation.metrics.texts import normal, plain

MODES: tuple[Mode, ...] = ("strict", "corrected")


@pytest.mark.parametrize(
    ("text", "strict", "corrected"),
    [
        ("The  Old-Tower, a thing!", "oldtower thing", "oldtower thing"),
        ("An apple and the anthem", "apple and anthem", "apple and anthem"),
        ("L’Oréal – “A”", "l’oréal – “ ”", "loréal"),
        ("the", "", ""),
        ("£5 + 6", "£5 6", "£5 6"),
        ("Cafe\u0301", "cafe\u0301", "caf\u00e9"),
    ],
)
def test_normal_form(text: str, strict: str, corrected: str) -> None:
    assert (normal(text, "strict"), normal(text, "corrected")) == (strict, corrected)


def test_plain_text() -> None:
    text = "\nIt is [1, 2] old [1-3] | [4].\nIt is [1 & 2] new [passage 1]. [Document 1]<|im_end|>"
    assert plain(text, "strict") == "It is, 2 old-3."
    assert plain(text, "corrected") == "It is old |.\nIt is new.<|im_end|>"


@pytest.mark.parametrize(
    ("text", "strict", "corrected"),
    [
        ("Ann Lee and the Bo Ray did it.", (1, 1), (1, 1)),
        ("It was Lee, Ann.", (0, 0), (0, 0)),
        ("ann lee!", (1 / 2, 0), (1 / 2, 0)),
        # A part of a word is there in strict.
        ("Joann Leech and Bo Ray", (1, 1), (1 / 2, 0)),
        ("", (0, 0), (0, 0)),
    ],
)
def test_em_recall_and_hit(
    text: str, strict: tuple[float, float], corrected: tuple[float, float]
) -> None:
    answers = [["Ann Lee", "A. Lee-Ray"], ["Bo Ray"]]
    for mode, expected in zip(MODES, (strict, corrected), strict=True):
        found = found_answers(text, answers, mode)
        assert (found["em_recall"], found["hit"]) == expected


@pytest.mark.parametrize(
    ("text", "alias", "found"),
    [
        ("Ann Lee's tower", "Ann Lee", True),
        ("the Lee–Ray tower (1871–75)", "1871", True),
        ("the U.S. Navy", "US Navy", True),
        ("Jean-Luc", "Jean Luc", True),
        ("a Jean Luc", "Jean-Luc", True),
        ("O'Brien's", "O’Brien", True),
        ("3.5 metres", "3", False),
        ("1,286 people", "286", False),
        ("1,286 people", "1286", True),
        ("at 5:30", "5", False),
        ("Joann", "Ann", False),
        ("日本の首都は東京です。", "東京", True),
        ("塔は1858年に", "1858", True),
        ("塔は1858年に", "185", False),
        ("กรุงเทพเป็นเมืองหลวง", "กรุงเทพ", True),
    ],
)
def test_whole_words_in_corrected(text: str, alias: str, found: bool) -> None:
    assert found_answers(text, [[alias]], "corrected")["hit"] == found


def test_an_alias_without_letters_is_everywhere_in_strict_alone() -> None:
    found = [found_answers("Ann", [["The"]], mode)["hit"] for mode in MODES]
    assert found == [1, 0]


def test_rouge_lsum_is_the_union_of_common_subsequences_of_the_better_reference() -> None:
    """`ann built tower` has 3 of the 3 words, and the reference 3 of its 6; the other is worse."""
    references = ["Bo kept it.", "Ann built it. Then the tower fell."]
    for mode in MODES:
        found = rouge_lsum("Ann built. Tower!", references, mode)
        assert found == pytest.approx(2 * 1 * (3 / 7) / (1 + 3 / 7))


@pytest.mark.parametrize("mode", MODES)
def test_rouge_reads_stems_and_sentence_by_sentence(mode: Mode) -> None:
    reference = ["The towers stood. A keeper lived there."]
    # Sentences in another order lose nothing, words in another order do.
    assert rouge_lsum("A keeper lived there. The tower stood.", reference, mode) == 1
    assert rouge_lsum("There lived a keeper stood towers the.", reference, mode) < 0.8
    assert rouge_lsum("", reference, mode) == 0


def test_a_corrected_sentence_may_go_on_in_the_next_line() -> None:
    wrapped = "the keeper of the light had lived alone in it\nfor many years."
    assert rouge_lsum(wrapped, [" ".join(wrapped.split())], "corrected") == 1


@pytest.mark.parametrize("unit", ["x? ", "- x\n", "# h\n"])
@pytest.mark.parametrize("mode", MODES)
def test_rouge_takes_time_in_proportion_to_the_answer(unit: str, mode: Mode) -> None:
    """Answers of a few thousand characters took seconds where time grew with their square."""
    rouge_lsum("A", ["A"], mode)  # loads the library
    began = time.process_time()
    rouge_lsum((unit * 30_000)[:30_000], ["Ann Lee built the tower. It was lit in 1871."], mode)
    assert time.process_time() - began < 3


ENTITIES = [["Rome", "Roma"], ["Oslo"], ["Bonn"], ["Kyiv", "Kiev"], ["Lima"], ["Bern"], ["Riga"]]


@pytest.mark.parametrize("mode", MODES)
def test_lists(mode: Mode) -> None:
    """4 names, 3 of them right; 2 of 7 entities, since Rome is there under two names."""
    found = qampari_scores("the Rome, Roma, Paris, oslo.", ENTITIES, mode)
    assert found == {
        "qampari_precision": 3 / 4,
        "qampari_recall": 2 / 7,
        "qampari_recall_5": 2 / 5,
        "qampari_f1": pytest.approx(2 * (3 / 4) * (2 / 7) / (3 / 4 + 2 / 7)),
        "qampari_f1_5": pytest.approx(2 * (3 / 4) * (2 / 5) / (3 / 4 + 2 / 5)),
        "predictions": 4,
    }


@pytest.mark.parametrize("mode", MODES)
def test_six_of_seven_are_complete_in_recall_5_and_none_scores_0(mode: Mode) -> None:
    found = qampari_scores("Rome, Oslo, Bonn, Kiev, Lima, Bern", ENTITIES, mode)
    assert (found["qampari_recall"], found["qampari_recall_5"]) == (6 / 7, 1)
    two = qampari_scores("Rome", ENTITIES[:2], mode)
    assert two["qampari_recall_5"] == 1 / 2
    assert set(qampari_scores("", ENTITIES, mode).values()) == {0}


def test_a_comma_in_a_name() -> None:
    answers = [["Washington, D.C."], ["Oslo"]]
    strict = qampari_scores("Washington, D.C., Oslo", answers, "strict")
    assert (strict["predictions"], strict["qampari_recall"]) == (3, 1 / 2)
    corrected = qampari_scores("Washington, D.C. [1], Oslo [2]", answers, "corrected")
    assert (corrected["predictions"], corrected["qampari_recall"]) == (2, 1)


def test_a_repeated_name_counts_once_in_corrected() -> None:
    answers = [["Rome"]]
    assert qampari_scores("Rome, Rome, Oslo", answers, "strict")["qampari_precision"] == 2 / 3
    assert qampari_scores("Rome, Rome, Oslo", answers, "corrected")["qampari_precision"] == 1 / 2


def test_short_answers() -> None:
    """Of 4 words 2 are those of `Ann Lee`, which is the best of all aliases."""
    found = short_answer_scores("It was Ann Lee.", [["Bo Ray", "Ann Lee"], ["a Lee"]], "corrected")
    assert found == {
        "exact_match": 0,
        "token_f1": pytest.approx(2 / 3),
        "token_precision": 1 / 2,
        "token_recall": 1,
    }
    exact = short_answer_scores("The Ann-Lee!", [["Bo"], ["annlee"]], "corrected")
    assert exact == dict.fromkeys(("exact_match", "token_f1", "token_precision", "token_recall"), 1)
    assert set(short_answer_scores("", [["Bo"]], "corrected").values()) == {0}
    assert short_answer_scores("東京都", [["東京"]], "corrected")["token_precision"] == 2 / 3
    # Repeated words count as often as both have them.
    found = short_answer_scores("no no no", [["no no yes"]], "corrected")
    assert found["token_precision"] == found["token_recall"] == pytest.approx(2 / 3)
