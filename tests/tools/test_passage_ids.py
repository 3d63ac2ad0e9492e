"""Passages from several places that share an id."""

from __future__ import annotations

from citeproof.tools.passage_ids import tell_apart
from citeproof.types import Passage


def told_apart(*groups: list[Passage]) -> list[list[str]]:
    return [[passage.id for passage in group] for group in tell_apart(groups)]


def test_pieces_of_one_document_get_ids_that_no_other_passage_has() -> None:
    one, two, three = (Passage(id="a", text=text) for text in ("one", "two", "three"))
    other = Passage(id="2:a", text="other")

    assert told_apart([one, two], [other, one], [three]) == [["a", "3:a"], ["2:a", "a"], ["4:a"]]


def test_one_text_found_twice_keeps_its_id_whatever_else_is_known_of_it() -> None:
    found = Passage(id="a", text="It is old.", source="x.md")
    again = found.model_copy(update={"title": "X", "boxes": []})

    assert told_apart([found], [again, Passage(id="b", text="It is white.")]) == [["a"], ["a", "b"]]
