"""What runs meet of the documents that questions bring, on a file in ALCE's format."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from citeproof import Passage, Toolbox
from citeproof.evaluation.corpus import search_documents
from citeproof.evaluation.manifest import require_manifest
from citeproof.evaluation.report import markdown, report
from citeproof.evaluation.results import Result, read_lines
from citeproof.testing import ListRetriever, ScriptedChatModel
from citeproof.tools.questions.sources import select_source
from citeproof.tools.retrieval import HybridRetriever
from citeproof.tools.retrieval.search_pool import ListPool
from tests import command
from tests.evaluation.scripted import judge

NAMES = ["Ann", "Bo", "Cy", "Dee", "Eve", "Flo", "Gus", "Hal", "Ida", "Jo", "Kim", "Lou"]
KEPT = {name: f"{name} kept the light in {1900 + n}." for n, name in enumerate(NAMES)}
QUESTION = "Who kept the light?"


def reply(prompt: str) -> str:
    """Claims what the tenth document says; asks for it and for the twelfth."""
    if '{"citations"' in prompt:
        seen = re.findall(r'<passage number="(\d+)"[^>]*>\n(.+)\n', prompt)
        places = [int(number) for number, text in seen if text == KEPT["Jo"]]
        return json.dumps({"citations": places or [1]})
    if '{"questions"' in prompt:
        return json.dumps({"questions": ["Jo 1909", "Lou 1911"]})
    if '{"numbers"' in prompt:
        return json.dumps({"numbers": [1, 2]})
    if "Answer Yes or No" in prompt:
        return "No"
    return "Jo and Lou kept it." if "as a short passage" in prompt else KEPT["Jo"]


@pytest.fixture(autouse=True)
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A file of ALCE's with twelve documents, tools without models, an index with one passage;
    the queries that the index is asked."""
    index = ListRetriever([Passage(id="i", text="Max kept the light in 1912.")])

    def tools(*_: Any, **__: Any) -> Toolbox:
        return Toolbox(ScriptedChatModel(reply), retriever=index, entailment=judge())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Toolbox, "from_settings", tools)
    docs = [{"id": name, "title": "Light", "text": text} for name, text in KEPT.items()]
    row = {
        "sample_id": "7",
        "question": QUESTION,
        "qa_pairs": [{"question": QUESTION, "short_answers": ["Jo"], "context": "-"}],
        "annotations": [{"long_answer": KEPT["Jo"]}],
        "docs": docs,
    }
    Path("asqa.json").write_text(json.dumps([row]), "utf-8")
    return index.queries


def run(out: str, *arguments: str, method: str = "vtg") -> Result:
    short = ["--set", "max_claims=1", "--set", "max_trials=1"] if method == "vtg" else []
    told = ["--data", "asqa.json", "--out", out, "--method", method, *arguments, *short]
    command.run(["eval", *told], 0)
    [found] = read_lines(Path(out, "results.jsonl"), Result)
    return found


def status(result: Result) -> list[str]:
    assert result.answer is not None
    return [claim.verdict.status for claim in result.answer.claims]


def test_vtg_is_given_the_first_documents_and_finds_more_among_the_rest(asked: list[str]) -> None:
    found = run("run", "--set", "k=3")
    assert found.retrieved is not None
    assert found.retrieved[:3] == ("Ann", "Bo", "Cy")
    assert {"Jo", "Lou"} <= set(found.retrieved[3:])
    assert status(found) == ["supported"]
    assert found.output == "Jo kept the light in 1909 [1]."
    assert asked == []


@pytest.mark.parametrize(
    ("ablation", "met"),
    [
        ("memory=false", {"Ann", "Bo", "Cy"}),
        ("diverse_queries=false", {"Ann", "Bo", "Cy", "Jo"}),
    ],
)
def test_ablations_change_what_is_met(ablation: str, met: set[str]) -> None:
    ones = "passages_per_query=1"
    whole = run("whole", "--set", "k=3", "--set", ones)
    part = run("part", "--set", "k=3", "--set", ones, "--set", ablation)
    assert set(whole.retrieved or ()) == {"Ann", "Bo", "Cy", "Jo", "Lou"}
    assert set(part.retrieved or ()) == met
    assert (whole.answer and whole.answer.usage) != (part.answer and part.answer.usage)


def test_later_rounds_of_llatrieval_find_what_the_first_did_not() -> None:
    sets = ["candidates=4", "k=2", "max_rounds=2", "summarize=false", "answer=false"]
    found = run("run", *(f"--set={one}" for one in sets), method="llatrieval")
    first, second = found.details["retrieval"]["rounds"]
    assert first["new"] == 4
    assert second["new"] > 0


def test_the_index_is_searched_instead_where_that_is_asked_for(asked: list[str]) -> None:
    found = run("run", "--corpus", "index")
    assert found.retrieved == ("i",)
    assert asked[0] == QUESTION
    manifest = require_manifest(Path("run"))
    assert (manifest.data.corpus, manifest.parameters["ranked"]) == ("index", False)
    [own] = json.loads(Path("run/alce.json").read_text("utf-8"))["data"]
    assert [doc["id"] for doc in own["docs"]] == ["i"] * bool(found.docs)


@pytest.mark.parametrize(
    ("method", "sets", "known"),
    [
        ("vtg", ["k=12"], 1),
        ("vtg", ["k=11"], 0),
        ("vtg", ["k=12", "memory=false"], 0),  # it never searches on
        ("llatrieval", [], 1),
        ("llatrieval", ["candidates=11"], 0),
        ("calm", ["k=12"], 1),
        ("vanilla", ["k=12"], 0),
    ],
)
def test_a_run_tells_where_nothing_new_can_be_found(
    method: str, sets: list[str], known: int
) -> None:
    run("run", *(f"--set={one}" for one in sets), method=method)
    manifest = require_manifest(Path("run"))
    assert manifest.totals.nothing_new == known
    told = "run: 1 question of 1 brought no more documents than the method meets at first"
    assert (told in markdown(asyncio.run(report([Path("run")])))) == bool(known)


async def test_documents_are_searched_the_way_the_index_is() -> None:
    vectors = DeterministicFakeEmbedding(size=16)

    class Index:
        embeddings = vectors

    passages = [Passage(id=name, text=text) for name, text in KEPT.items()]
    tools = Toolbox(
        ScriptedChatModel(reply), retriever=HybridRetriever(ListPool([], vectors), "dense")
    )
    tools.index = Index()  # type: ignore[assignment]
    source = select_source({"corpus": passages}, search_documents(tools).retriever)
    assert source is not None
    nearest = HybridRetriever(ListPool(passages, vectors), "dense")
    assert await source.retrieve("Jo", 12) == await nearest.retrieve("Jo", 12)
    plain = select_source({"corpus": passages}, tools.retriever)
    assert plain is not None
    assert [one.id for one in await plain.retrieve("Jo", 12)] == ["Jo"]
