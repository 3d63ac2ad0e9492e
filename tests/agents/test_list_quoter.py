"""A question for several things is answered with the list of a passage, if the list answers."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.list_quoter import ListQuoter
from citeproof.errors import VerifierOutageError
from citeproof.testing import TableEntailment
from citeproof.types import Citation, Claim, Verdict
from tests.agents.states import state

TURN = Passage(
    id="turn",
    title="Rules",
    text="Take turns.\n\nDo two of these.\n- Sail: play a card.\n- Rest: draw a card.",
)
SETUP = Passage(id="setup", title="Setup", text="1. Shuffle the cards.\n2. Deal four to each.")


def asked(question: str = "What can I do on my turn?", **more: Any) -> Any:
    given = {"question": question, "passages": [SETUP, TURN], "long_term": ["setup", "turn"]}
    return state(**{**given, **more})


def answers(score: float = 0.9, text: str = "Sail") -> TableEntailment:
    return TableEntailment(lambda premise, _: score if text in premise else 0.1)


def claim(text: str, sentence: str, number: int, passage: str) -> Claim:
    citation = Citation(passage_id=passage, number=number, sentence=sentence)
    proved = Verdict(status="supported", tier="cited", score=1.0)
    return Claim(text=text, citations=(citation,), verdict=proved)


async def test_the_list_that_answers_is_the_answer() -> None:
    said = ["Do two of these.", "Sail: play a card.", "Rest: draw a card."]
    assert await ListQuoter(answers())(asked()) == {
        "claims": [claim(text, text, 2, "turn") for text in said]
    }


async def test_a_list_without_an_introduction_begins_with_its_items() -> None:
    update: Any = await ListQuoter(answers(text="Shuffle"))(asked("How do I set up the game?"))
    assert [claim.text for claim in update["claims"]] == [
        "Shuffle the cards.",
        "Deal four to each.",
    ]


@pytest.mark.parametrize(
    "given",
    [
        asked("Who begins?"),
        asked("What can I do on my turn, and who begins?"),
        asked(passages=[Passage(id="a", text="Do two things.")], long_term=["a"]),
        asked(
            passages=[Passage(id="a", text="- Sail: " + "far " * 150 + "\n- Rest")], long_term=["a"]
        ),
        asked(
            passages=[Passage(id="a", text="\n".join(f"- Sail {n}" for n in range(16)))],
            long_term=["a"],
        ),
        asked(passages=[Passage(id="a", text="- Sail   7\n- Rest   8")], long_term=["a"]),
    ],
)
async def test_nothing_else_is_quoted(given: Any) -> None:
    assert await ListQuoter(answers())(given) == {}


@pytest.mark.parametrize(
    ("title", "score", "quoted"),
    [
        ("Rules", 0.74, False),
        ("Rules", 0.75, True),
        ("Rules – Your turn", 0.49, False),
        ("Rules – Your turn", 0.5, True),
        ("My turn – Rules", 0.74, False),
    ],
)
async def test_a_list_that_is_not_named_in_the_question_must_surely_answer(
    title: str, score: float, quoted: bool
) -> None:
    passages = [SETUP, TURN.model_copy(update={"title": title})]
    given = asked(passages=passages)
    assert bool(await ListQuoter(answers(score))(given)) is quoted


async def test_without_a_model_nothing_is_quoted() -> None:
    assert await ListQuoter()(asked()) == {}


async def test_an_outage_leaves_the_question_to_the_writer() -> None:
    def fail(*_: str) -> float:
        raise VerifierOutageError("The model is gone")

    assert await ListQuoter(TableEntailment(fail))(asked()) == {}
