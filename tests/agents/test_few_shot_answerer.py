"""Answers after examples, from passages or from short forms of them, with reasoning or without."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.few_shot_answerer import FewShotAnswerer
from citeproof.prompts.demonstrations import demonstrations
from citeproof.testing import ScriptedChatModel
from citeproof.tools.cited_json import answer_json
from citeproof.tools.marked_text import read_marked
from citeproof.tools.meter import Meter, metered
from tests.agents.baseline_states import reading
from tests.agents.states import A

SAID = "Ann Lee built the tower [1]. It was lit in 1871 [2][7]."


def answerer(reply: str = SAID, **knobs: Any) -> tuple[FewShotAnswerer, ScriptedChatModel]:
    model = ScriptedChatModel([reply])
    return FewShotAnswerer(LLM(model), **knobs), model


def read(claims: Any) -> list[tuple[str, list[int]]]:
    return [(c.text, [x.number for x in c.citations]) for c in claims]


async def test_the_answer_is_claims_that_cite_the_memory() -> None:
    node, _ = answerer()
    claims = (await node(reading()))["claims"]
    assert read(claims) == [("Ann Lee built the tower.", [1]), ("It was lit in 1871.", [2])]
    assert {claim.verdict.status for claim in claims} == {"unchecked"}


@pytest.mark.parametrize("form", ["prose", "list", "short"])
@pytest.mark.parametrize("shots", [0, 1, 2])
async def test_so_many_examples_are_shown_with_their_passages(form: Any, shots: int) -> None:
    node, model = answerer("Ann Lee [1]", form=form, shots=shots)
    await node(reading())
    [call] = model.calls
    for place, example in enumerate(demonstrations(form)):
        shown = place < shots
        assert (example.answer in call.prompt) is shown
        assert all((p.text in call.prompt) is shown for p in example.passages.values())
        assert example.reasoning not in call.prompt
    assert call.prompt.count("An example of an answer") == shots
    assert call.prompt.index(A.text) < call.prompt.rindex("Who built the tower?")
    if shots:
        assert call.prompt.rindex("An example") < call.prompt.index(A.text)


async def test_the_examples_come_first_so_that_all_questions_share_them() -> None:
    model = ScriptedChatModel([SAID, SAID])
    node = FewShotAnswerer(LLM(model))
    await node(reading())
    await node(reading(question="When was it lit?"))
    one, other = (call.prompt for call in model.calls)
    examples = one.index("Question: Who built the tower?")
    assert one[:examples] == other[:examples]
    assert "\n\nQuestion: Who built the tower?\n\n<passage" in one


async def test_examples_are_shown_as_json_where_the_answer_is_asked_for_so() -> None:
    reply = {"answer": [{"sentence": "Ann Lee built the tower.", "passages": [1, 9]}]}
    model = ScriptedChatModel([reply])
    node = FewShotAnswerer(LLM(model, answers_in_json=True))
    assert read((await node(reading()))["claims"]) == [("Ann Lee built the tower.", [1])]
    [call] = model.calls
    for example in demonstrations("prose"):
        assert example.answer not in call.prompt
        assert answer_json(read_marked(example.answer)) in call.prompt


async def test_reasoning_and_names_are_asked_for_with_marks_all_the_same() -> None:
    for knobs in ({"reasoning": True}, {"form": "list"}, {"form": "short"}):
        model = ScriptedChatModel(["Answer: Ann Lee [1]"])
        node = FewShotAnswerer(LLM(model, answers_in_json=True), **knobs)
        assert read((await node(reading()))["claims"]) == [("Ann Lee", [1])]
        assert '"sentence"' not in model.calls[0].prompt


async def test_a_short_answer_is_one_claim_with_up_to_three_citations() -> None:
    node, _ = answerer("Answer: Lee, Ann [2][1].\nShe built it.", form="short")
    assert read((await node(reading()))["claims"]) == [("Lee, Ann", [2, 1])]


async def test_the_model_reads_short_forms_and_cites_the_passages() -> None:
    node, model = answerer("Ann Lee built the tower [1].")
    [claim] = (await node(reading(summaries={"a": "Lee: builder."})))["claims"]
    [call] = model.calls
    assert "Lee: builder." in call.prompt
    assert A.text not in call.prompt
    assert "lit in 1871" in call.prompt, "what has no short form is read in full"
    assert claim.citations[0].sentence == "Ann Lee built the tower."


async def test_reasoning_is_asked_for_shown_and_not_part_of_the_answer() -> None:
    reply = "Passage 1 gives the answer: Ann Lee [1].\n**Answer:** Ann Lee built the tower [1]."
    node, model = answerer(reply, reasoning=True, answer_tokens=50)
    assert read((await node(reading()))["claims"]) == [("Ann Lee built the tower.", [1])]
    [call] = model.calls
    example = demonstrations("prose")[0]
    assert f"{example.reasoning}\nAnswer: {example.answer}" in call.prompt
    assert 'with the word "Answer:"' in call.prompt
    assert call.arguments["max_tokens"] == 300


@pytest.mark.parametrize(("form", "count"), [("prose", 2), ("list", 0), ("short", 0)])
async def test_reasoning_without_a_heading_is_noted(form: Any, count: int) -> None:
    node, _ = answerer(reasoning=True, form=form)
    with metered(Meter()) as meter:
        assert len((await node(reading()))["claims"]) == count
    assert meter.notes == ["answerer: no heading parts the reasoning from the answer"]


async def test_no_passages_is_no_answer_and_no_call() -> None:
    node, model = answerer()
    assert await node(reading(long_term=[])) == {"claims": []}
    assert model.calls == []


async def test_tokens_and_temperature() -> None:
    node, model = answerer(answer_tokens=77, temperature=0.3)
    await node(reading())
    arguments = model.calls[0].arguments
    assert (arguments["max_tokens"], arguments["temperature"]) == (77, 0.3)
