"""Citation recall and precision: each rule of ALCE's evaluator by hand, strict and corrected."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import pytest

from citeproof.errors import MissingExtraError
from citeproof.evaluation.examples import Example, Mode, Task
from citeproof.evaluation.metrics import texts
from citeproof.evaluation.metrics.citations import cited_ids, statements
from citeproof.evaluation.results import Result
from citeproof.evaluation.scoring import score
from citeproof.testing import TableEntailment, passage
from citeproof.types import Passage

FACTS = ("alpha", "beta", "gamma", "delta")
PASSAGES = tuple(passage(f"It says {fact}.", title=fact[0].upper(), id=fact) for fact in FACTS)
STRICT: Mode = "strict"
CORRECTED: Mode = "corrected"
MODES = (STRICT, CORRECTED)


def holds(premise: str, hypothesis: str) -> float:
    """A premise entails what names some facts, and only facts that the premise names."""
    said, claimed = (set(re.findall(r"[a-z]+", text.lower())) for text in (premise, hypothesis))
    facts = claimed & {*FACTS, "epsilon"}
    return float(bool(facts) and facts <= said)


def example(task: Task = "eli5", *, answerable: bool = True) -> Example:
    return Example(id="1", question="Which are they?", task=task, answerable=answerable)


def output(text: str, passages: Sequence[Passage] = PASSAGES) -> Result:
    return Result(id="1", question="Which are they?", output=text, docs=tuple(passages))


async def both(
    text: str, mode: Mode, *, task: Task = "eli5", passages: Sequence[Passage] = PASSAGES
) -> tuple[float | None, float | None]:
    """Citation recall and precision."""
    items = [(example(task), output(text, passages))]
    [found] = await score(items, TableEntailment(holds), mode=mode)
    return found["citation_recall"], found["citation_precision"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "recall", "precision"),
    [
        ("It is alpha [1]. It is beta [2].", 1, 1),
        ("It is alpha [2].", 0, 0),
        ("It is alpha.", 0, 0),
        ("It is alpha [1]. It is beta.", 1 / 2, 1),
        ("It is alpha [1]. It is beta [1].", 1 / 2, 1 / 2),
        # Each of two is needed.
        ("It is alpha and beta [1][2].", 1, 1),
        # One suffices alone, and the other is not needed.
        ("It is alpha [1][2].", 1, 1 / 2),
        # Where they fail together, all are wrong, though each tells a part of it.
        ("It is alpha, beta and gamma [1][2].", 0, 0),
        # Two are needed, the third is not.
        ("It is alpha and beta [1][2][3].", 1, 2 / 3),
        # Two statements of one citation and of three: right over total is 2 of 4.
        ("It is delta [4]. It is alpha [1][2][3].", 1, 2 / 4),
        # The fourth citation does not count.
        ("It is alpha [1][2][3][4].", 1, 1 / 3),
        ("It is delta [1][2][3][4].", 0, 0),
    ],
)
async def test_both_count_alike(text: str, recall: float, precision: float, mode: Mode) -> None:
    assert await both(text, mode) == (recall, precision)


async def test_both_of_two_that_suffice_alone_are_right() -> None:
    twice = (*PASSAGES, passage("Here too it says alpha.", id="again"))
    assert await both("It is alpha [1][5].", CORRECTED, passages=twice) == (1, 1)


@pytest.mark.parametrize(
    ("text", "strict", "corrected"),
    [
        # A number above the last makes its statement wrong. Its citations leave the
        # denominator in strict, and count as wrong in corrected.
        ("It is alpha [1][7]. It is beta [2].", (1 / 2, 1), (1 / 2, 1 / 3)),
        # Strict looks at all numbers before it drops those behind the third.
        ("It is alpha [1][2][3][7].", (0, 0), (1, 1 / 3)),
        # 0 is the last passage in strict.
        ("It is delta [0].", (1, 1), (0, 0)),
        ("It is alpha [1][0].", (1, 1 / 2), (0, 0)),
        # A repeated mark counts each time in strict.
        ("It is alpha [1][1].", (1, 1), (1, 1)),
        ("It is alpha [1][2][2].", (1, 1 / 3), (1, 1 / 2)),
        ("It is beta [1][1][1][2].", (0, 0), (1, 1 / 2)),
        # Lists and ranges: strict sees the first number alone.
        ("It is alpha and beta [1, 2].", (0, 0), (1, 1)),
        ("It is alpha, beta and gamma [1-3].", (0, 0), (1, 1)),
        ("It is beta [1, 2].", (0, 0), (1, 1 / 2)),
        # What is no mark at all: strict takes the digits behind any bracket.
        ("It is alpha [1] [2 of them].", (1, 1 / 2), (1, 1)),
        # A mark behind the full stop belongs to the next sentence in strict.
        ("It is alpha. [1] It is beta. [2]", (0, 0), (1, 1)),
        ("It is alpha.[1] It is alpha too.", (1 / 2, 1), (1 / 2, 1)),
        # Only the first line is read in strict.
        ("It is alpha [1].\n\nIt is beta [1].", (1, 1), (1 / 2, 1 / 2)),
        ("\n It is alpha [1].<|im_end|>", (1, 1), (1, 1)),
        # Nothing was answered.
        ("", (None, None), (0, 0)),
        ("\n ", (None, None), (0, 0)),
    ],
)
async def test_where_they_differ(
    text: str,
    strict: tuple[float | None, float | None],
    corrected: tuple[float, float],
) -> None:
    assert await both(text, STRICT) == strict
    assert await both(text, CORRECTED) == corrected


@pytest.mark.parametrize(("mode", "title"), [(STRICT, "Title: \n"), (CORRECTED, "")])
async def test_a_pair_has_the_titles_and_no_marks(mode: Mode, title: str) -> None:
    untitled = (passage("It says alpha.", title="A"), passage("It says beta."))
    table = TableEntailment(holds)
    await score([(example(), output("Alpha, beta [1][2].", untitled))], table, mode=mode)
    premise = f"Title: A\nIt says alpha.\n{title}It says beta."
    assert (table.pairs[0].premise, table.pairs[0].hypothesis) == (premise, "Alpha, beta.")


async def test_strict_drops_the_first_of_equal_citations() -> None:
    """Of [1][2][1] the evaluator keeps `2, 1` when it tries either [1], so the order changes."""
    table = TableEntailment(lambda premise, _: float(premise.count("It says") == 3))
    await score([(example(), output("Alpha, beta [1][2][1]."))], table, mode=STRICT)
    without = [pair.premise.split() for pair in table.pairs if pair.premise.count("It says") == 2]
    assert [[word for word in words if word[:-1] in FACTS] for words in without] == [
        ["beta.", "alpha."],
        ["alpha.", "alpha."],
    ]


@pytest.mark.parametrize(
    ("text", "strict", "corrected"),
    [
        ("alpha [1], beta [2].", (1, 1), (1, 1)),
        ("alpha [1], beta [1],", (1 / 2, 1 / 2), (1 / 2, 1 / 2)),
        # Cut at every comma in strict.
        ("alpha, the first [1], beta [2].", (1 / 3, 1 / 2), (1, 1)),
        ("alpha [1, 2], beta [2].", (2 / 3, 1), (1, 2 / 3)),
        # An empty list is one wrong statement in strict too.
        ("", (0, 0), (0, 0)),
    ],
)
async def test_lists(
    text: str, strict: tuple[float, float], corrected: tuple[float, float]
) -> None:
    assert await both(text, STRICT, task="qampari") == strict
    assert await both(text, CORRECTED, task="qampari") == corrected


@pytest.mark.parametrize("mode", MODES)
def test_a_statement_of_a_list_is_the_question_and_an_entity(mode: Mode) -> None:
    found = statements(example("qampari"), output("alpha [1], beta [2]."), mode)
    assert [(own.text, own.places) for own in found] == [
        ("Which are they? alpha", (0,)),
        ("Which are they? beta", (1,)),
    ]


async def test_no_answer_where_there_is_none_has_no_citation_scores() -> None:
    items = [(example(answerable=False), output(text)) for text in ("", "Alpha [1][2].")]
    empty, given = await score(items, TableEntailment(holds))
    keys = ("citation_recall", "citation_precision", "citation_f1")
    assert [empty[key] for key in keys] == [None, None, None]
    assert [given[key] for key in keys] == [1, 1 / 2, pytest.approx(2 / 3)]


@pytest.mark.parametrize("mode", MODES)
async def test_without_passages_every_citation_is_wrong(mode: Mode) -> None:
    assert await both("It is alpha [1]. It is beta [0].", mode, passages=()) == (0, 0)


def test_cited_ids_are_of_passages_that_exist() -> None:
    assert cited_ids(output("It is alpha [1]. So it is [3, 9] [0].")) == {"alpha", "gamma"}


def test_strict_sentences_are_those_of_punkt() -> None:
    text = "Dr. Lee lit it at 5 p.m. on Jan. 3 [1]. He left. [2] It is of the U.S. Navy..."
    assert texts.sentences(text, STRICT) == [
        "Dr. Lee lit it at 5 p.m. on Jan. 3 [1].",
        "He left.",
        "[2] It is of the U.S. Navy...",
    ]


async def test_strict_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "punkt", None)
    texts._punkt.cache_clear()
    with pytest.raises(MissingExtraError, match=r"citeproof\[alce\].*corrected mode"):
        await both("It is alpha [1].", STRICT)
    assert await both("It is alpha [1].", CORRECTED) == (1, 1)
