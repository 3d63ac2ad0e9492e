"""The summarizer says in short what passages hold, or shortens the memory (SUMM, SNIPPET)."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.summarizer import Summarizer
from citeproof.testing import ScriptedChatModel
from tests.agents.one_node import SlowLLM, noted
from tests.agents.states import search_state, state


def summarizer(
    reply: Any = lambda prompt: f"Sum:  {prompt.split('All about ')[1][0]}.\n",
    *,
    retries: int = 0,
    **knobs: Any,
) -> tuple[Summarizer, ScriptedChatModel]:
    model = ScriptedChatModel(reply)
    return Summarizer(LLM(model, retries=retries, backoff=0), **knobs), model


async def test_d_and_all_that_waits_are_summarised() -> None:
    node, model = summarizer(summary_tokens=33)
    update = await node(search_state(waiting=["d"]))
    assert update["summaries"] == {"a": "Sum: a.", "b": "Sum: b.", "d": "Sum: d."}
    assert {call.arguments["max_tokens"] for call in model.calls} == {33}
    assert "Which facts of this passage help" in model.calls[0].prompt
    for call in model.calls:
        assert "Question: Who?" in call.prompt
        assert call.prompt.count("All about") == 1


async def test_a_passage_is_summarised_once() -> None:
    node, model = summarizer()
    update = await node(search_state(waiting=["c"], summaries={"a": "kept", "b": "too"}))
    assert update["summaries"] == {"a": "kept", "b": "too", "c": "Sum: c."}
    assert len(model.calls) == 1


@pytest.mark.parametrize("at_once", [1, 2, 6])
async def test_they_are_written_in_parallel_up_to_a_limit(at_once: int) -> None:
    llm = SlowLLM("Sum.")
    update = await Summarizer(llm, at_once=at_once)(search_state(waiting=list("cdef")))
    assert update == {"summaries": dict.fromkeys("abcdef", "Sum.")}
    assert llm.most == at_once


@pytest.mark.parametrize("reply", ["", " \n", "…", "--"])
async def test_an_empty_summary_leaves_the_passages_own_text(reply: str) -> None:
    node, _ = summarizer([reply])
    update, notes = await noted(node(search_state(long_term=["a"], waiting=[])))
    assert update == {"summaries": {"a": "All about a."}}
    assert notes == ["summarizer: an empty summary, the passage's own text was read"]


# Shortening the memory


@pytest.mark.parametrize(
    ("style", "update"),
    [("", {"summaries": {}}), ("summary", {"short_forms": {}, "long_term": []})],
)
async def test_nothing_to_summarise_calls_nobody(style: Any, update: Any) -> None:
    node, model = summarizer([], style=style)
    assert await node(search_state(long_term=[], waiting=[])) == update
    assert model.calls == []


LONG = "The judge found the letter of the keeper irrelevant, and so the tower was sold at auction."


@pytest.mark.parametrize(
    ("text", "irrelevant"),
    [
        ("irrelevant", True),
        ('"Irrelevant."', True),
        (
            "Irrelevant. The passage is on cats, and says nothing that would help with it at all.",
            True,
        ),
        ("The passage is irrelevant to the question.", True),
        ("This passage is not relevant.", True),
        ("Lee built the tower.", False),
        (LONG, False),
    ],
)
async def test_what_counts_as_irrelevant(text: str, irrelevant: bool) -> None:
    node, _ = summarizer([text], style="summary")
    update = await node(state(long_term=["a"]))
    assert update["short_forms"] == ({} if irrelevant else {"a": text})


async def test_where_none_is_relevant_the_first_is_read_in_full() -> None:
    node, _ = summarizer(lambda _: "irrelevant", style="summary")
    update, notes = await noted(node(state()))
    assert update == {"short_forms": {}, "long_term": ["a"]}
    assert notes == ["summarizer: no passage was called relevant; the first was read in full"]
