from __future__ import annotations

import random

import pytest

from citeproof import Settings
from citeproof.errors import SettingsError
from citeproof.tools.entailment.opening import open_entailment
from citeproof.tools.entailment.risk import calibration_scores, choose_threshold, measure_risk


def test_a_threshold_keeps_false_proofs_to_the_share() -> None:
    """On the mean over calibration sets, as conformal risk control promises."""
    rng = random.Random(4)
    shares = []
    for _ in range(300):
        scores = [rng.random() ** 2 for _ in range(60)]
        threshold = choose_threshold(scores, 0.1)
        shares.append(1 - threshold**0.5)  # of further scores of that distribution
    assert 0.07 < sum(shares) / len(shares) <= 0.1


def test_it_lies_just_above_a_score_that_was_seen() -> None:
    scores = [step / 100 for step in range(99)]
    threshold = choose_threshold(scores, 0.05)
    assert threshold > 0.94
    assert sum(score >= threshold for score in scores) == 4


def test_too_small_a_share_is_an_error_that_says_what_can_be_had() -> None:
    with pytest.raises(SettingsError, match=r"Choose at least 0\.05"):
        choose_threshold([0.5] * 19, 0.01)


def test_less_risk_costs_right_claims() -> None:
    _, not_stated = calibration_scores()
    usual, strict = (measure_risk(choose_threshold(not_stated, share)) for share in (0.2, 0.05))
    assert strict.false_proofs <= 0.05 < usual.false_proofs <= 0.2
    assert 0.3 < strict.kept < usual.kept


def test_the_setting_chooses_the_threshold() -> None:
    def threshold(**entailment: object) -> float:
        settings = Settings.model_validate({"entailment": entailment})
        return open_entailment(settings.entailment, lambda: pytest.fail("no judge")).threshold

    assert threshold(false_proofs=0.05) > threshold() > threshold(false_proofs=0.2)
    for clash in ({"threshold": 0.5}, {"model": "factcg"}):
        with pytest.raises(SettingsError, match="false_proofs"):
            threshold(false_proofs=0.05, **clash)
