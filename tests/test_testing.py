"""The stand-ins do what they promise."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel

from citeproof.errors import InputError, ModelReplyError
from citeproof.prompts import Prompt
from citeproof.testing import (
    Call,
    Choice,
    ListRetriever,
    ScriptedChatModel,
    TableEntailment,
    passage,
)
from citeproof.tools.entailment import Pair
from citeproof.tools.llm.model import LLM
from citeproof.types import Passage

ASK = Prompt("System.", "Question: Why?", "Answer now.")


class Cited(BaseModel):
    citations: list[int]


def test_a_list_is_given_in_order_until_it_runs_out() -> None:
    model = ScriptedChatModel(["One.", "Two."])
    assert [model.invoke("a").text, model.invoke("b").text] == ["One.", "Two."]
    with pytest.raises(InputError, match="run out after 2 replies.*asked once more.*'the end'"):
        model.invoke("the end")
    assert [call.prompt for call in model.calls] == ["a", "b", "the end"]


async def test_running_out_is_not_taken_for_an_outage_or_a_bad_reply() -> None:
    llm = LLM(ScriptedChatModel([]), role="judge")
    with pytest.raises(InputError, match="run out after 0 replies.*by judge ending with"):
        await llm.text(ASK)
    with pytest.raises(InputError):
        await llm.parse(ASK, Cited)


async def test_a_function_sees_the_whole_prompt() -> None:
    llm = LLM(ScriptedChatModel(lambda prompt: prompt.upper()))
    assert await llm.text(ASK) == "SYSTEM.\n\nQUESTION: WHY?\n\nANSWER NOW."


async def test_a_mapping_goes_by_role_or_part_of_the_prompt() -> None:
    model = ScriptedChatModel({"judge": Choice(Yes=0.75, No=0.25), "Answer": ["A.", "B."]})
    llm = LLM(model)
    assert await llm.for_role("judge").choose(ASK, ("Yes", "No")) == {"Yes": 0.75, "No": 0.25}
    assert [await llm.text(ASK), await llm.text(ASK)] == ["A.", "B."]
    with pytest.raises(InputError, match="run out after 2 replies for 'Answer'"):
        await llm.text(ASK)
    with pytest.raises(
        InputError, match="no reply for a prompt ending with 'x'.*'judge', 'Answer'"
    ):
        model.invoke("x")
    assert [call.role for call in model.calls] == ["judge", "default", "default", "default", ""]


async def test_a_streamed_call_has_its_role() -> None:
    model = ScriptedChatModel({"answerer": ["A."]})
    said: list[str] = []
    assert await LLM(model).for_role("answerer").text(ASK, on_delta=said.append) == "A."
    assert "".join(said) == "A."
    assert [call.role for call in model.calls] == ["answerer"]


async def test_objects_are_sent_as_json() -> None:
    llm = LLM(ScriptedChatModel([{"citations": [1]}, Cited(citations=[2]), '{"citations": [3]}']))
    assert [(await llm.parse(ASK, Cited)).citations for _ in range(3)] == [[1], [2], [3]]


async def test_exceptions_are_raised() -> None:
    model = ScriptedChatModel([ConnectionError("gone"), "Back."])
    assert await LLM(model, backoff=0).text(ASK) == "Back."
    with pytest.raises(ModelReplyError):
        await LLM(ScriptedChatModel([ModelReplyError("no")])).text(ASK)


async def test_streaming_gives_words_and_counts_tokens() -> None:
    model = ScriptedChatModel(["The tower  is\nold."])
    pieces = [chunk async for chunk in model.astream("Next sentence now:")]
    said = [str(piece.text) for piece in pieces if piece.text]
    assert said == ["The ", "tower  ", "is\n", "old."]
    counts = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert [p.usage_metadata for p in pieces if p.usage_metadata] == [
        {**counts, "input_token_details": {"cache_read": 0}}
    ]
    assert [str(p.text) for p in ScriptedChatModel(["a b"]).stream("x")][:2] == ["a ", "b"]


def test_a_shared_beginning_counts_as_cached() -> None:
    model = ScriptedChatModel(lambda prompt: "ok")
    model.invoke("the same beginning one")
    told = model.invoke("the same beginning two").usage_metadata
    assert told is not None
    assert told["input_token_details"] == {"cache_read": 3}


async def test_stop_cuts_the_reply_and_arguments_are_recorded() -> None:
    model = ScriptedChatModel(["One. Two."])
    assert await LLM(model).text(ASK, stop=[" Two"], max_tokens=9, temperature=0.5) == "One."
    prompt = "System.\n\nQuestion: Why?\n\nAnswer now."
    arguments = {"max_tokens": 9, "temperature": 0.5, "stop": [" Two"]}
    assert model.calls == [Call("default", prompt, arguments)]


async def test_choices_without_probabilities() -> None:
    assert await LLM(ScriptedChatModel(["Yes."])).choose(ASK, ("Yes", "No")) == {"Yes": 1, "No": 0}
    silent = ScriptedChatModel([Choice(Yes=0.6, No=0.4)], logprobs=False)
    assert await LLM(silent).choose(ASK, ("Yes", "No")) == {"Yes": 1, "No": 0}


def test_threads_share_a_script_without_repeats() -> None:
    model = ScriptedChatModel([str(n) for n in range(200)])
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: str(model.invoke("x").text), range(200)))
    assert sorted(replies, key=int) == [str(n) for n in range(200)]


def test_a_reply_of_a_wrong_type_is_an_error() -> None:
    with pytest.raises(InputError, match="can't reply with a int"):
        ScriptedChatModel([3]).invoke("x")  # type: ignore[list-item]


async def test_table_entailment() -> None:
    model = TableEntailment(
        {("sky", "It is blue."): 0.9, ("Title: T\nsky and sea", "It is blue."): 0.1}, default=0.2
    )
    pairs = [
        Pair("the sky", "It is blue."),
        Pair("Title: T\nsky and sea", "It is blue."),
        Pair("earth", "It is blue."),
    ]
    assert await model.scores(pairs) == [0.9, 0.1, 0.2]
    assert (model.pairs, model.batches) == (pairs, [3])
    assert (model.name, model.threshold) == ("table", 0.5)
    by_function = TableEntailment(lambda premise, claim: float(claim in premise), threshold=0.8)
    assert await by_function.scores([Pair("a b", "b"), Pair("a", "b")]) == [1.0, 0.0]
    assert by_function.threshold == 0.8
    with pytest.raises(InputError, match="not from 0 to 1"):
        await TableEntailment(lambda *_: float("nan")).scores(pairs)


async def test_list_retriever() -> None:
    tower, sea = passage("The tower is old.", title="Tower"), passage("The sea is blue.", id="s")
    ranked = ListRetriever([sea, tower])
    assert await ranked.retrieve("How old is the TOWER?", 1) == [tower]
    assert await ranked.retrieve("xyz") == []
    assert ranked.queries == ["How old is the TOWER?", "xyz"]
    by_key = ListRetriever({"tower": [tower, sea], "": [sea]})
    assert await by_key.retrieve("the tower", 2) == [tower, sea]
    assert await by_key.retrieve("else") == [sea]
    assert await ListRetriever(lambda query: [sea]).retrieve("x") == [sea]


def test_passage_is_a_shorthand() -> None:
    assert passage("Some text.", title="T", id="a") == Passage(id="a", title="T", text="Some text.")
    assert passage("x").id == passage("x").id != passage("y").id
    assert json.loads(passage("x").model_dump_json())["text"] == "x"
