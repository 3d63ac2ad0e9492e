"""Where the entailment model's server does not answer, claims stay unchecked."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest

from citeproof import Toolbox
from citeproof.agents.answer_quoter import AnswerQuoter
from citeproof.agents.answer_selector import AnswerReranker
from citeproof.agents.answerability_verifier import AnswerabilityVerifier
from citeproof.agents.assessor import ClaimsAssessor
from citeproof.agents.claim_generator import ClaimGenerator
from citeproof.agents.claims_verifier import ClaimsVerifier, EvidenceSelector
from citeproof.agents.generation_verifier import MemoryVerifier
from citeproof.agents.quoter import Quoter
from citeproof.agents.simplifier import Simplifier
from citeproof.errors import VerifierOutageError
from citeproof.evaluation.results import read_results
from citeproof.evaluation.runner import run
from citeproof.graphs.vtg import build_vtg
from citeproof.state import Draft
from citeproof.testing import TableEntailment
from citeproof.tools.llm.opening import no_llm
from citeproof.types import Verdict
from tests.agents.one_node import asking, noted
from tests.agents.states import BUILT, LIT, claim, reflecting, sampled, state
from tests.evaluation.scripted import examples, toolbox
from tests.graphs.scripts import Script


def gone(premise: str, hypothesis: str) -> NoReturn:
    raise VerifierOutageError("The entailment server at http://gpu does not answer")


OUT: Any = TableEntailment(gone)
PROVED = Verdict(status="supported", score=0.9)
DOUBTED = Verdict(status="supported", tier="cited", score=0.7)


def drafted(*cited: str, **more: Any) -> Any:
    return state(draft=Draft(text=BUILT, cited=cited, **more))


@pytest.mark.parametrize(
    ("node", "given", "left", "told"),
    [
        (Simplifier(OUT), drafted("a", "b", verdict=PROVED), {}, "citations were not trimmed"),
        (Quoter(OUT), drafted("a", verdict=DOUBTED), {}, "was not replaced by a quote"),
        (AnswerQuoter(OUT), state(), {}, "no answer was quoted"),
        (AnswerabilityVerifier(no_llm(), None, OUT), state(), {"answerable": None}, "not checked"),
    ],
)
async def test_a_node_that_cannot_ask_changes_nothing(
    node: Any, given: Any, left: Any, told: str
) -> None:
    update, [note] = await noted(node(given))
    assert update == left
    assert told in note
    assert "http://gpu does not answer" in note


async def test_a_writer_that_cannot_ask_whether_it_digresses_goes_on() -> None:
    node, _ = asking(ClaimGenerator, LIT, answerability=OUT)
    update, [note] = await noted(node(state(draft=None, claims=[claim(BUILT)])))
    assert update["draft"].text == LIT
    assert note.startswith("whether a sentence answers the question was not checked")


async def test_claims_stay_unchecked_and_are_not_taken_back() -> None:
    update, [note] = await noted(MemoryVerifier(OUT)(drafted("a")))
    assert update["draft"].verdict.status == "unchecked"
    assert "rejected" not in update
    assert "http://gpu does not answer" in note
    update, [note] = await noted(ClaimsVerifier(OUT)(reflecting(claims=[claim(BUILT, 1)])))
    assert [own.verdict.status for own in update["claims"]] == ["unchecked"]
    assert "not checked" in note


async def test_statements_that_cannot_be_checked_are_kept() -> None:
    update, [note] = await noted(EvidenceSelector(OUT)(reflecting(claims=[claim(BUILT, 1)])))
    assert [(own.text, own.verdict.status) for own in update["kept"]] == [(BUILT, "unchecked")]
    assert "not checked" in note


async def test_an_answer_that_cannot_be_assessed_has_no_fault() -> None:
    update, [note] = await noted(ClaimsAssessor(OUT, "list")(reflecting(claims=[claim("Lee", 1)])))
    [done] = update["rounds"]
    assert (done.faulty, done.feedback, done.answer) == (False, "", "Lee [1]")
    assert "not assessed" in note


@pytest.mark.parametrize("definition", ["paper", "released"])
async def test_the_first_sample_that_says_something_is_kept(definition: Any) -> None:
    samples = sampled([], [claim(BUILT, 1)], [claim(LIT, 2)])
    update, [note] = await noted(AnswerReranker(OUT, definition=definition)(samples))
    [kept] = update["claims"]
    assert (kept.text, kept.verdict.status) == (BUILT, "unchecked")
    assert [citation.number for citation in kept.citations] == [1]
    assert note


def test_an_answer_is_composed_where_nobody_says_whether_it_answers() -> None:
    script = Script(claims=[BUILT, "DONE"], citations=[[1]])
    tools = script.toolbox()
    asked = Toolbox(
        tools.llm, retriever=tools.retriever, entailment=tools.entailment, answerability=OUT
    )
    answer = build_vtg(asked).invoke({"question": "Who built the tower?"})["answer"]
    assert (answer.text, answer.status) == (f"{BUILT[:-1]} [1].", "answered")
    assert len(answer.notes) == 3, "of the passages, of quotes, and of the claims"


async def test_an_evaluation_asks_again_what_was_not_checked(tmp_path: Path) -> None:
    works = toolbox()
    asked = examples(tmp_path, 2)
    broken = Toolbox(works.llm, retriever=works.retriever, entailment=OUT)
    await run(build_vtg(broken, max_claims=1), "vtg", asked, tmp_path / "run")
    [first, _] = read_results(tmp_path / "run/results.jsonl").values()
    assert first.error is not None
    assert "http://gpu does not answer" in first.error.message
    await run(build_vtg(works, max_claims=1), "vtg", asked, tmp_path / "run", resume=True)
    assert all(own.error is None for own in read_results(tmp_path / "run/results.jsonl").values())
