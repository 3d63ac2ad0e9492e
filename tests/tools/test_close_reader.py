"""The close reader: what is read again, and what becomes of the scores."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair, Score, contradicts
from citeproof.tools.entailment.cache import CachedEntailment
from citeproof.tools.entailment.close_reader import CloseReader, excerpts

PIER = "Title: Pier\nIt opened in 1931. It is 214 metres long. Boats leave daily."
LAMP = "Title: Lamp\nIt was lit in 1871. Oil fed it."


def premises(model: TableEntailment) -> list[str]:
    return [pair.premise for pair in model.pairs]


def test_excerpts_are_sentences_and_neighbouring_two_under_their_title() -> None:
    assert excerpts(PIER) == [
        [
            "Title: Pier\nIt opened in 1931.",
            "Title: Pier\nIt is 214 metres long.",
            "Title: Pier\nBoats leave daily.",
            "Title: Pier\nIt opened in 1931. It is 214 metres long.",
            "Title: Pier\nIt is 214 metres long. Boats leave daily.",
        ]
    ]
    assert [len(some) for some in excerpts(f"{PIER}\n{LAMP}")] == [5, 3]


@pytest.mark.parametrize("premise", ["", "It opened.", "Title: Pier", "Title: Pier\nIt opened."])
def test_a_premise_of_one_sentence_is_its_own_excerpt(premise: str) -> None:
    assert excerpts(premise) == []


@pytest.mark.parametrize(
    ("whole", "excerpt", "score"),
    [(0.8, 0.8, 0.8), (0.9, 0.1, 0.5), (0.2, 0.95, 0.6855), (0.05, 0.95, 0.05)],
)
def test_the_whole_and_the_best_excerpt_have_the_same_weight(
    whole: float, excerpt: float, score: float
) -> None:
    def scored(premise: str, _: str) -> float:
        if premise == PIER:
            return whole
        return excerpt if premise == "Title: Pier\nIt opened in 1931." else 0.01

    model = CloseReader(TableEntailment(scored))
    found = asyncio.run(model.scores([Pair(PIER, "The pier opened in 1931.")]))
    assert found == pytest.approx([score], abs=1e-3)


def test_of_several_passages_the_best_excerpts_are_read_together() -> None:
    best = {"Title: Pier\nIt is 214 metres long.", "Title: Lamp\nOil fed it."}
    first = TableEntailment(lambda premise, _: 0.9 if premise in best else 0.5)
    asyncio.run(CloseReader(first).scores([Pair(f"{PIER}\n{LAMP}", "The pier has an oil lamp.")]))
    assert premises(first)[-1] == "Title: Pier\nIt is 214 metres long.\nTitle: Lamp\nOil fed it."


def test_excerpts_of_one_claim_are_read_once_by_all_its_sets() -> None:
    first = TableEntailment(lambda *_: 0.7)
    model = CloseReader(first)
    for premise in (PIER, LAMP, f"{PIER}\n{LAMP}"):
        asyncio.run(model.scores([Pair(premise, "It is long.")]))
    assert len(premises(first)) == len(set(premises(first)))


def test_what_the_whole_says_of_contradictions_is_kept() -> None:
    model = CloseReader(TableEntailment(lambda *_: Score(0.3, 0.7)))
    [score] = asyncio.run(model.scores([Pair(PIER, "It opened in 1932.")]))
    assert contradicts(score)


@pytest.mark.parametrize(
    ("claim", "denied"),
    [
        ("The pier is 215 metres long.", True),
        ("Boats leave daily from the pier.", False),  # another sentence is the nearest
        ("The ferry harbour has 215 large metres of quays.", False),  # about something else
    ],
)
def test_the_nearest_sentence_is_asked_whether_it_denies_the_claim(
    claim: str, denied: bool
) -> None:
    def scored(premise: str, _: str) -> float:
        return Score(0.05, 0.8 if premise == "Title: Pier\nIt is 214 metres long." else 0.2)

    [score] = asyncio.run(CloseReader(TableEntailment(scored)).scores([Pair(PIER, claim)]))
    assert score == 0.05
    assert contradicts(score) is denied


def test_a_claim_that_is_entailed_is_not_asked_about_again() -> None:
    first = TableEntailment(lambda *_: Score(0.9, 0.2))
    asyncio.run(
        CloseReader(first).scores([Pair("Title: Pier\nIt is long. It is old.", "It is old.")])
    )
    assert premises(first).count("Title: Pier\nIt is old.") == 1


@pytest.mark.parametrize(
    ("name", "asked"), [("m read closely", 2), ("m read closely + n", 2), ("m", 1)]
)
def test_a_score_file_keeps_apart_what_other_rules_have_read(
    name: str, asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, pair = TableEntailment(lambda *_: 0.5, name=name), Pair(PIER, "It opened.")
    for rules in (1, 2, 2):
        monkeypatch.setattr("citeproof.tools.entailment.close_reader._RULES", rules)
        asyncio.run(CachedEntailment(model, file=tmp_path / "scores.db").scores([pair]))
    assert len(model.pairs) == asked
