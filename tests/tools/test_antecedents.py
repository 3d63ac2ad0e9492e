"""A claim that opens with a pronoun is checked for what the pronoun stands for."""

from __future__ import annotations

import pytest

from citeproof.testing import TableEntailment
from citeproof.tools.entailment import find_support
from citeproof.tools.entailment.antecedents import name_pronoun
from citeproof.types import Passage

NOTES = Passage(id="a", title="Lamp Notes", text="Lamp Notes keeps texts. It merges changes.")


@pytest.mark.parametrize(
    ("claim", "before", "names"),
    [
        ("It is lit.", "What is Pellow Head?", ["Pellow Head"]),
        ("It is lit.", "What is the lamp?", [""]),
        ("It is lit.", "What is Pellow? The lamp is hot.", ["The lamp"]),
        ("It is wise to wait.", "The tower is old.", [""]),
        ("It was Bo Ray who lit it.", "The tower is old.", [""]),
        ("It is strongly recommended that you wait.", "The tower is old.", [""]),
        ("It was built to last.", "The tower is old.", ["The tower"]),
        (
            "It is lit.",
            "The tower was built by Ann Lee. It was her first.",
            ["The tower", "Ann Lee"],
        ),
        ("They met.", "The keepers and masons must report.", ["The keepers and masons"]),
        ("Its lamp is lit.", "A tower can be old.", ["The tower"]),
        ("She left.", "In May 1871, Ann Lee was hired by Bo Ray.", ["Ann Lee", "Bo Ray"]),
        ("It is lit.", "", [""]),
        ("It is lit.", "It is hot. It is old.", [""]),
        ("Lit, it is hot.", "The tower is old.", [""]),
        ("Italy is hot.", "The tower is old.", [""]),
    ],
)
def test_a_pronoun_stands_for_what_is_named_before_it(
    claim: str, before: str, names: list[str]
) -> None:
    readings = name_pronoun(claim, before)
    assert [one.name for one in readings] == names
    assert all(one.text == claim or one.text.startswith(one.name) for one in readings)


async def test_what_is_said_of_one_thing_does_not_prove_it_of_another() -> None:
    model = TableEntailment(lambda *_: 0.9)
    asked = model, "", {1: NOTES}, "It merges changes."
    assert (await find_support(*asked, before="Ship Play is handy.")).holds is False
    assert (await find_support(*asked, before="Lamp Notes is handy.")).holds
    assert {pair.hypothesis for pair in model.pairs} == {"Lamp Notes merges changes."}


async def test_the_question_may_name_it_and_a_quote_names_it_itself() -> None:
    model = TableEntailment(lambda *_: 0.9)
    assert not (await find_support(model, "What is Ship Play?", {1: NOTES}, "It is good.")).holds
    said = "Lamp Notes keeps texts."
    assert (await find_support(model, "", {1: NOTES}, "It merges changes.", before=said)).holds
    assert {pair.hypothesis for pair in model.pairs} == {"It merges changes."}
