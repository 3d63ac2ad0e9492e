"""The values are frozen, JSON-able and add up."""

import pytest
from pydantic import ValidationError

from citeproof import Answer, Citation, Claim, Passage, Usage, Verdict

ANSWER = Answer(
    question="Who built it?",
    method="vtg",
    status="answered",
    text="Ann built it [1].",
    claims=(
        Claim(
            text="Ann built it.",
            citations=(Citation(passage_id="p", number=1, sentence="Ann built it in 1900."),),
            verdict=Verdict(status="supported", tier="cited", score=0.9, trials=2),
        ),
    ),
    passages=(Passage(id="p", text="Ann built it in 1900.", title="The tower"),),
    usage=Usage(llm_calls=3),
)


def test_an_answer_survives_json() -> None:
    assert Answer.model_validate_json(ANSWER.model_dump_json()) == ANSWER


def test_values_are_frozen_and_know_their_fields() -> None:
    with pytest.raises(ValidationError):
        ANSWER.text = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Usage.model_validate({"calls": 1})


def test_usages_add_up() -> None:
    total = Usage(llm_calls=1, prompt_tokens=10, seconds=0.5) + Usage(llm_calls=2, nli_pairs=3)
    assert total == Usage(llm_calls=3, prompt_tokens=10, nli_pairs=3, seconds=0.5)


def test_the_premise_has_a_title_line_where_there_is_a_title() -> None:
    assert Passage(id="p", text="It is old.", title="Tower").premise == "Title: Tower\nIt is old."
    assert Passage(id="p", text="It is old.").premise == "It is old."


def test_ids_depend_on_source_place_and_text() -> None:
    ids = {Passage.make_id("a", "t"), Passage.make_id("b", "t"), Passage.make_id("a", "t", 5)}
    assert len(ids) == 3
    assert Passage.make_id("a", "t") == Passage.make_id("a", "t")
