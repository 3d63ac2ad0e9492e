"""Answers as JSON are read whole, cut off, or as badly as models write them."""

from __future__ import annotations

import json
import time

import pytest

from citeproof.tools.citations.cited_json import (
    MOST_SENTENCES,
    answer_json,
    answer_schema,
    is_answer_json,
    read_answer_json,
)
from citeproof.tools.citations.marked_text import MarkedSentence

TOWER = {"sentence": "Ann Lee built the tower.", "passages": [2, 1, 2]}
LIT = {"sentence": "It was lit in 1871.", "passages": [3]}
READ = [MarkedSentence("Ann Lee built the tower.", (2, 1)), ("It was lit in 1871.", (3,))]


def reply(*items: object) -> str:
    return json.dumps({"answer": items})


def test_sentences_are_read_with_their_numbers_each_once() -> None:
    assert read_answer_json(reply(TOWER, LIT)) == READ


@pytest.mark.parametrize(
    "around",
    [
        *("{}", "```json\n{}\n```", "\n {}  ", "```\n{}```", "{}\n\nI used [1] only."),
        *("Here is the answer:\n\n{}", "As set out [1]:\n```json\n{}\n```\nAsk me more."),
    ],
)
@pytest.mark.parametrize("whole", [reply(TOWER, LIT), json.dumps([TOWER, LIT])])
def test_a_fence_or_a_word_around_it_is_no_part_of_it(around: str, whole: str) -> None:
    """The list of sentences may stand alone."""
    text = around.replace("{}", whole)
    assert is_answer_json(text)
    assert read_answer_json(text) == READ


@pytest.mark.parametrize(
    "text",
    ["Ann Lee built it [1].", "", "[1] {", "Answer: {x}", 'Send {"answer": 1} to it [2].'],
)
def test_text_with_marks_is_not_json(text: str) -> None:
    assert not is_answer_json(text)


def test_of_a_reply_that_is_cut_off_the_whole_sentences_are_read() -> None:
    whole = reply(TOWER, LIT)
    assert read_answer_json(whole[: whole.index("It was") + 10]) == READ[:1]
    assert read_answer_json(whole[: whole.index("3]")]) == [READ[0], ("It was lit in 1871.", ())]


def test_a_cut_sentence_is_read_where_it_is_the_only_one() -> None:
    [sentence] = read_answer_json('{"answer": [{"sentence": "Ann Lee built the')
    assert sentence == ("Ann Lee built the", ())


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Ann Lee built it [7].", ["Ann Lee built it."]),
        ("Ann built it. It is made of stone.", ["Ann built it.", "It is made of stone."]),
    ],
)
def test_the_sentences_in_one_place_cite_its_passages(said: str, read: list[str]) -> None:
    """Marks in it count for nothing, and a bare number is a list of one."""
    item = {"sentence": said, "passages": 1}
    assert read_answer_json(reply(item)) == [(text, (1,)) for text in read]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"answer": null}',
        '{"answer": "Ann Lee"}',
        '{"answer": ["Ann Lee", 3, null, {"passages": [1]}, {"sentence": 5, "passages": [1]}]}',
        '{"answer": [{"sentence": " ... ", "passages": [1]}]}',
        '{"answer": ' + "[" * 5000,
        "{" * 100_000,
        "\n" * 100_000,
        "{not json at all",
    ],
)
def test_what_holds_no_sentence_is_no_answer_at_once(text: str) -> None:
    began = time.process_time()
    assert read_answer_json(text) == []
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("numbers", "read"),
    [
        (None, ()),
        ("one", ()),
        ({}, ()),
        ([None, "T2", 1.5, True, {}, "9" * 5000], ()),
        (["2", "[1]", 2], (2, 1)),
    ],
)
def test_a_number_may_be_a_text_or_a_mark(numbers: object, read: tuple[int, ...]) -> None:
    item = {"sentence": "Ann Lee built it.", "passages": numbers}
    assert read_answer_json(reply(item)) == [("Ann Lee built it.", read)]


def test_what_is_written_is_read_again() -> None:
    sentences = [MarkedSentence("Zoë said “no”.", (1, 3)), MarkedSentence("So it is.", ())]
    assert read_answer_json(answer_json(sentences)) == sentences


@pytest.mark.parametrize("empty", [True, False])
def test_the_schema_allows_only_numbers_that_there_are(empty: bool) -> None:
    answer = answer_schema([7, 2], most=3, empty=empty)["properties"]["answer"]
    passages = answer["items"]["properties"]["passages"]
    assert passages["items"]["enum"] == [2, 7]
    assert (passages["minItems"], passages["maxItems"]) == (1, 3)
    assert (answer["minItems"], answer["maxItems"]) == (0 if empty else 1, MOST_SENTENCES)


def test_what_stands_past_the_most_places_is_not_read() -> None:
    """Two sentences in one place take none from the places after it."""
    items = [{"sentence": f"{n} is told. So is {n}.", "passages": [n]} for n in range(9)]
    read = read_answer_json(reply(*items))
    assert [numbers for _, numbers in read] == [(n,) for n in range(MOST_SENTENCES) for _ in "ab"]
