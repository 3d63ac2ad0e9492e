"""Every method on the embedded models and Chroma, over the example documents."""

from __future__ import annotations

import re
from typing import Any

import pytest

import citeproof
from citeproof import Toolbox
from citeproof.compose import remember_with
from citeproof.graphs.registry import METHODS
from citeproof.state import QuestionInput
from tests.integration.test_vtg import holds_together

QUESTION = "How long does the keeper's loaf stay good?"
ANSWER = re.compile(r"\b(nine|9) days\b")
SMALL: dict[str, dict[str, Any]] = {
    "calm": {"max_rounds": 2, "k": 3},
    "composed": {"quote_above": 1.0},
    "llatrieval": {"candidates": 8, "summarize": False, "max_rounds": 2},
    "snippet": {"k": 3},
}
"""What keeps a run short; the steps are all there."""
ASTRAY = {
    "snippet",  # writes from parts of passages that the model chose, at times the wrong ones
}
APART = {"vtg", "r2-mga"}
"""They have tests of their own."""
SCRIPTED = {"closedbook", "cot", "oracle", "rerank", "summ", "usc"}
"""They have the steps of those that run here, with other prompts or several times, and run on
scripted models in `tests/graphs/test_alce.py`."""


@pytest.mark.parametrize("method", sorted(METHODS.keys() - SCRIPTED - APART))
async def test_a_question_is_answered_from_the_documents(method: str, tools: Toolbox) -> None:
    graph = METHODS[method].build(tools, **SMALL.get(method, {}))
    asked: QuestionInput = {"question": QUESTION}
    answer = (await graph.ainvoke(asked))["answer"]
    holds_together(answer)
    assert (answer.method, answer.question) == (method, QUESTION)
    assert (answer.usage.llm_calls > 0) == METHODS[method].writes
    assert answer.claims
    if method not in ASTRAY:
        # Not in which words: a model of this size writes others on another processor.
        cited = [c for claim in answer.claims for c in claim.citations]
        assert any(ANSWER.search(answer.passages[c.number - 1].text) for c in cited)
    assert all(c.verdict.score is not None for c in answer.claims if c.citations)


async def test_r2_mga_shows_a_case_of_the_memory_bank_and_keeps_the_reasons(
    tools: Toolbox,
) -> None:
    assert tools.bank is not None
    bank = tools.bank.within("cases")
    draft = citeproof.build_vanilla(tools, k=3)
    kept = await remember_with(draft, tools, namespace="cases").ainvoke({"question": QUESTION})
    assert kept["case_id"], "a proved answer becomes a case"

    later = citeproof.build_r2_mga(tools, k=2, assess="nli", namespace="cases", gate="nli")
    question: QuestionInput = {"question": "How many oars had the first lifeboat?"}
    holds_together((await later.ainvoke(question))["answer"])
    entry = await bank.get(kept["case_id"])
    assert entry is not None
    assert entry.rationales["generation"]
