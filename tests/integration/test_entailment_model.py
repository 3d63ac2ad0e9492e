"""The shipped entailment model, on cases written by hand: every change of it must keep the floor.

The cases come in pairs that differ in little and have opposite labels. Many speak against what
everyone knows: only the premise counts.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from citeproof import Passage, Settings
from citeproof.settings import AnswerabilitySettings, EntailmentSettings
from citeproof.tools.entailment import Entailment, Pair, find_supports, question_hypothesis
from citeproof.tools.entailment.disputes import find_disputes
from citeproof.tools.entailment.opening import open_answerability, open_entailment

CASES = Path(__file__).parents[1] / "data" / "hard_cases.jsonl"
FLOOR = 188
"""Cases that the shipped cross-encoder gets right by itself. It may only rise."""
ROUNDED = 3
"""Cases that may fall on the other side of the threshold on a processor that rounds otherwise."""


def opened() -> Entailment:
    settings = Settings.load(entailment={"kind": "cross-encoder"})

    def never() -> Any:
        raise AssertionError("the cross-encoder must not ask the judge")

    return open_entailment(settings.entailment, never, settings.models)


@pytest.fixture(scope="module")
def model() -> Entailment:
    return opened()


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def test_the_cases_are_balanced(cases: list[dict[str, Any]]) -> None:
    kinds = Counter((case["kind"], case["entailed"]) for case in cases)
    assert len(cases) == len({case["id"] for case in cases}) == 252
    assert all(kinds[kind, True] == kinds[kind, False] >= 5 for kind, _ in kinds)


def test_hard_cases(model: Entailment, cases: list[dict[str, Any]]) -> None:
    scores = asyncio.run(model.scores([Pair(c["premise"], c["hypothesis"]) for c in cases]))
    right: Counter[str] = Counter()
    for case, score in zip(cases, scores, strict=True):
        right[case["kind"]] += (score >= model.threshold) == case["entailed"]
    assert right.total() >= FLOOR - ROUNDED, dict(right)


def test_the_same_decision_alone_and_among_others(
    model: Entailment, cases: list[dict[str, Any]]
) -> None:
    pairs = [Pair(case["premise"], case["hypothesis"]) for case in cases[:40]]
    fresh = opened()
    together = asyncio.run(model.scores(pairs))
    alone = [asyncio.run(fresh.scores([pair]))[0] for pair in pairs[::8]]
    assert together[::8] == pytest.approx(alone, abs=0.02)


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        ("Campaigning lasts three weeks, and voting two.", "Campaigning lasts six weeks."),
        ("Texts that give the pier 214 metres are wrong.", "The pier is 214 metres long."),
        (
            "Title: Sunnyside Christian High School\nThe school has 200 pupils.",
            "Sunnyside Christian High School is a Christian high school in Sunnyside.",
        ),
    ],
)
def test_what_was_once_proved_and_is_not_stated(
    model: Entailment, premise: str, claim: str
) -> None:
    [score] = asyncio.run(model.scores([Pair(premise, claim)]))
    assert score < model.threshold


def test_a_passage_that_says_otherwise_contradicts(model: Entailment) -> None:
    said = Passage(id="a", title="Elections", text="Campaigning lasts three weeks before the vote.")
    claims = ["Campaigning lasts six weeks.", "Campaigning lasts three weeks."]
    wrong, right = asyncio.run(find_supports(model, "", [({1: said}, claim) for claim in claims]))
    assert wrong.verdict("cited").status == "contradicted"
    assert (right.verdict("cited").status, right.against) == ("supported", {})


def test_other_sentences_hide_no_contradiction(model: Entailment) -> None:
    text = (Path(__file__).parents[2] / "examples/documents/ferry-line.md").read_text("utf-8")
    began = next(line for line in text.splitlines() if "8,400" in line)
    said = Passage(id="a", title="The Vessay Ferry Line", text=began)
    claims = ["It carried 9,800 passengers in 1907.", "It carried 8,400 passengers in 1907."]
    wrong, right = asyncio.run(find_supports(model, "", [({1: said}, claim) for claim in claims]))
    assert wrong.verdict("cited").status == "contradicted"
    assert (right.verdict("cited").status, right.against) == ("supported", {})


def test_a_passage_that_disputes_a_proved_claim_is_found(model: Entailment) -> None:
    old = Passage(id="a", title="Boats", text="The survey boat Heron was bought in 2007.")
    later = Passage(id="b", title="Repairs", text="The boat Heron was painted in 2014.")
    asked = [("The boat Heron was bought in 2009.", {1: old, 2: later})]
    assert asyncio.run(find_disputes(model, "When was the Heron bought?", asked)) == [{1: old}]


def test_a_name_of_another_sentence_scores_well_below_the_right_one(model: Entailment) -> None:
    passage = (
        "Title: The Orrin Strike\nThe strike did not reach all harbours. Of the nine guilds, the "
        "Coopers lost every ship, while the Tanners and the Weavers kept trading. The Tanners had "
        "long been a friend of the Harbour Board, and their master Joss Reed backed it."
    )
    said = "The {} were an old friend of the Harbour Board."
    claims = [said.format(guild) for guild in ("Tanners", "Coopers")]
    right, wrong = asyncio.run(model.scores([Pair(passage, claim) for claim in claims]))
    assert right >= 0.8 > wrong


def test_other_passages_beside_the_right_one_change_no_decision(model: Entailment) -> None:
    right = Passage(id="a", title="Pier", text="The pier at Olm was opened by Ada Holm in 1931.")
    others = [
        Passage(id="b", title="Mill", text="The mill at Olm was sold to Boris Quist in 1931."),
        Passage(id="c", title="Pier", text="Trains reached the pier at Olm until the year 1960."),
        Passage(id="d", title="Rum", text="Rum is made of cane. It ages in oak for three years."),
    ]
    among = dict(enumerate([*others, right], start=1))
    for claim, holds in (
        ("The pier at Olm was opened by Ada Holm.", True),
        ("The pier at Olm was opened by Boris Quist.", False),
    ):
        alone, together = asyncio.run(
            find_supports(model, "", [({1: right}, claim), (among, claim)])
        )
        assert (alone.holds, together.holds) == (holds, holds), claim


@pytest.mark.parametrize(
    ("question", "text", "answers"),
    [
        ("Who founded Debian?", "Ian Murdock founded Debian in 1993.", True),
        ("Who founded Debian?", "Ian Murdock died on 28 December 2015.", False),
        ("when was debian founded", "Ian Murdock founded Debian in 1993.", True),
        ("Where does the play take place?", "Sunnyside High School is a Christian school.", False),
        ("Who won the War of the Grand Alliance?", "The Allied Powers included France.", False),
    ],
)
def test_what_answers_a_question(question: str, text: str, answers: bool) -> None:
    model = open_answerability(Settings.load())
    assert model is not None
    [score] = asyncio.run(model.scores([Pair(text, question_hypothesis(question))]))
    assert (score >= model.threshold) is answers


def test_no_answerability_without_our_own_model() -> None:
    other = Settings(entailment=EntailmentSettings(model="judge"))
    none = Settings(answerability=AnswerabilitySettings(model="none"))
    assert (open_answerability(other), open_answerability(none)) == (None, None)
