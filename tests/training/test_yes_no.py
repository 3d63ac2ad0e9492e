"""Pairs of a text and a question for yes or no."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from tests.training.test_make import ASKED, POOL
from training.yes_no import Settled, ask, made, natural, read_boolq, read_pubmedqa


@pytest.mark.parametrize(
    ("claim", "question"),
    [
        ("The pier was built in 1931.", "Was the pier built in 1931?"),
        ("Most boats are sold in May.", "Are most boats sold in May?"),
        ("Ann Lee will open it.", "Will Ann Lee open it?"),
        ("Ann Lee opened it.", ""),
        ("It is", ""),
        (f"The {'very ' * 9}old pier was sold.", ""),
    ],
)
def test_claims_become_questions_by_their_verb(claim: str, question: str) -> None:
    assert ask(claim) == question


@pytest.mark.parametrize("seed", range(8))
def test_a_passage_settles_a_question_on_what_it_tells_and_others_do_not(seed: int) -> None:
    rows = list(made(ASKED[:2], POOL, Random(seed)))
    assert {row.entailed for row in rows} == {True, False}
    for row in rows:
        year = "1871" if "built" in row.hypothesis else "1874"
        assert row.entailed == (year in row.premise), row
        assert row.hypothesis.startswith("Was the tower ")


def test_passages_with_all_words_of_a_question_are_no_wrong_answers() -> None:
    pier = Settled("Is the old pier open in winter", "Pier", "It closes in May.", "b")
    same = Settled("Was it sold", "Winter", "The old pier is open in winter, they say.", "b")
    like = Settled("Can I swim", "Lido", "The pool is open in winter, and so is the bar.", "b")
    rows = list(natural([pier, same, like], Random(1)))
    others = {row.premise for row in rows if not row.entailed and "pier" in row.hypothesis}
    assert len(others) == 1
    assert like.text in others.pop()


def test_questions_are_read_from_both_files(tmp_path: Path) -> None:
    boolq = tmp_path / "dev.jsonl"
    row = {"question": "is it open", "title": "Pier", "passage": "The ``old'' pier is open."}
    boolq.write_text(f"{json.dumps(row)}\n{json.dumps(row)}\n")
    first, second = read_boolq(boolq)
    assert (first.question, second.question) == ("is it open", "Is it open?")
    assert first.text == 'The "old" pier is open.'
    pubmedqa = tmp_path / "ori.json"
    item = {"QUESTION": "Does it help?", "LONG_ANSWER": "It helps most patients."}
    kept = {"1": item | {"final_decision": "yes"}, "2": item | {"final_decision": "maybe"}}
    pubmedqa.write_text(json.dumps(kept))
    assert [one.text for one in read_pubmedqa(pubmedqa)] == ["It helps most patients."]
