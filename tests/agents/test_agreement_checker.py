"""The agreement_checker accepts an answer, or keeps what the verifier LM says of it as well."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.agents.agreement_checker import AgreementChecker
from citeproof.state import Contrast, Corroboration, Update
from tests.agents.states import BUILT, KEPT, LIT, candidate, claim


async def contrasted(
    main: list[Any], verifier: list[Any], rounds: list[Contrast] | None = None, **knobs: Any
) -> Update:
    return await AgreementChecker(**knobs)(
        candidate(claims=main, verifier_claims=verifier, rounds=rounds or [])
    )


async def test_the_same_answer_agrees_whatever_its_marks() -> None:
    update = await contrasted([claim(BUILT, 1), claim(LIT, 2)], [claim(BUILT, 2), claim(LIT)])
    assert update["rounds"] == [
        Contrast(
            number=1,
            answer=f"{BUILT} {LIT}",
            verifier_answer=f"{BUILT} {LIT}",
            rouge_2=1.0,
            agreed=True,
            statements=(
                Corroboration(statement=BUILT, share=1.0, by=BUILT, corroborated=True),
                Corroboration(statement=LIT, share=1.0, by=LIT, corroborated=True),
            ),
        )
    ]


@pytest.mark.parametrize(("threshold", "agreed"), [(0.5, True), (0.51, False)])
async def test_the_threshold_itself_is_agreement(threshold: float, agreed: bool) -> None:
    """Four bigrams each, of which two are common."""
    main, said = claim("the old tower was lit", 1), claim("an old tower was here", 1)
    [found] = (await contrasted([main], [said], threshold=threshold))["rounds"]
    assert (found.rouge_2, found.agreed) == (0.5, agreed)


@pytest.mark.parametrize(("enough", "kept"), [(0.75, True), (0.76, False)])
async def test_the_share_of_a_statement_that_keeps_it(enough: float, kept: bool) -> None:
    """Three of the statement's four bigrams, spread over two sentences of the verifier."""
    said = [claim("Ann Lee built much in her day.", 1), claim("They call the tower hers.", 1)]
    update = await contrasted([claim(BUILT, 1)], said, statement_threshold=enough)
    [found] = update["rounds"][0].statements
    assert (found.share, found.by) == (0.75, said[0].text)
    assert found.corroborated is kept
    assert bool(update["kept"]) is kept


async def test_a_statement_of_a_single_word_is_kept_where_the_verifier_says_it() -> None:
    update = await contrasted([claim("Yes.", 1), claim(KEPT, 1)], [claim("Yes.", 1), claim(LIT, 2)])
    assert [kept.text for kept in update["kept"]] == ["Yes."]
    [found] = update["rounds"]
    assert [(s.share, s.by) for s in found.statements] == [(1.0, "Yes."), (0.0, "")]


async def test_what_cites_nothing_is_neither_kept_nor_accepted() -> None:
    update = await contrasted([claim(BUILT)], [claim(BUILT, 1)])
    [found] = update["rounds"]
    assert (found.rouge_2, found.agreed, update["kept"]) == (1.0, False, [])
    assert (found.statements[0].share, found.statements[0].corroborated) == (1.0, False)


@pytest.mark.parametrize(("main", "said"), [([BUILT], []), ([], [BUILT]), ([], [])])
async def test_an_empty_answer_agrees_with_nothing(main: list[str], said: list[str]) -> None:
    update = await contrasted([claim(t, 1) for t in main], [claim(t, 1) for t in said])
    [found] = update["rounds"]
    assert (found.rouge_2, found.agreed, update["kept"]) == (0.0, False, [])
    assert all(statement.by == "" for statement in found.statements)


async def test_verdicts_say_what_was_corroborated_and_prove_nothing() -> None:
    before = (await contrasted([claim(LIT, 1)], []))["rounds"]
    update = await contrasted(
        [claim(BUILT, 1), claim(KEPT, 1), claim(LIT)], [claim(BUILT, 1)], before
    )
    verdicts = [c.verdict for c in update["claims"]]
    assert {(v.status, v.tier, v.score, v.trials) for v in verdicts} == {
        ("unchecked", None, None, 2)
    }
    assert [v.reason for v in verdicts] == [
        f"corroborated by the verifier LM, not by entailment: “{BUILT}”",
        "the verifier LM does not say this",
        "it cites nothing to verify",
    ]
    assert [found.number for found in update["rounds"]] == [1, 2]


# Lists


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The Thing", "thing", True),
        ("Washington, D.C.", "washington D C", True),
        ("A. The", "the a", False),
        ("The The", "the the", True),
        ("Élan", "élan", True),
        ("Halloween", "Halloween II", False),
        ("?", "!", False),
    ],
)
async def test_names_that_both_give_are_kept(one: str, other: str, same: bool) -> None:
    update = await contrasted([claim(one, 1)], [claim(other, 1)], form="list")
    assert bool(update["kept"]) is same
