"""The examples that the baselines show are answers as they should be."""

from __future__ import annotations

import pytest

from citeproof.prompts import context
from citeproof.prompts.demonstrations import MOST, demonstrations
from citeproof.tools.citations.marked_list import read_marked_list, read_marked_name
from citeproof.tools.citations.marked_text import read_marked

READ = {"prose": read_marked, "list": read_marked_list, "short": read_marked_name}
FORMS = pytest.mark.parametrize("form", READ)


@FORMS
def test_there_are_two_of_each_form_whose_claims_cite_their_three_passages(form: str) -> None:
    assert len(demonstrations(form)) == MOST
    for example in demonstrations(form):
        assert list(example.passages) == [1, 2, 3]
        assert all(passage.title and passage.text for passage in example.passages.values())
        assert example.question.endswith("?")
        assert example.reasoning
        claims = READ[form](example.answer)
        assert claims
        for claim in claims:
            assert {*claim.numbers} <= {1, 2, 3}
            assert 1 <= len(claim.numbers) <= (1 if form == "list" else 3)


@FORMS
def test_they_are_as_short_as_is_said(form: str) -> None:
    shown = [context(e.question, e.passages) + e.answer for e in demonstrations(form)]
    assert sum(map(len, shown)) <= 1400
    assert sum(map(len, shown)) + sum(len(e.reasoning) for e in demonstrations(form)) <= 2000


@pytest.mark.parametrize("form", ["list", "short"])
def test_names_stand_in_a_passage_that_they_cite(form: str) -> None:
    for example in demonstrations(form):
        for name in READ[form](example.answer):
            assert any(name.text in example.passages[n].text for n in name.numbers)
