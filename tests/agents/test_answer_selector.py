"""The model picks the most consistent of several answers."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.answer_selector import AnswerReranker, AnswerSelector
from citeproof.errors import BudgetExceededError
from citeproof.testing import TableEntailment
from tests.agents.one_node import asking, noted
from tests.agents.states import BUILT, KEPT, LIT, A, claim, sampled

THREE = [[claim(BUILT, 1)], [claim(LIT, 2)], []]


async def test_the_chosen_sample_is_the_answer_as_it_was_written() -> None:
    node, model = asking(AnswerSelector, {"number": 2})
    assert await node(sampled(*THREE)) == {"claims": THREE[1]}
    [call] = model.calls
    assert "Answer 1: Ann Lee built the tower [1].\n\nAnswer 2: The tower was lit" in call.prompt
    assert "Answer 3: (no answer)" in call.prompt
    assert call.prompt.index(A.text) < call.prompt.index("These are 3 answers")


@pytest.mark.parametrize("replies", [("none", "none"), ({"number": 9},), ({"number": 0},) * 2])
async def test_a_reply_that_is_no_sample_keeps_the_first_and_is_noted(replies: Any) -> None:
    update, [note] = await noted(asking(AnswerSelector, *replies)[0](sampled(*THREE)))
    assert update == {"claims": THREE[0]}
    assert note.startswith("answer_selector: the first answer was kept")


async def test_lists_are_shown_as_lists() -> None:
    node, model = asking(AnswerSelector, {"number": 1}, form="list")
    await node(sampled([claim("Ann", 1), claim("Bo", 2)], []))
    assert "Answer 1: Ann [1], Bo [2]\n" in model.calls[0].prompt


# The sample with the highest citation recall, by the paper and by its program


TABLE = {("built", BUILT): 0.9, ("lit in 1871", LIT): 0.8}


async def test_the_answer_of_which_the_most_claims_are_proved_is_kept() -> None:
    entailment = TableEntailment(TABLE)
    half = [claim(BUILT, 1), claim(LIT, 1)]
    best = [claim(LIT, 2), claim(BUILT, 1)]
    update = await AnswerReranker(entailment)(sampled([], half, best, [claim(KEPT)], best[1:]))
    assert [(c.text, c.verdict.status) for c in update["claims"]] == [
        (LIT, "supported"),
        (BUILT, "supported"),
    ]
    assert entailment.batches == [5], "all samples in one batch; of equal ones the first is kept"


def spent(premise: str, hypothesis: str) -> float:
    raise BudgetExceededError("The budget of 4 calls is spent.")


@pytest.mark.parametrize(
    ("table", "status", "stop"),
    [({}, "unsupported", ""), (spent, "unchecked", "The budget of 4 calls is spent.")],
)
async def test_where_nothing_is_proved_the_paper_keeps_the_first_that_says_something(
    table: Any, status: str, stop: str
) -> None:
    samples = sampled([], [claim(BUILT, 1)], [claim(LIT, 2)])
    update = await AnswerReranker(TableEntailment(table))(samples)
    assert [(c.text, c.verdict.status) for c in update["claims"]] == [(BUILT, status)]
    assert update.get("stop", "") == stop


async def test_the_program_asks_all_passages_and_not_those_that_are_cited() -> None:
    wrong, uncited = [claim(LIT, 1)], [claim(BUILT)]
    node = AnswerReranker(TableEntailment(TABLE), definition="released")
    update = await node(sampled(uncited, wrong))
    assert update["claims"] == wrong, "as it was written: unchecked, with its own citations"
    paper = AnswerReranker(TableEntailment(TABLE))
    assert (await paper(sampled(uncited, wrong)))["claims"][0].text == BUILT


async def test_where_nothing_scores_the_program_gives_no_answer() -> None:
    node = AnswerReranker(TableEntailment({}), definition="released")
    update = await node(sampled([claim(BUILT, 1)], []))
    assert "claims" not in update
    assert update["stop"].startswith("No sample scored more than 0")


async def test_names_are_checked_behind_the_question() -> None:
    table = TableEntailment({("built", "Who built the tower? Ann Lee"): 0.9})
    update = await AnswerReranker(table, form="list")(
        sampled([claim("Bo Ray", 1)], [claim("Ann Lee", 1)])
    )
    assert [c.text for c in update["claims"]] == ["Ann Lee"]
