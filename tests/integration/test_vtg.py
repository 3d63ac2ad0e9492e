"""VTG on the embedded models, over the example documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citeproof import Answer, Settings, Toolbox, build_vtg
from citeproof.tools.citations.marks import strip_flags
from citeproof.tools.entailment import premise
from tests.conftest import block_network
from tests.integration.conftest import EXAMPLES

QUESTIONS = [
    json.loads(line)
    for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
DEMO = QUESTIONS[0]


def ask(tools: Toolbox, question: str, **parameters: Any) -> Answer:
    answer = build_vtg(tools, **parameters).invoke({"question": question})["answer"]
    assert isinstance(answer, Answer)
    return answer


def holds_together(answer: Answer) -> None:
    """What is true of every answer, whatever the models wrote."""
    assert len({p.id for p in answer.passages}) == len(answer.passages)
    for claim in answer.claims:
        assert claim.text
        assert "[" not in claim.text
        for citation in claim.citations:
            passage = answer.passages[citation.number - 1]
            assert passage.id == citation.passage_id
            assert citation.sentence in passage.text
        if claim.verdict.status == "supported":
            assert claim.citations
            assert claim.verdict.score is not None
    assert Answer.model_validate_json(answer.model_dump_json()) == answer


def test_the_demo_question_is_answered_with_proved_citations(tools: Toolbox) -> None:
    answer = ask(tools, DEMO["question"], quote_above=1.0)
    holds_together(answer)
    proved = " ".join(c.text for c in answer.claims if c.verdict.status == "supported")
    told = [part for own in DEMO["answers"] for part in own if part in proved]
    # Not both parts: on some processors a model of this size stops after the first.
    assert told
    assert all(part in premise(answer.passages) for part in told)
    # All prompts but the first begin with passages that the server has read.
    shared = 1 - 1 / answer.usage.llm_calls
    assert answer.usage.cached_tokens > 0.8 * shared * answer.usage.prompt_tokens


def test_a_sentence_that_surely_answers_is_quoted_without_a_call(tools: Toolbox) -> None:
    answer = ask(tools, "How long does the keeper's loaf stay good?")
    holds_together(answer)
    assert "nine days" in answer.text
    assert (answer.status, answer.usage.llm_calls) == ("answered", 0)


def test_what_no_document_says_is_not_passed_off_as_proved(tools: Toolbox) -> None:
    question = next(q["question"] for q in QUESTIONS if q["kind"] == "unanswerable")
    answer = ask(tools, question, k=2, max_trials=0, max_claims=1, check_answer=False)
    holds_together(answer)
    doubted = sum(claim.verdict.status != "supported" for claim in answer.claims)
    assert (answer.text != strip_flags(answer.text)) == bool(doubted)
    assert (answer.status == "answered") == (doubted == 0 and bool(answer.claims))


def test_what_no_document_says_is_not_found(tools: Toolbox) -> None:
    answer = ask(tools, "Who invented the telephone?")
    assert (answer.status, answer.claims) == ("not_found", ())
    assert answer.usage.llm_calls <= 5, "two looks, and nothing is written"
    assert answer.nearest
    assert all(near.sentence in near.passage.text for near in answer.nearest)


def test_a_batch_of_questions_on_one_embedded_server(tools: Toolbox) -> None:
    asked = [q["question"] for q in QUESTIONS if q["kind"] == "shared"][:2]
    graph = build_vtg(tools, max_claims=1, max_trials=0, k=2, quote_above=1.0)
    results = graph.batch([{"question": q} for q in asked])
    for question, result in zip(asked, results, strict=True):
        holds_together(result["answer"])
        assert result["answer"].question == question


def test_nothing_leaves_the_machine(
    tools: Toolbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Indexing and answering with the embedded models; attempts that a library hides count."""
    tried = block_network(monkeypatch)
    settings = Settings.load(chroma={"path": tmp_path / "store"}, models={"offline": True})
    with Toolbox.from_settings(settings) as own:
        assert own.index is not None
        assert own.index.update([EXAMPLES / "documents" / "tregears-bakery.md"]).passages > 3
        question = "How long does the keeper's loaf stay good?"
        answer = ask(own, question, max_claims=1, k=2, quote_above=1.0)
    assert answer.claims
    assert tried == []
