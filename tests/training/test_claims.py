"""Claims made of questions and answers: what they say, and which passages state them."""

from __future__ import annotations

from random import Random

import pytest

from training.claims import Declarer, asserted
from training.make import Asked, Text

KNOWN = Declarer({**Declarer().past, "open": "opened", "carry": "carried", "show": "showed"})


@pytest.mark.parametrize(
    ("question", "answer", "claim"),
    [
        ("Who wrote Emma?", "Jane Austen", "Jane Austen wrote Emma."),
        ("When did the line open its office?", "1906", "The line opened its office in 1906."),
        ("When does the line open?", "May 3, 1990", "The line opens on May 3, 1990."),
        ("Where did Ada keep her boat?", "in Garrowmouth", "Ada kept her boat in Garrowmouth."),
        ("What did the ferry carry to Vessay?", "salt", "The ferry carried salt to Vessay."),
        ("What does the ferry carry salt in?", "barrels", "The ferry carries salt in barrels."),
        ("How many cars did the ferry carry?", "38", "The ferry carried 38 cars."),
        ("How many cars are there on board?", "38", "There are 38 cars on board."),
        ("When was the Grey Heron built?", "1998", "The Grey Heron was built in 1998."),
        ("What is Vessay known for?", "salt", "Vessay is known for salt."),
        ("Who was the first captain?", "Ada Moor", "The first captain was Ada Moor."),
        ("Which boat carried the mail?", "The Tern", "The Tern carried the mail."),
    ],
)
def test_a_question_and_its_answer_make_a_sentence(question: str, answer: str, claim: str) -> None:
    assert KNOWN.sentence(question, answer) == claim


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Why did the line close?", "fog"),
        ("When did the show open?", " "),
        ("Who was captain?|Who was the captain?", "Ada"),
        ("What school is Ada a member of?", "Tern"),
        ("Who else saw the boat?", "Ada"),
        ("Which faith did Henry renounce with his friends?", "Protestantism"),
        ("What would have to be increased for the line?", "Mass"),
        ("Where did Ada keep her boat at?", "Edinburgh"),
        ("How many children did Ada have?", "six children"),
        ("How many tons of dust were carried?", "182 million tons"),
        ("When did the line open?", "in the year in which the old pier fell into the sea"),
    ],
)
def test_what_makes_no_good_sentence_makes_none(question: str, answer: str) -> None:
    assert KNOWN.sentence(question, answer) is None


def test_a_noun_after_an_article_is_not_the_verb() -> None:
    assert KNOWN.sentence("When did the show open?", "1906") == "The show opened in 1906."


def test_regular_verbs_are_learned_from_texts() -> None:
    text = "They ferry and ferried, stop and stopped, close and closed. " * 3
    past = Declarer.of([Text("1", "Boats", text)]).past
    assert (past["ferry"], past["stop"], past["close"]) == ("ferried", "stopped", "closed")
    assert past["win"] == "won"
    assert "and" not in past


@pytest.mark.parametrize("text", ["Called all. " * 3, "It noted that they did not. " * 3])
def test_pieces_of_words_and_other_words_are_no_verbs(text: str) -> None:
    assert not {"all", "not"} & set(Declarer.of([Text("1", "Boats", text)]).past)


def test_another_right_answer_is_not_called_wrong() -> None:
    gold = Text("1", "School", "Ann Lee played the part. Bo Ray played the part.")
    sets = [Asked("Who played the part?", (who,), gold, "made") for who in ("Ann Lee", "Bo Ray")]
    rows = [row for seed in range(20) for row in asserted(sets, {"1": gold}, Random(seed))]
    assert {row.hypothesis for row in rows} == {
        "Ann Lee played the part.",
        "Bo Ray played the part.",
    }
    assert all(row.entailed for row in rows)


def test_claims_are_right_by_the_gold_passage_and_wrong_by_another_of_its_article() -> None:
    gold = Text("1", "Vessay", "The ferry was built in 1998. The pier was built in 1931.")
    other = Text("2", "Vessay", "The island was settled in 1702.")
    sets = [
        Asked("When was the ferry built?", ("1998",), gold, "made"),
        Asked("When was the pier built?", ("1931",), gold, "made"),
    ]
    rows = [
        row
        for seed in range(20)
        for row in asserted(sets, {"1": gold, "2": other}, Random(seed), cropped=0)
    ]
    entailed = {row.hypothesis for row in rows if row.entailed}
    assert entailed == {"The ferry was built in 1998.", "The pier was built in 1931."}
    wrong = {(row.source, row.hypothesis) for row in rows if not row.entailed}
    assert ("made/other name", "The ferry was built in 1931.") in wrong
    assert ("made/other passage", "The ferry was built in 1702.") in wrong
    assert not entailed & {hypothesis for _, hypothesis in wrong}
    for row in rows:
        if row.source == "made/other passage":
            assert other.text in row.premise


def test_what_a_passage_rightly_claims_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"Ann{letter} Lee{letter}" for letter in "abcdefghijklmnopqrst"]
    gold = Text("1", "School", " ".join(f"{name} played part {name[3]}." for name in names))
    sets = [Asked(f"Who played part {name[3]}?", (name,), gold, "made") for name in names]
    said: list[str] = []
    sentence = Declarer.sentence

    def count(self: Declarer, question: str, answer: str) -> str | None:
        said.append(question)
        return sentence(self, question, answer)

    monkeypatch.setattr(Declarer, "sentence", count)
    assert list(asserted(sets, {"1": gold}, Random(1)))
    # The claim of each question, a wrong one, and once what all of them claim.
    assert len(said) <= 3 * len(sets)
