"""What `--paper` switches on in R²-MGA and LLatrieval; VTG and CaLM have tests of their own."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.demonstrator import QUOTED, demonstration
from citeproof.memory.bank import Case
from citeproof.testing import ScriptedChatModel, TableEntailment
from tests.graphs import r2_mga_scripts
from tests.graphs.llatrieval_scripts import Search, shown, texts
from tests.graphs.r2_mga_scripts import FINAL, FIRST, GOOD, empty_bank

ALL = [str(n) for n in range(50)]


# R²-MGA


@pytest.mark.parametrize(
    ("form", "first", "plan", "final"),
    [
        ("list", "Ann Lee [3], Bo Ray [1]", "1. Cite [1] for Ann Lee.", "Ann Lee [1], Bo Ray [3]"),
        ("short", "Bo Ray [3]", "1. Name Ann Lee.", "Ann Lee [1]"),
    ],
)
async def test_names_are_assessed_refined_and_kept_as_names(
    form: Any, first: str, plan: str, final: str
) -> None:
    bad = "Complete: yes.\nCorrect: no. [1] says otherwise.\nWell cited: no."
    script = r2_mga_scripts.Script(
        answerer=[first, first],
        assessor=[bad, GOOD, GOOD],
        planner=[plan],
        refiner=[f"Refined answer: {final}"],
        demonstrator=["So it is."] * 2,
        bank=empty_bank(),
    )
    # A name is checked behind the question: only so does it say anything.
    script.entailment = TableEntailment(lambda _, said: 0.9 if said.startswith("Who") else 0.1)
    result = await script.run("Who built the tower?", form=form)
    assert [claim.text for claim in result["answer"].claims] == [
        name.partition(" [")[0] for name in final.split(", ")
    ]
    [entry] = await script.bank.cases()  # type: ignore[union-attr]
    assert (entry.case.form, entry.case.answer, entry.case.final) == (form, first, final)
    tasks = {role: script.calls(role)[0].prompt for role in ("assessor", "planner", "refiner")}
    assert all(f"Answer: {first}" in task for task in tasks.values())
    assert "Each sentence" not in tasks["refiner"]
    await script.run("Who built the high tower?", form=form)
    assert "Who built the tower?" in script.calls("answerer")[1].prompt


async def test_cases_of_another_form_are_not_shown() -> None:
    script = r2_mga_scripts.Script(answerer=[FIRST, "Ann Lee [1]"], assessor=[GOOD, GOOD])
    script.bank = empty_bank()
    script.entailment = TableEntailment(lambda *_: 0.9)
    await script.run()
    await script.run(form="short")
    assert "Coldwater viaduct" in script.calls("answerer")[1].prompt
    assert len(await script.bank.cases()) == 2


async def test_the_plan_may_be_unconditional() -> None:
    script = r2_mga_scripts.Script(assessor=[GOOD, GOOD], bank=empty_bank())
    result = await script.run(always_plan=True)
    assert script.counts == (1, 2, 1, 1, 0)
    assert [len(one.actions) for one in result["rounds"]] == [2, 0]


async def test_nothing_is_planned_from_an_assessment_that_cannot_be_read() -> None:
    script = r2_mga_scripts.Script(answerer=[FINAL], assessor=["?", "?"])
    result = await script.run(always_plan=True)
    assert script.counts == (1, 2, 0, 0, 0)
    assert result["answer"].text == FINAL


async def test_summaries_are_read_in_place_of_the_passages_and_kept_in_the_case() -> None:
    script = r2_mga_scripts.Script(bank=empty_bank())
    said = {"Ann Lee": "Ann Lee built it.", "1871": "irrelevant", "Bo Ray": "Bo Ray kept it."}

    def summary(prompt: str) -> str:
        return next(short for words, short in said.items() if words in prompt)

    script.models["summarizer"] = ScriptedChatModel(summary)
    await script.run(style="summary", gate="llm")
    for role in ("answerer", "assessor", "planner", "refiner"):
        prompt = script.calls(role)[0].prompt
        assert "Ann Lee built it.\n</passage>" in prompt
        assert "</passage>" in prompt.partition("Bo Ray kept it.")[2]
        assert 'number="2"' not in prompt
    [entry] = await script.bank.cases()  # type: ignore[union-attr]
    assert entry.case.passages[0].text == "Ann Lee built it."


def test_a_whole_snippet_is_not_cut() -> None:
    long = " ".join(f"Word {n} of it." for n in range(600))
    passages = tuple(Passage(id=str(n), text=f"{long} End {n}.") for n in range(7))
    case = Case(
        question="What?", passages=passages, answer="It [1].", feedback=long, final="It [1]."
    )
    cut, whole = (demonstration("assessment", case, whole=whole) for whole in (False, True))
    assert len(cut) < 3 * QUOTED
    assert all(f"End {n}." in whole for n in range(7))
    assert whole.count("Word 599 of it.") == 8


# LLatrieval


def _search(**parameters: Any) -> Search:
    run = Search(
        {"": ALL},
        document_selector=lambda _: {"numbers": [1, 2, 3, 4, 5]},
        retrieval_verifier=lambda _: "No",
        missing_info=lambda _: "All of it.",
        answerer=["T0 [1]"],
    )
    run.run(max_rounds=2, **parameters)
    return run


def test_the_chosen_passages_count_in_the_window() -> None:
    run = _search(count_chosen=True, reread=True)
    windows = [len(shown(prompt)) for prompt in run.of("document_selector")]
    assert windows == [20] * 6
    seen = [name for prompt in run.of("document_selector")[:3] for name in shown(prompt)]
    assert set(seen) == set(ALL)


def test_the_verifier_may_read_summaries_and_an_example() -> None:
    plain, paper = _search(), _search(verify_summaries=True, verifier_example=True)
    assert texts(plain.of("retrieval_verifier")[0])[0] == "All about 0."
    assert texts(paper.of("retrieval_verifier")[0])[0] == "Sum of 0."
    assert "An example of a question" not in plain.of("retrieval_verifier")[0]
    assert "An example of a question" in paper.of("retrieval_verifier")[0]


def test_the_model_may_not_be_told_what_was_tried() -> None:
    run = Search(
        {"": ALL[:6], "more": ["x", "y"]},
        document_selector=lambda _: {"numbers": [1, 2, 3, 4, 5]},
        retrieval_verifier=["No", "No", "No"],
        missing_info=["One more.", "Two more."],
        answerer=["T0 [1]"],
    )
    run.run(max_rounds=3, tell_tried=False)
    assert "One more." not in run.of("missing_info")[1]


@pytest.mark.parametrize(("form", "text"), [("list", "T0 [1], T1 [2]"), ("short", "T0 [1]")])
def test_the_passages_may_be_answered_with_names(form: Any, text: str) -> None:
    run = Search({"": ["0", "1"]}, retrieval_verifier=["Yes"], answerer=[text])
    answer = run.run(form=form, shots=1)["answer"]
    assert answer.text == text
    assert run.of("answerer")[0].count("An example of an answer") == 1
