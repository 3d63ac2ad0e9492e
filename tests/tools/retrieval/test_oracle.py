"""Passages that the gold answers choose."""

from __future__ import annotations

from citeproof.testing import TableEntailment, passage
from citeproof.tools.retrieval.oracle import oracle_passages, oracle_passages_for_claims

ONE = passage("Ann Lee built it.", id="one")
TWO = passage("Bo Ray built it, and Cy Fox.", id="two")
BOTH = passage("Ann Lee and Bo Ray.", id="both")
NONE = passage("Cats sleep.", id="none")
LIST = [NONE, ONE, TWO, BOTH]


def chosen(answers: list[list[str]], k: int = 5) -> list[str]:
    return [found.id for found in oracle_passages(LIST, answers, k)]


def test_each_time_the_passage_with_the_most_new_answers_is_taken() -> None:
    assert chosen([["Ann Lee"], ["Bo Ray"], ["Cy Fox"]], 2) == ["two", "one"]
    assert chosen([["Ann Lee"], ["Bo Ray"]], 2) == ["both", "none"], "then the order counts"


def test_any_alias_counts_and_an_answer_only_once() -> None:
    assert chosen([["A. Lee", "Ann Lee"], ["Bo Ray", "Ray"]], 1) == ["both"]


def test_aliases_are_compared_word_by_word() -> None:
    assert [chosen([[alias]], 1) for alias in ("the ANN LEE!", "Ann, Lee")] == [["one"]] * 2
    assert [chosen([[alias]], 1) for alias in ("nn Le", "the", "")] == [["none"]] * 3


def test_titles_are_read_too() -> None:
    titled = passage("She built it.", title="Ann Lee", id="titled")
    assert oracle_passages([NONE, titled], [["Ann Lee"]], 1) == [titled]


def test_without_answers_the_order_stays() -> None:
    assert chosen([], 3) == ["none", "one", "two"]
    assert oracle_passages([], [["x"]]) == []


async def test_claims_are_held_where_they_are_entailed() -> None:
    entailment = TableEntailment({("Cats sleep", "Cats rest."): 0.9, ("Bo Ray", "Ray was."): 0.6})
    found = await oracle_passages_for_claims(LIST, ["Ray was.", "Cats rest."], entailment, 2)
    assert [one.id for one in found] == ["none", "two"]
    assert entailment.batches == [8]
