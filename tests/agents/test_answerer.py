"""The answerer writes an answer whose claims cite passages of the memory, or none at all."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM
from citeproof.agents.answerer import Answerer, VerifierLM
from citeproof.prompts.demonstrations import demonstrations
from citeproof.runtime.events import ClaimDelta
from citeproof.testing import ScriptedChatModel
from citeproof.tools.citations.cited_json import answer_json
from citeproof.tools.citations.marked_text import read_marked
from tests.agents.one_node import SlowLLM, asking, noted, told
from tests.agents.states import BUILT, LIT, A, B, candidate, claim, judged, numbered, state

SAID = "Ann Lee built the tower [1]. It was lit in 1871 [2][7]."
JSON = {
    "answer": [
        {"sentence": "Ann Lee built the tower.", "passages": [1]},
        {"sentence": "It was lit in 1871.", "passages": [2, 9, 1]},
    ]
}
FORMS = ["prose", "list", "short"]


def answerer(reply: Any = SAID, **knobs: Any) -> tuple[Answerer, ScriptedChatModel]:
    return asking(Answerer, reply, **knobs)


def in_json(reply: Any, **knobs: Any) -> tuple[Answerer, ScriptedChatModel]:
    model = ScriptedChatModel([reply])
    return Answerer(LLM(model, answers_in_json=True), **knobs), model


async def claims_of(node: Answerer, **changes: Any) -> list[tuple[str, list[int]]]:
    return numbered((await node(state(**changes)))["claims"])


# Claims


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("knobs", [{}, {"shots": 2}, {"reasoning": True}])
async def test_no_passages_is_no_answer_and_no_call(form: Any, knobs: Any) -> None:
    node, model = answerer("Made up [1].", form=form, **knobs)
    assert await node(state(long_term=[])) == {"claims": []}
    assert model.calls == []


@pytest.mark.parametrize(
    "reply",
    ["", " \n", "[1]", "DONE", "Done.", "**DONE**", "**Done.**", "DONE. Nothing answers it."],
)
async def test_a_reply_that_says_nothing_is_no_claim(reply: str) -> None:
    node, _ = answerer(reply)
    assert await node(state()) == {"claims": []}


@pytest.mark.parametrize(
    ("label", "numbers"),
    [("**Answer:** ", [1]), ("Answer: ", [1]), ("Answer:\n", [1]), ("answer: [2] ", [2, 1])],
)
async def test_a_label_is_no_part_of_the_answer(label: str, numbers: list[int]) -> None:
    node, _ = answerer(f"{label}Ann Lee built the tower [1].")
    assert await claims_of(node) == [("Ann Lee built the tower.", numbers)]


# What is asked


async def test_length_temperature_and_abstaining_are_knobs() -> None:
    node, model = answerer("x", answer_tokens=44, temperature=0.8, may_abstain=True)
    await node(state())
    [call] = model.calls
    assert call.arguments == {"max_tokens": 44, "temperature": 0.8}
    assert call.prompt.endswith("If the passages do not answer the question, write only DONE.")


# Events


@pytest.mark.parametrize(
    ("knobs", "pieces"),
    [({}, ["It ", "was ", "lit ", "[2]."]), ({"samples": 2}, []), ({"reasoning": True}, [])],
)
async def test_an_answer_is_told_as_it_comes_but_no_reasoning(knobs: Any, pieces: Any) -> None:
    node, _ = asking(Answerer, *["It was lit [2]."] * 2, **knobs)
    events = await told(node, state())
    assert [event.text for event in events if isinstance(event, ClaimDelta)] == pieces


# Examples and short forms


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shots", [0, 1, 2])
async def test_so_many_examples_are_shown_with_their_passages(form: Any, shots: int) -> None:
    node, model = answerer("Ann Lee [1]", form=form, shots=shots)
    await node(state())
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


async def test_examples_are_shown_as_json_where_the_answer_is_asked_for_so() -> None:
    node, model = in_json(JSON, shots=2)
    assert await claims_of(node) == [
        ("Ann Lee built the tower.", [1]),
        ("It was lit in 1871.", [2, 1]),
    ]
    [call] = model.calls
    for example in demonstrations("prose"):
        assert example.answer not in call.prompt
        assert answer_json(read_marked(example.answer)) in call.prompt


@pytest.mark.parametrize("knobs", [{"reasoning": True}, {"form": "list"}, {"form": "short"}])
async def test_reasoning_and_names_are_asked_for_with_marks_all_the_same(knobs: Any) -> None:
    node, model = in_json("Answer: Ann Lee [1]", shots=2, **knobs)
    assert await claims_of(node) == [("Ann Lee", [1])]
    assert '"sentence"' not in model.calls[0].prompt


async def test_the_model_reads_short_forms_and_cites_the_passages() -> None:
    node, model = answerer("Ann Lee built the tower [1].")
    [claim] = (await node(state(short_forms={"a": "Lee: builder."})))["claims"]
    [call] = model.calls
    assert "Lee: builder." in call.prompt
    assert A.text not in call.prompt
    assert B.text in call.prompt, "what has no short form is read in full"
    assert [(c.passage_id, c.sentence) for c in claim.citations] == [
        ("a", "Ann Lee built the tower.")
    ]


# Reasoning


async def test_reasoning_is_asked_for_shown_and_not_part_of_the_answer() -> None:
    reply = "Passage 1 gives the answer: Ann Lee [1].\n**Answer:** Ann Lee built the tower [1]."
    node, model = answerer(reply, reasoning=True, shots=2, answer_tokens=50)
    assert await claims_of(node) == [("Ann Lee built the tower.", [1])]
    [call] = model.calls
    example = demonstrations("prose")[0]
    assert f"{example.reasoning}\nAnswer: {example.answer}" in call.prompt
    assert 'with the word "Answer:"' in call.prompt
    assert call.arguments["max_tokens"] == 300


@pytest.mark.parametrize(
    ("form", "claims"),
    [
        ("prose", [("Ann Lee built the tower.", [1]), ("It was lit in 1871.", [2])]),
        ("list", []),
        ("short", []),
    ],
)
async def test_reasoning_without_a_heading_is_noted(form: Any, claims: Any) -> None:
    node, _ = answerer(reasoning=True, form=form)
    found, notes = await noted(claims_of(node))
    assert (found, notes) == (
        claims,
        ["answerer: no heading separates the reasoning from the answer"],
    )


# Samples


async def test_each_sample_is_an_answer_to_the_same_prompt() -> None:
    model = ScriptedChatModel(["One [1].", "Two [2].", "DONE"])
    node = Answerer(LLM(model), samples=3, temperature=1.0)
    update = await node(state())
    assert sorted(numbered(claims) for claims in update["samples"]) == [
        [],
        [("One.", [1])],
        [("Two.", [2])],
    ]
    assert update.keys() == {"samples"}
    assert len({call.prompt for call in model.calls}) == 1
    assert [call.arguments["temperature"] for call in model.calls] == [1.0] * 3


async def test_they_are_asked_for_at_once_each_with_a_seed_of_its_own() -> None:
    llm = SlowLLM("One [1].")
    await Answerer(llm, samples=4)(state())
    assert llm.most == 4
    assert sorted(llm.samples) == [0, 1, 2, 3]


# Without passages

ASKED: Any = {"question": "Who built it?", "passages": [A]}


@pytest.mark.parametrize(
    ("form", "reply", "texts"),
    [
        (
            "prose",
            "Answer: Ann Lee built it [1]. It is white.",
            ["Ann Lee built it.", "It is white."],
        ),
        ("list", "Ann Lee, Bo Ray", ["Ann Lee", "Bo Ray"]),
        ("short", "June 5, 1871.", ["June 5, 1871"]),
        ("prose", "Ann Lee built it.\nQuestion: Why?\nAnswer: For fun.", ["Ann Lee built it."]),
        ("prose", "", []),
    ],
)
async def test_a_closed_book_answer_is_claims_that_cite_nothing(
    form: Any, reply: str, texts: list[str]
) -> None:
    node, _ = answerer(reply, form=form, closed_book=True)
    assert numbered((await node(ASKED))["claims"]) == [(text, []) for text in texts]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shots", [0, 2])
async def test_the_prompt_of_a_closed_book_speaks_of_no_passages(form: Any, shots: int) -> None:
    node, model = answerer("x", form=form, shots=shots, temperature=0.2, closed_book=True)
    await node(ASKED)
    [call] = model.calls
    assert "passage" not in call.prompt
    assert "[1]" not in call.prompt
    assert A.text not in call.prompt
    assert call.prompt.endswith("Question: Who built it?\nAnswer:")
    assert call.prompt.count("Question: ") == shots + 1
    assert (demonstrations(form)[0].question in call.prompt) is (shots > 0)
    assert call.arguments["temperature"] == 0.2


async def test_with_passages_nothing_is_cut_off() -> None:
    node, model = answerer("Ann Lee built it [1].\nQuestion: Why? For fun [1].")
    assert await claims_of(node) == [
        ("Ann Lee built it.", [1]),
        ("Question: Why?", []),
        ("For fun.", [1]),
    ]
    assert "stop" not in model.calls[0].arguments


# Names from claims

THREE = claim("The tower has three lamps and 1,000 steps.", 2)
READ = "answerer: no short answer could be read; the sentences stand"


@pytest.mark.parametrize(
    ("question", "reply", "names"),
    [
        ("Who built the tower?", "Ann Lee [2]", []),
        ("Who built the tower?", "Ann Lee", [("Ann Lee", [1, 2])]),
        ("Who built the tower?", "Unknown", []),
        ("Who built the tower?", "The sentences do not say who.", []),
        ("How many lamps has it?", "3 [2], 1000 step [2]", [("3", [2]), ("1000 step", [2])]),
        ("How many lamps has it?", "one [2]", []),
        ("Which tower of Oake?", "the tower of Oake [1]", [("the tower of Oake", [1])]),
        ("Is it by Ann Lee or Bo Ray?", "Bo Ray", []),
        ("Did Ann Lee build the tower?", "Yes [1]", [("Yes", [1])]),
        ("Who built the tower?", "Yes [1]", []),
    ],
)
async def test_a_name_is_one_that_the_claims_say(question: str, reply: str, names: Any) -> None:
    claims = [judged(said, "supported", score=0.9) for said in (claim(BUILT, 1), THREE)]
    node, _ = answerer(reply, form="list", from_claims=True)
    update, notes = await noted(node(state(question=question, claims=claims)))
    assert numbered(update["claims"]) == (names or numbered(claims))
    assert (READ in notes) is (not names)


async def test_a_name_that_no_claim_says_is_left_out_of_a_list() -> None:
    claims = [judged(claim(BUILT, 1), "supported", score=0.9)]
    node, _ = answerer("Ann Lee [1], Bo Ray [1]", form="list", from_claims=True)
    update, notes = await noted(node(state(claims=claims)))
    assert numbered(update["claims"]) == [("Ann Lee", [1])]
    assert notes == ["answerer: left out, as the sentences do not say it: Bo Ray"]


async def test_a_name_has_the_worst_verdict_of_its_claims() -> None:
    claims = [judged(claim(BUILT, 1), "supported", score=0.9), judged(THREE, "unsupported")]
    node, _ = answerer("Ann Lee", form="short", from_claims=True)
    [name] = (await node(state(claims=claims)))["claims"]
    assert (name.text, name.verdict.status) == ("Ann Lee", "unsupported")


# The verifier LM reads what the main LM cited, and nothing else


def verifier(*replies: str, **knobs: Any) -> tuple[VerifierLM, ScriptedChatModel]:
    return asking(VerifierLM, *replies, main_llm=LLM(ScriptedChatModel([])), **knobs)


@pytest.mark.parametrize("claims", [[], [claim(BUILT), claim(LIT)]])
async def test_nothing_cited_is_nothing_to_read_and_no_call(claims: list[Any]) -> None:
    node, model = verifier()
    assert await node(candidate(claims=claims)) == {"verifier_claims": []}
    assert model.calls == []


async def test_it_answers_in_the_form_and_length_of_the_main_lm() -> None:
    node, model = verifier("Ann Lee [1], Bo Ray [1]", form="list", answer_tokens=44)
    said = (await node(candidate(claims=[claim("Ann Lee", 1)])))["verifier_claims"]
    assert [c.text for c in said] == ["Ann Lee", "Bo Ray"]
    assert model.calls[0].arguments["max_tokens"] == 44
