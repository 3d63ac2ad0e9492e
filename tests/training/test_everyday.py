"""Questions in everyday words become pairs with the passage that answers and with those near it."""

from pathlib import Path
from random import Random

import pytest

from citeproof import Passage
from training.everyday import pairs, read_folder

_EVIDENCE = "Most lay summaries are written for a high school-age child's level."
_GOLD = Passage(id="g", title="Summaries", text=f"{_EVIDENCE} Avoid jargon.", source="/d/lay.md")
_NEAR = [
    Passage(id=f"n{n}", title="Style", text=f"Rule {n} of our style keeps the jargon out of it.")
    for n in range(8)
]
_QUESTION = "How old a reader should I picture?"


def test_the_passage_with_the_evidence_answers_and_those_near_do_not() -> None:
    asked = [{"question": _QUESTION, "file": "lay.md", "evidence": _EVIDENCE}]
    rows = list(pairs(asked, [_GOLD, *_NEAR], [[_NEAR[0], _GOLD, *_NEAR[1:]]], Random(1)))
    right = [row.premise for row in rows if row.label == "entailed"]
    assert right[0] == _GOLD.premise
    assert right[1].endswith(_EVIDENCE)
    wrong = [row for row in rows if row.label == "not_entailed"]
    assert len(wrong) == 4
    assert all("Rule" in row.premise for row in wrong)
    assert {row.hypothesis for row in rows} == {rows[0].hypothesis}


def test_claims_that_answer_or_do_not_and_a_tempting_sentence_are_pairs_too() -> None:
    claim, beside = "Picture a reader of high school age.", "Lay summaries avoid jargon."
    row = {"question": _QUESTION, "file": "lay.md", "evidence": _EVIDENCE}
    row |= {"tempting": _NEAR[0].text, "answer_sentence": claim, "beside_sentence": beside}
    rows = list(pairs([row], [_GOLD, *_NEAR], [_NEAR], Random(1)))
    told = {one.source: (one.premise.splitlines()[-1], one.label) for one in rows}
    assert told["everyday/claim"] == (claim, "entailed")
    assert told["everyday/claim beside"] == (beside, "not_entailed")
    assert told["everyday/tempting"] == (_NEAR[0].text, "not_entailed")


def test_a_question_without_an_answer_has_only_texts_that_do_not_answer() -> None:
    asked = [{"question": _QUESTION, "file": None, "evidence": None}]
    rows = list(pairs(asked, [_GOLD, *_NEAR], [_NEAR], Random(1)))
    assert {row.label for row in rows} == {"not_entailed"}


def test_a_question_whose_evidence_no_passage_holds_is_left_out() -> None:
    asked = [{"question": _QUESTION, "file": "lay.md", "evidence": "Nothing of this stands there."}]
    assert list(pairs(asked, [_GOLD, *_NEAR], [_NEAR], Random(1))) == []


def test_a_folder_is_cut_as_the_index_cuts_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Lamp\n\nThe lamp has one socket.\n")
    [passage] = read_folder(tmp_path)
    assert (passage.text, passage.title) == ("The lamp has one socket.", "Lamp")
    assert passage.source.endswith("a.md")


def test_a_folder_without_documents_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no documents"):
        read_folder(tmp_path)
