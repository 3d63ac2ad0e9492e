"""Whether the passages answer is asked before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.answerability_verifier import AnswerabilityVerifier
from citeproof.testing import ListRetriever, TableEntailment
from tests.agents.states import A, B, C, state

D = Passage(id="d", title="Storm", text="A storm broke the lamp in 1902.")


def node(score: dict[str, float], found: list[Passage] | None = None) -> Any:
    model = TableEntailment(lambda text, _: next((s for k, s in score.items() if k in text), 0.1))
    retriever = None if found is None else ListRetriever(lambda _: found)
    return AnswerabilityVerifier(retriever, model)


async def test_a_memory_that_answers_stays() -> None:
    verifier = node({"Tower": 0.6})
    expected = {"answerable": True, "passages": [A, B, C], "long_term": ["a", "b"]}
    assert await verifier(state()) == expected
    assert verifier.answerability.pairs[0].hypothesis == "Who built the tower?"


async def test_two_passages_can_answer_together() -> None:
    def score(text: str, _: str) -> float:
        return 0.8 if "Tower" in text and "Light" in text else 0.3

    sure = AnswerabilityVerifier(answerability=TableEntailment(score))
    assert (await sure(state()))["answerable"] is True
    doubtful = AnswerabilityVerifier(
        answerability=TableEntailment(lambda *args: score(*args) - 0.1)
    )
    assert (await doubtful(state()))["answerable"] is False


async def test_what_answers_further_down_comes_into_the_memory() -> None:
    update = await node({"Storm": 0.9}, [A, B, C, D])(state())
    assert (update["answerable"], update["long_term"]) == (True, ["a", "d"])
    assert update["passages"] == [A, D, B, C]


async def test_further_down_a_passage_must_answer_surely() -> None:
    update = await node({"Storm": 0.7}, [A, B, C, D])(state())
    assert (update["answerable"], update["long_term"]) == (False, ["a", "d"])


async def test_what_answers_is_shown_before_what_the_search_had_first() -> None:
    update = await node({"Storm": 0.9, "Keeper": 0.5}, [A, B, C, D])(
        state(long_term=["a", "b", "c"])
    )
    assert (update["answerable"], update["long_term"]) == (True, ["a", "d", "c"])


@pytest.mark.parametrize(
    "verifier",
    [
        AnswerabilityVerifier(),
        AnswerabilityVerifier(answerability=TableEntailment({}), check_answer=False),
    ],
)
async def test_nobody_is_asked_where_nobody_is_to_be(verifier: AnswerabilityVerifier) -> None:
    assert await verifier(state()) == {"answerable": None}
