"""Answers as text: how a model is told to write them, and how its text becomes claims."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from typing_extensions import TypedDict

from citeproof import LLM
from citeproof.runtime.events import ClaimDelta
from citeproof.testing import ScriptedChatModel
from citeproof.tools.citations.answer_text import (
    citing_instruction,
    introduce,
    marked_claim,
    piece_teller,
    read_claims,
    written_out,
)
from citeproof.tools.citations.cited_json import answer_schema
from citeproof.types import Citation, Claim, Verdict
from tests.agents.states import A, B, C, D, numbered
from tests.chain import chain

UNCHECKED = Verdict(status="unchecked", reason="nothing has checked this claim")
PASSAGES = {1: A, 2: B, 3: C, 4: D}
JSON = '{"answer": [{"sentence": "Ann built it.", "passages": [1, 9]}]}'


# How a model is told to cite


def test_marks_are_asked_for_with_a_number_that_a_passage_bears() -> None:
    words, schema = citing_instruction(LLM(ScriptedChatModel([])), {7: A, 2: B})
    assert schema is None
    assert "such as [2]" in words
    assert "numbered 2, 7." in words


@pytest.mark.parametrize("empty", [True, False])
def test_json_is_asked_for_with_its_schema(empty: bool) -> None:
    llm = LLM(ScriptedChatModel([]), answers_in_json=True)
    words, schema = citing_instruction(llm, {7: A, 2: B}, empty=empty)
    assert schema == answer_schema({2: B, 7: A}, most=3, empty=empty)
    assert '{"answer": [{"sentence"' in words
    assert "2, 7" in words


def test_a_demonstration_stands_behind_words_that_say_what_it_is() -> None:
    words = "An example of such an answer, to another question from other passages:"
    assert introduce("E") == f"{words}\nE\n\n"
    assert introduce("E", "So:") == "So:\nE\n\n"
    assert introduce("") == introduce("", "So:") == ""


# What is told while it comes


async def told(*pieces: str) -> list[str]:
    """The texts that a run tells, one list for all pieces."""

    class Own(TypedDict):
        question: str

    def say(_: Any) -> Own:
        tell = piece_teller()
        for piece in pieces:
            tell(piece)
        return {"question": ""}

    graph = chain(Own, say=RunnableLambda(say)).compile()
    stream = graph.astream({"question": "Who?"}, stream_mode="custom")
    events: list[Any] = [event async for event in stream]
    assert all(isinstance(event, ClaimDelta) for event in events)
    return [event.text for event in events]


async def test_text_is_told_piece_by_piece() -> None:
    assert await told("Ann ", "built it ", "[1].") == ["Ann ", "built it ", "[1]."]


async def test_of_json_only_what_the_sentences_say_is_told() -> None:
    assert "".join(await told(*JSON)) == "Ann built it."
    assert await told(JSON, "\n") == ["Ann built it."]


# Claims


def test_a_claim_quotes_the_sentence_that_supports_it_where_there_is_one() -> None:
    said = "It is white."
    one, three = (
        Citation(passage_id="a", number=1, sentence=said),
        Citation(passage_id="c", number=3),
    )
    claim = Claim(text=said, citations=(one, three), verdict=UNCHECKED)
    assert marked_claim(said, [1, 3], PASSAGES) == claim


@pytest.mark.parametrize(
    ("form", "reply", "claims"),
    [
        ("prose", "One [9][4][2][1][3]. Two.", [("One.", [4, 2, 1]), ("Two.", [])]),
        ("prose", "One, as stated in passage 1.", [("One.", [1])]),
        ("prose", JSON, [("Ann built it.", [1])]),
        ("prose", "One [2]. Two [1]. One [3]. One.", [("One.", [2]), ("Two.", [1])]),
        ("list", "Ann [9][2][1], Cy [3], Bo", [("Ann", [2]), ("Cy", [3]), ("Bo", [])]),
        ("short", "June 5, 1871 [2][9][1].\nIt rained.", [("June 5, 1871", [2, 1])]),
        ("prose", "", []),
        ("list", "", []),
        ("short", "", []),
    ],
)
def test_a_reply_is_read_by_its_form(form: Any, reply: str, claims: Any) -> None:
    assert numbered(read_claims(reply, PASSAGES, form)) == claims


# Written out again


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("prose", "One [2][1]. Two."),
        ("prose", ""),
        ("list", "Rome [1], Bonn [2], Oslo, Kyiv"),
        ("short", "Rome [1]"),
    ],
)
def test_what_is_written_out_is_read_again(form: Any, text: str) -> None:
    assert written_out(read_claims(text, PASSAGES, form), form) == text


def test_names_without_marks_stand_last() -> None:
    claims = read_claims("Oslo [9], Bonn [2], Kyiv", PASSAGES, "list")
    assert [claim.text for claim in claims] == ["Oslo", "Bonn", "Kyiv"]
    assert written_out(claims, "list") == "Bonn [2], Oslo, Kyiv"
