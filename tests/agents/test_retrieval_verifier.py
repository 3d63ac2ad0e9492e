"""The retrieval verifier judges the chosen passages as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.retrieval_verifier import MissingInfo, RetrievalRecorder, RetrievalVerifier
from citeproof.state import Retrieval, SearchRound, Swap
from citeproof.testing import Choice, ScriptedChatModel
from tests.agents.one_node import asking, noted
from tests.agents.states import BY_NAME, search_state
from tests.graphs.llatrieval_scripts import shown


async def verdict(node: RetrievalVerifier) -> SearchRound:
    rounds: list[SearchRound] = (await node(search_state()))["rounds"]
    return rounds[-1]


@pytest.mark.parametrize(
    ("reply", "sufficient"),
    [
        ("Yes", True),
        ("No", False),
        (Choice(Yes=0.6, No=0.4), True),
        (Choice(Yes=0.4, No=0.6), False),
        (Choice(Yes=0.5, No=0.5), False),
    ],
)
async def test_by_class(reply: Any, sufficient: bool) -> None:
    node, _ = asking(RetrievalVerifier, reply)
    done = await verdict(node)
    assert (done.sufficient, done.score) == (sufficient, None)


@pytest.mark.parametrize("reply", ["Maybe", "Yesterday", "", "[YES]"])
async def test_neither_yes_nor_no_is_not_verified(reply: str) -> None:
    node, _ = asking(RetrievalVerifier, reply, reply)
    done, notes = await noted(verdict(node))
    assert done.sufficient is False
    assert any(note.startswith("retrieval_verifier: counted as not") for note in notes)


@pytest.mark.parametrize(
    ("score", "threshold", "sufficient"),
    [(7, 7.0, True), (6.9, 7.0, False), (0, 0.0, True), (10, 10.0, True), (9, 10.0, False)],
)
async def test_by_score(score: float, threshold: float, sufficient: bool) -> None:
    node, _ = asking(RetrievalVerifier, {"score": score}, verification="score", threshold=threshold)
    done = await verdict(node)
    assert (done.sufficient, done.score) == (sufficient, score)


@pytest.mark.parametrize(
    "reply",
    ["seven", '{"score": "high"}', '{"score": 70}', '{"score": -1}', '{"score": NaN}', "{}"],
)
async def test_a_score_that_is_no_number_of_the_scale_is_not_verified(reply: str) -> None:
    node, model = asking(RetrievalVerifier, reply, reply, verification="score", threshold=0.0)
    done, [note] = await noted(verdict(node))
    assert (done.sufficient, done.score) == (False, None)
    assert (len(model.calls), note.split(":")[0]) == (2, "retrieval_verifier")


async def test_no_passages_suffice_for_nothing_without_a_call() -> None:
    node, model = asking(RetrievalVerifier)
    update = await node(search_state(long_term=[]))
    assert update["rounds"][-1].sufficient is False
    assert model.calls == []


# What was chosen, and whether it suffices


YES = SearchRound(query="Who?", found=8, new=8, sufficient=True)
NO = SearchRound(query="Who?", found=8, new=8, sufficient=False)
OPEN = SearchRound(query="Who?", found=8, new=8)
SPENT = "The budget of 3 calls is spent."
SUFFICE = "The passages were found to suffice."


async def recorded(**changes: Any) -> Any:
    return await RetrievalRecorder()(search_state(**{"waiting": [], **changes}))


async def test_chosen_passages_stand_in_their_order() -> None:
    swap = Swap(round=1, entered=(BY_NAME["b"],))
    assert await recorded(long_term=["b", "a"], rounds=[NO, YES], swaps=[swap]) == {
        "retrieval": Retrieval(
            verified=True,
            reason=SUFFICE,
            candidates=8,
            passages=(BY_NAME["b"], BY_NAME["a"]),
            rounds=(NO, YES),
            swaps=(swap,),
        ),
        "doubt": "",
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rounds": [NO]}, "The passages were not found to suffice after 1 round."),
        ({"rounds": [NO, OPEN]}, "The passages were not found to suffice after 2 rounds."),
        ({"rounds": [NO], "stop": SPENT}, SPENT),
        ({"rounds": [], "stop": SPENT, "long_term": [], "passages": []}, SPENT),
        (
            {"rounds": [NO], "long_term": [], "passages": []},
            "No passage was found for the question.",
        ),
    ],
)
async def test_an_answer_from_passages_that_do_not_suffice_is_in_doubt(
    changes: dict[str, Any], reason: str
) -> None:
    update = await recorded(**changes)
    assert update["doubt"] == reason
    assert (update["retrieval"].verified, update["retrieval"].reason) == (False, reason)


async def test_a_budget_spent_after_the_search_leaves_it_verified() -> None:
    update = await recorded(rounds=[YES], stop=SPENT)
    assert (update["retrieval"].verified, update["retrieval"].reason) == (True, SUFFICE)
    assert update["doubt"] == ""


# What the chosen passages lack


def node(reply: str, **knobs: Any) -> tuple[MissingInfo, ScriptedChatModel]:
    return asking(MissingInfo, reply, **knobs)


@pytest.mark.parametrize(
    ("reply", "query"),
    [
        ("Bo Ray kept it. He left in 1902.", "Bo Ray kept it. He left in 1902."),
        ("Bo Ray kept it.\n\nHe left.", "Bo Ray kept it. He left."),
        ("Passage: Bo Ray kept it [1].", "Bo Ray kept it."),
        ('**Missing passage:** "Bo Ray kept it."', "Bo Ray kept it."),
    ],
)
async def test_a_pseudo_passage(reply: str, query: str) -> None:
    writer, model = node(reply)
    assert await writer(search_state()) == {"query": query}
    assert "as a short passage" in model.calls[0].prompt
    assert shown(model.calls[0].prompt) == ["a", "b"]


@pytest.mark.parametrize(
    "reply", ["Who was Bo?", "\nWho was Bo?\nWho was Al?", 'Question: "Who was Bo?"']
)
async def test_a_question(reply: str) -> None:
    writer, model = node(reply, query_style="question")
    assert await writer(search_state()) == {"query": "Who was Bo?"}
    assert "one new question" in model.calls[0].prompt


async def test_before_the_first_search_it_is_a_hypothetical_answer_in_either_style() -> None:
    writer, model = node("Bo Ray kept it.", query_style="question")
    update = await writer(search_state(long_term=[], passages=[], rounds=[]))
    assert update == {"query": "Bo Ray kept it."}
    assert "as a short passage" in model.calls[0].prompt
    assert "(none)" in model.calls[0].prompt


@pytest.mark.parametrize("reply", ["", "  ", "Question:", "[1]", '""'])
async def test_an_empty_reply_leaves_the_question(reply: str) -> None:
    writer, _ = node(reply)
    update, [note] = await noted(writer(search_state(query="x")))
    assert (update, note.split(":")[0]) == ({"query": "Who?"}, "missing_info")
