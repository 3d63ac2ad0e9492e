"""What is made has the label that it bears."""

from __future__ import annotations

from random import Random

import pytest

from training import make
from training.rows import Row

TOWER = make.Text(
    "t",
    "Orrin Tower",
    "The tower was built in 1871 by Ann Lee. It was lit in 1874. Bo Ray kept it until 1902. "
    "He wrote down every ship. The tower was sold to Cy Dunn.",
)
HARBOUR = make.Text("h", "Orrin Tower", "The harbour was dredged in 1911. Di Fox paid for it.")
POOL = {"t": TOWER, "h": HARBOUR}
ASKED = [
    make.Asked("When was the tower built?", ("1871",), TOWER, "s"),
    make.Asked("When was the tower lit?", ("1874",), TOWER, "s"),
    make.Asked("Who kept the tower?", ("Bo Ray",), TOWER, "s"),
    make.Asked("Who bought the tower?", ("Cy Dunn",), TOWER, "s"),
]


def test_a_question_without_its_answer_in_the_passage_is_left_out() -> None:
    rows: list[dict[str, object]] = [
        {"question": "When?", "answers": ["1871"], "gold_passages": ["t"]},
        {"question": "When?", "answers": ["1999"], "gold_passages": ["t"]},
        {"question": "When?", "answers": ["1871"], "gold_passages": ["missing"]},
    ]
    assert [item.answers for item in make.asked(rows, POOL, "s")] == [("1871",)]


@pytest.mark.parametrize("seed", range(15))
def test_questions_and_answers(seed: int) -> None:
    rows = list(make.questions(ASKED, POOL, Random(seed)))
    recipes = {row.source for row in rows}
    assert {"s/answer", "s/other answer"} <= recipes
    for row in rows:
        if row.source in ("s/answer", "s/other answer"):
            said = zip(("built", "lit", "kept", "bought"), ASKED, strict=True)
            item = next(asked for verb, asked in said if verb in row.hypothesis)
            assert (item.answers[0] in row.hypothesis) == row.entailed
        if row.source == "s/answer":
            assert item.answers[0] in row.premise
        if row.source == "s/same article":
            assert row.premise == HARBOUR.premise


@pytest.mark.parametrize("seed", range(15))
def test_sentences_are_copies_or_near_misses(seed: int) -> None:
    for row in make.sentences([TOWER, HARBOUR], "w", Random(seed)):
        if row.source == "w/copy":
            assert row.entailed
            assert row.hypothesis in row.premise
        elif row.source == "w/substitution":
            assert not row.entailed
            assert row.hypothesis not in row.premise
        elif row.source == "w/edited premise":
            assert row.entailed == (row.hypothesis in row.premise)


@pytest.mark.parametrize("seed", range(15))
def test_twins_come_in_pairs_of_which_one_is_entailed(seed: int) -> None:
    rows = list(make.twins([TOWER, HARBOUR], "w", Random(seed)))
    assert len(rows) % 2 == 0
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        assert (one.entailed, other.entailed) == (True, False)
        assert one.premise == other.premise
        assert one.hypothesis != other.hypothesis
        assert one.hypothesis in one.premise
        assert other.hypothesis not in other.premise


def test_two_claims_need_both_premises() -> None:
    rows = [Row(f"Fact {n}.", f"It is {n}.", "entailed", "s") for n in range(40)]
    rows += [Row(f"Fact {n}.", f"It is not {n}.", "contradiction", "s") for n in range(40)]
    made = list(make.together(rows, Random(3)))
    assert any(row.entailed for row in made)
    for row in made:
        both = row.premise.count("Fact") == 2
        assert row.entailed == (both and "not" not in row.hypothesis)


BUILT = Row(
    "The yard in Vessay was built by Ann Lee in 1871.", "Ann Lee left Vessay.", "entailed", "s"
)


@pytest.mark.parametrize(
    ("premise", "hypothesis", "near"),
    [
        ("Bo Ray kept the light of Vessay for years.", "Bo Ray kept Vessay lit.", True),
        ("Bo Ray kept the light of Vessay for years.", "Bo Ray kept it lit.", False),
        ("Bo Ray and Mrs Lee kept the light of Vessay.", "Bo Ray kept Vessay lit.", False),
        ("It is an island and its light was kept.", "Ann Lee kept Vessay lit.", False),
        (f"He kept the light. {BUILT.premise}", "Bo Ray kept Vessay lit.", False),
        ("Somebody kept the light there for years.", "it was lit", False),
    ],
)
def test_neighbours_share_a_name_but_not_what_the_claim_is_about(
    premise: str, hypothesis: str, near: bool
) -> None:
    other = Row(premise, hypothesis, "contradiction", "s")
    # The same claim bears other evidence too.
    again = Row("Ann Lee left Vessay when she was very old.", BUILT.hypothesis, "entailed", "s")
    made = list(make.neighbours([BUILT, again, other], Random(1)))
    assert [(row.premise, row.hypothesis, row.label) for row in made] == (
        [(premise, BUILT.hypothesis, "neutral")] * 2 if near else []
    )


def test_other_passages_do_not_change_the_label() -> None:
    row = Row("It was lit in 1874.", "It was lit.", "entailed", "s")
    [made] = make.among([row], [HARBOUR, TOWER], Random(1))
    assert made.entailed
    assert row.premise in made.premise
    assert "Title: Orrin Tower" in made.premise


@pytest.mark.parametrize("seed", range(10))
def test_of_sentences_with_the_answer_the_one_is_kept_that_tells_it(seed: int) -> None:
    text = "Two boats came. It rained. Some sat. It was hot. Boston had two stations."
    assert "Boston" in make.crop(text, "two", Random(seed), "How many stations did Boston have?")
