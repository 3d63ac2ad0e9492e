"""The values that evaluation passes around."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from citeproof.evaluation.examples import Example, Output
from citeproof.testing import passage


def test_an_example_survives_json() -> None:
    own = Example(
        id="1",
        question="Who?",
        task="asqa",
        answers=(("Ann", "A. Lee"), ("Bo",)),
        sub_questions=("Who built it?", "Who kept it?"),
        references=("Ann built it, Bo kept it.",),
        gold=("p1",),
        documents=(passage("Ann built it.", title="Tower"),),
        raw={"question": "Who?", "extra": [1, {"two": None}]},
    )
    assert Example.model_validate_json(own.model_dump_json()) == own
    assert (own.answerable, own.claims) == (True, ())


def test_values_are_frozen_and_have_no_other_fields() -> None:
    output = Output(question="Who?", text="Ann [1].")
    with pytest.raises(ValidationError, match="frozen"):
        output.text = "Bo."  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Output.model_validate({"question": "Who?", "text": "", "docs": []})
    with pytest.raises(ValidationError, match="asqa.*qampari.*eli5.*qa"):
        Example.model_validate({"id": "1", "question": "Who?", "task": "trivia"})
