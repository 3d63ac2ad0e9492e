"""What a search finds for a question becomes rows with the right labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from citeproof.types import Passage
from training.build import is_ours, left_out_of
from training.mined import Question, pairs, read_questions

BUILT = "The old pier was built by Ada Lee in 1801."
PAINTED = "The old pier was painted white in 1950."
STORM = "A storm broke the old pier in 1911."
SWAM = "Ada Lee swam in the sea on most days."
GOLD = Passage(id="gold", title="Pier", text=f"{PAINTED} {BUILT}")
OTHER = Passage(id="other", title="Pier", text=f"Storms came in most years. {STORM}")
ADA = Passage(id="ada", title="Pier", text=SWAM)
ASKED = Question("Who built the old pier?", ("Ada Lee",), frozenset({"gold"}), "nq")


def rows(question: Question, *near: Passage, seed: int) -> list[tuple[str, bool, str]]:
    """The rows of a question, without the title that some show."""
    return [
        (row.premise.removeprefix("Title: Pier\n"), row.entailed, row.source)
        for row in pairs([question], [near], Random(seed))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_only_the_gold_passage_and_its_answering_sentence_answer(seed: int) -> None:
    assert rows(ASKED, OTHER, ADA, GOLD, seed=seed) == [
        (BUILT, True, "nq/found sentence"),
        (GOLD.text, True, "nq/found passage"),
        (OTHER.text, False, "nq/found passage"),
        (STORM, False, "nq/found sentence"),
    ]


@pytest.mark.parametrize("seed", range(5))
def test_without_gold_a_sentence_on_the_same_subject_answers(seed: int) -> None:
    question = ASKED._replace(gold=frozenset(), source="webquestions")
    assert rows(question, ADA, seed=seed) == []
    assert rows(question, ADA, GOLD, GOLD, seed=seed) == [
        (BUILT, True, "webquestions/found sentence")
    ]


def test_the_second_passage_has_only_its_sentence() -> None:
    others = [
        OTHER.model_copy(update={"id": f"{n}", "text": f"Pier {n} is a work of Bo Ray."})
        for n in range(5)
    ]
    found = rows(ASKED, *others, seed=1)
    third = found[3][0]
    assert [(text, source.rpartition(" ")[2]) for text, _, source in found] == [
        (others[0].text, "passage"),
        (others[0].text, "sentence"),
        (others[1].text, "sentence"),
        (third, "passage"),
        (third, "sentence"),
    ]
    assert third in {other.text for other in others[2:]}


def side(ours: bool, start: str) -> str:
    """A text on our side of the split, or on the other."""
    return next(text for n in range(99) if is_ours(text := f"{start} {n}") is ours)


def test_questions_of_left_out_articles_and_other_texts_are_not_used(tmp_path: Path) -> None:
    def put(name: str, *items: Mapping[str, Any]) -> None:
        text = "".join(json.dumps(item) + "\n" for item in items)
        (tmp_path / f"{name}.jsonl").write_text(text)

    def asked(text: str, *gold: str) -> dict[str, Any]:
        return {"question": text, "answers": ["Ada", ""], "gold_passages": list(gold)}

    squad2 = [{"title": title} for title in ("Pier", "Tower", "Harbour", "Lamp")]
    left_out = left_out_of(squad2)
    (title,) = {row["title"] for row in squad2} - set(left_out)
    put("squad2_dev", *squad2)
    put(
        "passages",
        {"id": "ours", "title": title, "text": side(True, "Pier")},
        {"id": "theirs", "title": title, "text": side(False, "Pier")},
        {"id": "left", "title": left_out[0], "text": side(True, "Lamp")},
    )
    put(
        "nq_dev",
        asked("Who built it?", "ours"),
        asked("Who lit it?", "theirs"),
        asked("Who sold it?", "left"),
        asked("Who kept it?", "left", "ours"),
        {**asked("Who saw it?", "ours"), "answers": []},
    )
    parts = [
        {"question": "Who built it first?", "short_answers": ["Bo"]},
        {"question": "Who built it then?", "short_answers": []},
    ]
    put("asqa_dev", {"question": "Who?", "gold_passages": ["ours"], "qa_pairs": parts})
    put("squad_dev", asked("When was it built?", "ours"))
    put("webquestions_dev", *(asked(side(ours, "Who swam?")) for ours in (True, False)))
    gold = frozenset({"ours"})
    assert list(read_questions(tmp_path)) == [
        Question("Who built it?", ("Ada",), gold, "nq"),
        Question("Who kept it?", ("Ada",), gold, "nq"),
        Question("Who built it first?", ("Bo",), gold, "asqa"),
        Question("When was it built?", ("Ada",), gold, "squad"),
        Question(side(True, "Who swam?"), ("Ada",), frozenset(), "webquestions"),
    ]
