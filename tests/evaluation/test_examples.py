"""The values that evaluation passes around."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from citeproof.evaluation.examples import Example, Output


def test_values_are_frozen_and_have_no_other_fields() -> None:
    output = Output(question="Who?", text="Ann [1].")
    with pytest.raises(ValidationError, match="frozen"):
        output.text = "Bo."  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Output.model_validate({"question": "Who?", "text": "", "docs": []})
    with pytest.raises(ValidationError, match="asqa.*qampari.*eli5.*qa"):
        Example.model_validate({"id": "1", "question": "Who?", "task": "trivia"})
