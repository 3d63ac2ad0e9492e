"""Rivals of a claim: which there are, and what their lead costs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair
from citeproof.tools.entailment.answerability import Answerability
from citeproof.tools.entailment.close_reader import CloseReader
from citeproof.tools.entailment.opposites import turn_around
from citeproof.tools.entailment.rivals import find_rivals, subtract_leads

OIL = (
    "The Netherlands faced an embargo in 1973, unlike the United Kingdom. The United Kingdom had "
    "been an ally of Israel for six decades."
)
CLAIM = "The Netherlands was an ally of Israel."
RIVAL = "The United Kingdom was an ally of Israel."


@pytest.mark.parametrize(
    ("claim", "rivals"),
    [
        (CLAIM, [RIVAL, "The Netherlands was an ally of United Kingdom."]),
        ("The embargo began in 1974.", ["The embargo began in 1973."]),
        ("They were allies for four decades.", ["They were allies for six decades."]),
        ("They were allies of the United States.", ["They were allies of the Israel."]),
        ("Allies help each other.", []),
    ],
)
def test_rivals_have_another_name_or_number_of_the_premise(claim: str, rivals: list[str]) -> None:
    found = find_rivals(claim, OIL)
    assert [rival for rival in rivals if rival in found] == rivals
    assert bool(found) == bool(rivals)
    assert claim not in found


@pytest.mark.parametrize(
    ("claim", "premise", "rivals"),
    [
        ("It left 13 dead.", "It left 3 dead and 13 hurt.", ["It left 3 dead."]),
        ("It was in Annapolis.", "It was near Ann.", ["It was in Ann."]),
        ("It rose by 13.5 m.", "It rose by 3 m.", ["It rose by 3 m."]),
        ("It rose by 13.5 m.", "It rose by 12.5 m.", ["It rose by 12.5 m."]),
        ("It has 1,200 seats.", "It has 1,500 seats.", ["It has 1,500 seats."]),
        ("It has 1,200 seats.", "It has 1200 seats.", []),
        ("Ann Lee met Bo Ray.", "It was here that Ann met Bo Ray.", []),
        ("It is 6km off.", "It is 8km off, 9m high.", ["It is 8km off."]),
        ("It came 6th.", "It came 2nd of 8 in 3km.", ["It came 2nd."]),
    ],
)
def test_a_part_of_a_word_or_number_of_the_claim_is_a_rival(
    claim: str, premise: str, rivals: list[str]
) -> None:
    assert sorted(find_rivals(claim, premise)) == sorted(rivals)


def test_many_names_leave_room_for_numbers_and_years() -> None:
    players = ", ".join(f"Bo{letter * 3}" for letter in "abcdefghijklmnopqrstuvwxyz")
    premise = f"Those who played were {players}. They scored 12 goals in 1991."
    found = find_rivals("In the end Ann Lee and Bo Ray scored 15 goals in 1990.", premise)
    assert len(found) == 24
    assert "In the end Ann Lee and Bo Ray scored 12 goals in 1990." in found
    assert "In the end Ann Lee and Bo Ray scored 15 goals in 1991." in found


def test_a_claim_as_long_as_a_list_has_fewer_rivals() -> None:
    names = [f"{one}{two}leigh" for one in ("An", "Bo", "Cy") for two in "abcdefghijklmnopqrst"]
    premise = f"Not among them were {', '.join(names[:30])}."
    short, long = (f"Those who played were {', '.join(names[30:n])}." for n in (40, 60))
    assert (len(short) < 300, len(long) >= 300) == (True, True)
    assert (len(find_rivals(short, premise)), len(find_rivals(long, premise))) == (24, 8)


def test_commands_that_share_a_word_are_rivals() -> None:
    said = "Use `git rm --cached`, not `git reset`, and press Ctrl+S."
    assert "To stop, use `git rm --cached`." in find_rivals("To stop, use `git reset`.", said)
    assert "Press Ctrl+S." in find_rivals("Press Ctrl+Z.", said)


@pytest.mark.parametrize(
    ("claim", "premise", "turned"),
    [
        ("Too much iron harms.", "Too little iron harms.", ["Too little iron harms."]),
        ("Always knock.", "Never knock.", ["Never knock."]),
        ("It stays open.", "The gate is closed.", ["It stays closed."]),
        (
            "More rain fell.",
            "Less rain fell, fewer storms came.",
            ["Less rain fell.", "Fewer rain fell."],
        ),
        ("It was officially closed.", "It was unofficially shut.", ["It was unofficially closed."]),
        ("It is unsafe.", "A safe bridge", ["It is safe."]),
        ("Too much iron harms.", "Too much harms, as does too little.", []),
        ("The first and the last won.", "The last lost.", ["The first and the last lost."]),
        ("The mostly dry north", "The least of the south", ["The mostly dry south"]),
        ("Iron harms.", "Too little iron harms.", []),
    ],
)
def test_a_claim_turned_around_has_an_opposite_of_the_premise(
    claim: str, premise: str, turned: list[str]
) -> None:
    assert turn_around(claim, premise) == turned
    assert find_rivals(claim, premise)[: len(turned)] == turned


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("What does too much iron do?", False),
        ("What does too little iron do?", True),
        ("Does too much iron harm?", True),  # "no, too little does" answers it
    ],
)
def test_a_text_that_answers_the_opposite_question_does_not_answer(
    question: str, answers: bool
) -> None:
    table = TableEntailment(lambda _, asked: 0.9 if "little" in asked else 0.7)
    pair = Pair("Too little iron harms.", question)
    [score] = asyncio.run(Answerability(table).scores([pair]))
    assert (score >= table.threshold) is answers


@pytest.mark.parametrize(
    ("rivals", "score"),
    [([], 0.8), ([0.3, 0.8], 0.8), ([0.83], 0.8), ([0.3, 0.9], 0.6114), ([0.95], 0.1433)],
)
async def test_the_lead_of_the_best_rival_is_held_against_a_claim(
    rivals: list[float], score: float
) -> None:
    """Beyond what is chance."""
    table = {"0.8": 0.8} | {str(rival): rival for rival in rivals}

    async def read(pairs: Sequence[Pair]) -> dict[Pair, float]:
        return {pair: table[pair.hypothesis] for pair in pairs}

    found = await subtract_leads(
        [Pair("p", "0.8")], [0.8], 0.5, lambda *_: list(map(str, rivals)), read
    )
    assert found == pytest.approx([score], abs=1e-3)


@pytest.mark.parametrize(("claim", "proved"), [(CLAIM, False), (RIVAL, True)])
def test_a_close_reader_accepts_only_the_better_one_of_two_rivals(claim: str, proved: bool) -> None:
    table = TableEntailment(lambda _, claim: 0.8 if claim == CLAIM else 0.92)
    [score] = asyncio.run(CloseReader(table).scores([Pair(OIL, claim)]))
    assert (score >= table.threshold) is proved
