"""The cascade: who is asked, and what becomes of two scores."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest

from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair, Score, contradicts
from citeproof.tools.entailment.cascade import Cascade

SURE, UNSURE, UNSURE_TOO, FALSE = (Pair("p", h) for h in ("sure", "unsure", "unsure too", "false"))


def judging(score: float) -> TableEntailment:
    return TableEntailment(lambda *_: score, threshold=0.65)


def cascade(first: float | Score, judge: TableEntailment, **options: Any) -> Cascade:
    """A cascade whose first model gives everything the same score."""
    options = {"band": (0.5, 0.8)} | options
    return Cascade(TableEntailment(lambda *_: first), lambda: judge, **options)


def test_the_judge_is_asked_only_inside_the_band_and_opened_once() -> None:
    table = {"sure": 0.95, "unsure": 0.5, "unsure too": 0.3, "false": 0.1}
    judge = judging(0.9)
    opening = Mock(return_value=judge)
    first = TableEntailment(lambda _, claim: table[claim])
    model = Cascade(first, opening, band=(0.3, 0.8))
    assert asyncio.run(model.scores([SURE, FALSE])) == [0.95, 0.1]
    assert not opening.called
    scores = asyncio.run(model.scores([SURE, UNSURE, FALSE, UNSURE_TOO]))
    assert judge.pairs == [UNSURE, UNSURE_TOO]
    assert (scores[0], scores[2]) == (0.95, 0.1)
    asyncio.run(model.scores([UNSURE]))
    assert opening.call_count == 1


def test_quick_scores_ask_no_judge_and_are_final_below_the_band() -> None:
    first = TableEntailment(lambda _, claim: 0.6 if claim == "sure" else 0.1)
    model = Cascade(first, Mock(), band=(0.3, 1.0))
    verbatim = Pair("It is lit. The lamp has burned since 1920.", "The lamp has burned since 1920.")
    assert asyncio.run(model.quick_scores([SURE, FALSE, verbatim])) == [0.6, 0.1, 1.0]
    assert model.final_below == 0.3
    assert asyncio.run(model.scores([FALSE, verbatim])) == [0.1, 1.0]
    assert first.pairs == [SURE, FALSE, FALSE], "a sentence of the premise needs no model"


@pytest.mark.parametrize(("given", "asked"), [(0.29, 0), (0.31, 1), (0.49, 1), (0.55, 1)])
def test_the_judge_is_asked_about_all_above_a_low_threshold(given: float, asked: int) -> None:
    first = TableEntailment(lambda *_: given, threshold=0.3)
    judge = judging(0.02)
    model = Cascade(first, lambda: judge, band=(0.5, 1.0))
    [score] = asyncio.run(model.scores([UNSURE]))
    assert (len(judge.pairs), score < first.threshold) == (asked, True)


@pytest.mark.parametrize(
    ("judged", "blend", "score"),
    [
        (0.9, (0.0, 1.0, 0.0), 0.9),
        (0.9, (1.0, 0.0, 0.0), 0.5),
        (0.9, (0.0, 0.5, 0.0), 0.75),
        (0.9, (0.0, 0.0, -1.0), 0.2689),
        (0.0, (0.5, 0.5, 0.0), 0.0307),  # a certain judge gives a finite score
        (1.0, (0.5, 0.5, 0.0), 0.9693),
    ],
)
def test_a_blended_score_weighs_log_odds(
    judged: float, blend: tuple[float, float, float], score: float
) -> None:
    model = cascade(0.5, judging(judged), blend=blend)
    assert asyncio.run(model.scores([UNSURE])) == pytest.approx([score], abs=1e-4)


@pytest.mark.parametrize(
    ("premise", "judged", "score"),
    [
        ("In 1931 it opened.", 0.1, 0.95),
        ("It opened.", 0.65, 0.5 * 0.5 / 0.75),
        ("It opened.", 0.65 + 0.35 / 2, 0.5),
        ("It opened.", 1.0, 0.5 + 0.5 * 0.2 / 0.25),
    ],
)
def test_what_the_premise_does_not_name_both_must_prove_surely(
    premise: str, judged: float, score: float
) -> None:
    judge = judging(judged)
    model = cascade(0.95, judge, blend=(1.0, 1.0, 0.0))
    found = asyncio.run(model.scores([Pair(premise, "It opened in 1931.")]))
    assert found == pytest.approx([score])
    assert len(judge.pairs) == (premise == "It opened.")


def test_no_model_proves_code_that_the_premise_lacks() -> None:
    judge = judging(1.0)
    model = cascade(0.95, judge, band=(0.5, 1.0))
    pairs = [Pair(premise, "Call `token_hex()`.") for premise in ("token_bytes()", "token_hex()")]
    unstated, _ = asyncio.run(model.scores(pairs))
    assert unstated == model.threshold / 2
    assert judge.pairs == pairs[1:]


def test_what_the_first_model_knows_of_contradictions_is_kept() -> None:
    [score] = asyncio.run(cascade(Score(0.6, 0.7), judging(0.2)).scores([UNSURE]))
    assert contradicts(score)
