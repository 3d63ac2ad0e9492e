"""LLatrieval as a retriever, alone and below another graph."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver

from citeproof import Toolbox, build_vtg
from citeproof.errors import InputError
from citeproof.graphs.llatrieval import build_llatrieval
from citeproof.runtime.meter import Meter, use_meter
from citeproof.testing import ScriptedChatModel, TableEntailment
from citeproof.tools.retrieval import coerce_retriever
from citeproof.tools.retrieval.llatrieval_retriever import LLatrievalRetriever
from tests.graphs.llatrieval_scripts import Search, pool

SMALL: dict[str, Any] = {"k": 2, "window": 3, "candidates": 6}


def search(**replies: Any) -> Search:
    said = {
        "document_selector": lambda _: {"numbers": [3, 1]},
        "retrieval_verifier": lambda _: "Yes",
    }
    return Search({"": "abc"}, **{**said, **replies})


def retriever(script: Search, **parameters: Any) -> LLatrievalRetriever:
    graph = build_llatrieval(script.toolbox(), **{**SMALL, **parameters})
    return LLatrievalRetriever(graph=graph)


def check(documents: Any) -> None:
    assert [document.id for document in documents] == ["c", "a"]
    assert [document.page_content for document in documents] == ["All about c.", "All about a."]
    assert documents[0].metadata["title"] == "Tc"
    told = [(d.metadata["verified"], d.metadata["rounds"]) for d in documents]
    assert told == [(True, 1), (True, 1)]


def test_documents_that_were_not_verified_say_so() -> None:
    script = search(retrieval_verifier=lambda _: "No", missing_info=lambda _: "More.")
    documents = retriever(script, max_rounds=3).invoke("Who?")
    assert [(d.metadata["verified"], d.metadata["rounds"]) for d in documents] == [(False, 3)] * 2


@pytest.mark.parametrize("query", ["", "  \n"])
async def test_an_empty_query_finds_nothing(query: str) -> None:
    script = search()
    source = retriever(script)
    assert source.invoke(query) == []
    assert await source.ainvoke(query) == []
    assert await source.retrieve(query, 3) == []
    assert script.retriever.queries == []


async def test_nodes_ask_it_for_as_many_passages_as_they_need() -> None:
    source = retriever(search())
    assert coerce_retriever(source) is source
    assert [p.id for p in await source.retrieve("Who?", 1)] == ["c"]
    assert [p.id for p in await source.retrieve("Who?", 2)] == ["c", "a"]
    assert len(await source.retrieve("Who?", 100)) == 2, "no more than the graph chooses"
    with pytest.raises(InputError, match="0 passages"):
        await source.retrieve("Who?", 0)


class Names(BaseCallbackHandler):
    """Names of the runs that a tracer would show."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.names.append(str(kwargs.get("name")))


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_it_gives_the_chosen_documents_and_a_tracer_sees_the_graph(how: str) -> None:
    script, tracer = search(), Names()
    source, config = retriever(script), {"callbacks": [tracer]}
    asked: Any = ("Who?", config)
    check(source.invoke(*asked) if how == "sync" else await source.ainvoke(*asked))
    assert not script.calls("answerer"), "though the graph was built to answer"
    assert {"llatrieval", "document_selector"} <= set(tracer.names)


def below_vtg(**parameters: Any) -> tuple[Any, Search]:
    """VTG over LLatrieval; the first claim fails, and two queries look for evidence at once."""
    script = search()
    claims = iter(["Wrong.", "All about c.", "DONE"])

    def reply(prompt: str) -> str:
        if '{"citations"' in prompt:
            return json.dumps({"citations": [1]})
        if '{"questions"' in prompt:
            return json.dumps({"questions": ["What of c?", "What of a?"]})
        return next(claims)

    tools = Toolbox(
        ScriptedChatModel(reply),
        retriever=retriever(script),
        entailment=TableEntailment(lambda premise, claim: float(claim in premise)),
    )
    return build_vtg(tools, k=2, **parameters), script


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_another_graph_stands_on_it(saved: bool, how: str) -> None:
    saver = InMemorySaver() if saved else None
    graph, script = below_vtg(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    given = {"question": "Who?"}
    state = graph.invoke(given, config) if how == "sync" else await graph.ainvoke(given, config)
    answer = state["answer"]
    assert answer.text == "All about c [1]."
    assert answer.passages == tuple(pool("c"))
    first, *at_once = script.retriever.queries
    assert (first, set(at_once)) == ("Who?", {"What of c?", "What of a?"})


def test_a_search_keeps_no_state() -> None:
    """Neither in the checkpointer of the graph nor in that of the run around it."""
    saver = InMemorySaver()
    graph, _ = below_vtg(checkpointer=saver)
    graph.invoke({"question": "Who?"}, {"configurable": {"thread_id": "t"}})
    places = {kept.config["configurable"]["checkpoint_ns"] for kept in saver.list(None)}
    assert places == {""}
    own = build_llatrieval(search().toolbox(), checkpointer=InMemorySaver(), **SMALL)
    check(LLatrievalRetriever(graph=own).invoke("Who?"))


def test_the_search_counts_towards_the_run_around_it() -> None:
    graph, script = below_vtg()
    usage = graph.invoke({"question": "Who?"})["answer"].usage
    below = sum(len(model.calls) for model in script.models.values())
    assert below == 15
    assert usage.llm_calls == below + 6
    assert usage.retrievals == len(script.retriever.queries) == 3, "not once more for asking"


async def test_searches_beyond_the_one_that_was_asked_for_are_reported() -> None:
    script = search(retrieval_verifier=lambda _: "No", missing_info=lambda _: "More.")
    source = retriever(script, max_rounds=3)
    for ask in (source.retrieve("Who?", 2), source.ainvoke("Who?")):
        with use_meter(Meter()) as meter:
            script.retriever.queries.clear()
            await ask
        assert len(script.retriever.queries) == 3
        assert meter.used.retrievals == 2
