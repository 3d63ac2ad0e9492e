"""VeriCite, QUOTE FIRST and STRUCTURED from question to answer, on scripted models."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Answer, Toolbox
from citeproof.graphs.registry import METHODS
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment
from tests.graphs.scripts import BUILT, KEPT, LIT, A, B, C
from tests.watching import started, watch

QUESTION = "Who built the tower, and when was it lit?"
WRONG = "Cy Fox built the tower."
MADE_UP = "Cy Fox sold the lamp."
DRAFT, EXTRACT, FINAL = (
    "Answer this question from the passages",
    "Copy from",
    "Answer this question from statements",
)
EVIDENCE = "Answer the question from this passage"
OPENING = ["question_reader", "retriever"]


class Run:
    """A method whose model replies by the words of the prompt."""

    def __init__(self, name: str, replies: dict[str, Any], **parameters: Any) -> None:
        self.model = ScriptedChatModel(replies)
        tools = Toolbox(
            self.model,
            retriever=ListRetriever(lambda _: [A, B, C]),
            entailment=TableEntailment(lambda premise, claim: 0.9 if claim in premise else 0.1),
        )
        self.graph = METHODS[name].build(tools, **parameters)

    def __call__(self) -> Answer:
        result = self.graph.invoke({"question": QUESTION})
        assert set(result) == {"question", "answer", "messages", "ledger"}
        assert isinstance(result["answer"], Answer)
        return result["answer"]

    async def nodes(self) -> list[str]:
        return started(await watch(self.graph, {"question": QUESTION}))

    def asked(self, words: str) -> list[str]:
        """The prompts with these words."""
        return [call.prompt for call in self.model.calls if words in call.prompt]


def cited(answer: Answer) -> list[tuple[str, str, list[str]]]:
    """Text, verdict and cited passages of each claim."""
    return [
        (claim.text, claim.verdict.status, [c.passage_id for c in claim.citations])
        for claim in answer.claims
    ]


# VeriCite

STAGES = {
    FINAL: f"{BUILT[:-1]} [1]. {LIT[:-1]} [2].",
    DRAFT: f"{WRONG[:-1]} [1]. {BUILT[:-1]} [1].",
    f'title="{A.title}"': "irrelevant",
    f'title="{B.title}"': f"{LIT} The lamp was green.",
    f'title="{C.title}"': "Irrelevant.",
}


async def test_vericite_answers_with_what_draft_and_passages_prove() -> None:
    run = Run("vericite", STAGES)
    answer = run()
    assert cited(answer) == [(BUILT, "supported", ["a"]), (LIT, "supported", ["b"])]
    assert (answer.status, answer.method, answer.usage.llm_calls) == ("answered", "vericite", 5)
    assert len(run.asked(EVIDENCE)) == 3
    [final] = run.asked(FINAL)
    assert final.index(f"- {LIT[:-1]} [2].") < final.index(f"- {BUILT[:-1]} [1].")
    assert WRONG not in final
    assert "green" not in final
    assert KEPT not in final
    assert await run.nodes() == [
        *OPENING,
        "answerer",
        "summarizer",
        "evidence_selector",
        "grounded_answerer",
        "claims_verifier",
        "answer_composer",
    ]


@pytest.mark.parametrize(
    ("parameters", "calls", "kept"),
    [
        ({"statements": "draft"}, 2, [BUILT]),
        ({"statements": "evidence"}, 4, [LIT]),
        ({"refine": False}, 4, [LIT, BUILT]),
        ({"refine": False, "statements": "draft"}, 1, [BUILT]),
    ],
)
def test_stages_of_vericite_can_be_left_out(
    parameters: dict[str, Any], calls: int, kept: list[str]
) -> None:
    run = Run("vericite", STAGES, **parameters)
    answer = run()
    assert answer.usage.llm_calls == calls
    if finals := run.asked(FINAL):
        assert [text for text in (BUILT, LIT) if f"- {text[:-1]}" in finals[0]] == kept
    else:
        assert cited(answer) == [
            (text, "supported", ["a" if text == BUILT else "b"]) for text in kept
        ]


def test_vericite_says_nothing_where_no_statement_is_proved() -> None:
    run = Run("vericite", {DRAFT: f"{WRONG[:-1]} [1].", "": "irrelevant"})
    answer = run()
    assert (answer.status, answer.claims) == ("not_found", ())
    assert run.asked(FINAL) == []


def test_statements_stand_for_an_answer_that_cannot_be_read() -> None:
    answer = Run("vericite", {**STAGES, FINAL: "DONE"})()
    assert [text for text, *_ in cited(answer)] == [LIT, BUILT]
    assert any("the statements replace it" in note for note in answer.notes)


# QUOTE FIRST

QUOTES = {
    EXTRACT: f"ann lee built the tower [2]. {MADE_UP[:-1]} [1]. {LIT[:-1]} [2].",
    FINAL: f"{BUILT[:-1]} [1]. The tower was lit in 1999 [2].",
}


async def test_quotes_are_verified_before_the_answer_is_written() -> None:
    run = Run("quote-first", QUOTES)
    answer = run()
    [final] = run.asked(FINAL)
    assert f"- {BUILT[:-1]} [1].\n- {LIT[:-1]} [2]." in final  # the number is put right
    assert MADE_UP not in final
    assert f'title="{C.title}"' not in final
    assert cited(answer) == [
        (BUILT, "supported", ["a"]),
        ("The tower was lit in 1999.", "unsupported", ["b"]),
    ]
    assert (answer.status, answer.usage.llm_calls) == ("partial", 2)
    assert any(MADE_UP in note for note in answer.notes)
    assert await run.nodes() == [
        *OPENING,
        "quote_extractor",
        "quote_verifier",
        "grounded_answerer",
        "claims_verifier",
        "answer_composer",
    ]


def test_verified_quotes_may_be_the_answer() -> None:
    answer = Run("quote-first", QUOTES, write=False)()
    assert cited(answer) == [(BUILT, "supported", ["a"]), (LIT, "supported", ["b"])]
    assert (answer.status, answer.usage.llm_calls) == ("answered", 1)


@pytest.mark.parametrize(("nearest", "text"), [(True, [BUILT]), (False, [])])
def test_a_paraphrase_gives_way_to_the_sentence_of_its_passage(
    nearest: bool, text: list[str]
) -> None:
    replies = {EXTRACT: "The tower was built by Ann Lee [1]."}
    answer = Run("quote-first", replies, write=False, nearest=nearest)()
    assert [claim.text for claim in answer.claims] == text


@pytest.mark.parametrize("nearest", [True, False])
def test_a_part_of_a_sentence_proves_nothing_by_itself(nearest: bool) -> None:
    replies = {EXTRACT: "The tower was lit. [2]"}
    answer = Run("quote-first", replies, write=False, nearest=nearest)()
    assert [claim.text for claim in answer.claims] == [LIT]


@pytest.mark.parametrize("reply", ["DONE", "Cy Fox lit the lamp [1]."])
def test_without_a_verified_quote_there_is_no_answer(reply: str) -> None:
    run = Run("quote-first", {EXTRACT: reply})
    answer = run()
    assert (answer.status, answer.claims, answer.usage.llm_calls) == ("not_found", (), 1)
    assert {near.passage.id for near in answer.nearest} == {"a", "b", "c"}


# STRUCTURED


async def test_structured_asks_for_json_in_one_call() -> None:
    sentences = [{"sentence": BUILT, "passages": [1]}, {"sentence": WRONG, "passages": [2, 9]}]
    run = Run("structured", {"": {"answer": sentences}})
    answer = run()
    assert cited(answer) == [(BUILT, "supported", ["a"]), (WRONG, "unsupported", ["b"])]
    assert answer.usage.llm_calls == 1
    assert 'Write JSON: {"answer"' in run.model.calls[0].prompt
    assert await run.nodes() == [*OPENING, "answerer", "claims_verifier", "answer_composer"]


def test_structured_may_leave_its_claims_unchecked_and_may_abstain() -> None:
    sentences = [{"sentence": BUILT, "passages": [1]}]
    answer = Run("structured", {"": {"answer": sentences}}, prove=False)()
    assert cited(answer) == [(BUILT, "unchecked", ["a"])]
    run = Run("structured", {"": {"answer": []}})
    assert run().status == "not_found"
    assert "write an empty list" in run.model.calls[0].prompt
