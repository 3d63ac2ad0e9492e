"""The answerer writes an answer whose sentences cite passages of the memory."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents import answerer as answerer_module
from citeproof.agents.answerer import Answerer
from citeproof.testing import ScriptedChatModel
from tests.agents.states import A, B, C, state


def answerer(reply: str, **knobs: Any) -> tuple[Answerer, ScriptedChatModel]:
    model = ScriptedChatModel([reply])
    return Answerer(LLM(model), **knobs), model


async def test_sentences_become_unchecked_claims_with_their_citations() -> None:
    node, _ = answerer("Ann Lee built the tower [1]. It was lit in 1871 [2][1].")
    first, second = (await node(state()))["claims"]
    assert first.text == "Ann Lee built the tower."
    assert [(c.passage_id, c.number, c.sentence) for c in first.citations] == [
        ("a", 1, "Ann Lee built the tower.")
    ]
    assert [c.number for c in second.citations] == [2, 1]
    assert {first.verdict.status, second.verdict.status} == {"unchecked"}
    assert first.verdict.reason


async def test_numbers_that_no_passage_of_the_memory_bears_are_dropped() -> None:
    """C is known to the run, as number 3, but it is not in the memory."""
    node, _ = answerer("The keeper was Bo Ray [3][0][9][2].")
    [claim] = (await node(state()))["claims"]
    assert [c.number for c in claim.citations] == [2]
    assert claim.text == "The keeper was Bo Ray."


async def test_a_sentence_without_citations_stays() -> None:
    node, _ = answerer("Ann Lee built the tower. It is white [1].")
    assert [len(c.citations) for c in (await node(state()))["claims"]] == [0, 1]


async def test_at_most_three_passages_are_cited() -> None:
    node, _ = answerer("All of it [1][2][3][4].")
    passages = {n: A.model_copy(update={"id": f"p{n}"}) for n in range(1, 5)}
    [claim] = await node.write("Who?", passages)
    assert [c.number for c in claim.citations] == [1, 2, 3]


async def test_no_passages_is_no_answer_and_no_call() -> None:
    node, model = answerer("Made up [1].")
    assert await node(state(long_term=[])) == {"claims": []}
    assert model.calls == []


@pytest.mark.parametrize(
    "reply",
    ["", " \n", "[1]", "DONE", "Done.", "**DONE**", "**Done.**", "DONE. Nothing answers it."],
)
async def test_a_reply_that_says_nothing_is_no_claim(reply: str) -> None:
    node, _ = answerer(reply)
    assert await node(state()) == {"claims": []}


async def test_a_name_that_begins_with_the_end_token_is_no_end() -> None:
    node, _ = answerer("Done Deal was released in 1998 [1]. It was lit in 1871 [2].")
    claims = (await node(state()))["claims"]
    assert [(claim.text, [c.number for c in claim.citations]) for claim in claims] == [
        ("Done Deal was released in 1998.", [1]),
        ("It was lit in 1871.", [2]),
    ]


@pytest.mark.parametrize("label", ["**Answer:** ", "Answer: ", "Answer:\n", "answer: [2] "])
async def test_a_label_is_no_part_of_the_answer(label: str) -> None:
    node, _ = answerer(f"{label}Ann Lee built the tower [1].")
    [claim] = (await node(state()))["claims"]
    assert claim.text == "Ann Lee built the tower."
    assert [c.number for c in claim.citations] == ([2, 1] if "[2]" in label else [1])


async def test_the_prompt_shows_the_memory_and_its_numbers() -> None:
    node, model = answerer("x")
    await node.write("Who kept it?", {2: B, 7: C})
    [call] = model.calls
    assert call.prompt.index("1871") < call.prompt.index("Bo Ray") < call.prompt.index("such as")
    assert "such as [2]" in call.prompt
    assert "numbered 2, 7." in call.prompt
    assert "DONE" not in call.prompt
    assert "example" not in call.prompt.lower()


async def test_the_demonstration_stands_after_the_passages() -> None:
    node, model = answerer("x", demonstration="Question: Why? Answer: So [1].")
    await node(state())
    prompt = model.calls[0].prompt
    assert prompt.index("</passage>") < prompt.index("Why? Answer: So [1].")
    assert prompt.index("Why? Answer: So [1].") < prompt.index("Answer this question")


async def test_length_temperature_and_abstaining_are_knobs() -> None:
    node, model = answerer("x", answer_tokens=44, temperature=0.8, may_abstain=True)
    await node(state())
    [call] = model.calls
    assert (call.arguments["max_tokens"], call.arguments["temperature"]) == (44, 0.8)
    assert "write only DONE" in call.prompt


SENTENCES = {
    "answer": [
        {"sentence": "Ann Lee built the tower.", "passages": [1]},
        {"sentence": "It was lit in 1871.", "passages": [2, 9, 1]},
    ]
}


async def test_a_model_may_be_asked_for_json() -> None:
    model = ScriptedChatModel([SENTENCES])
    claims = (await Answerer(LLM(model, answers_in_json=True))(state()))["claims"]
    assert [(c.text, [x.number for x in c.citations]) for c in claims] == [
        ("Ann Lee built the tower.", [1]),
        ("It was lit in 1871.", [2, 1]),
    ]
    assert '{"answer": [{"sentence"' in model.calls[0].prompt
    assert "square brackets" not in model.calls[0].prompt


async def test_of_json_the_sentences_are_told_as_they_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(answerer_module, "emit", lambda event: told.append(event.text))
    model = ScriptedChatModel([SENTENCES])
    await Answerer(LLM(model, answers_in_json=True))(state())
    assert len(told) > 3
    assert "".join(told) == "Ann Lee built the tower. It was lit in 1871."


async def test_marks_in_spite_of_json_are_read_and_json_in_spite_of_marks() -> None:
    for in_json, reply in ((True, "Ann Lee built the tower [1]."), (False, SENTENCES)):
        llm = LLM(ScriptedChatModel([reply]), answers_in_json=in_json)
        first = (await Answerer(llm)(state()))["claims"][0]
        assert first.text == "Ann Lee built the tower."
        assert [c.number for c in first.citations] == [1]


async def test_abstaining_in_json_is_an_empty_list() -> None:
    model = ScriptedChatModel([{"answer": []}])
    node = Answerer(LLM(model, answers_in_json=True), may_abstain=True)
    assert (await node(state()))["claims"] == []
    assert "write an empty list" in model.calls[0].prompt
