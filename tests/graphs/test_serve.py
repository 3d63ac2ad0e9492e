"""What `langgraph.json` names exists, and gives graphs over the configured tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from citeproof.graphs import serve
from tests.graphs.scripts import BUILT, Script

ROOT = Path(__file__).parents[2]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]


@pytest.fixture(autouse=True)
def _nothing_built() -> Iterator[None]:
    yield
    serve._build_once.cache_clear()


@pytest.mark.parametrize("name", GRAPHS)
async def test_each_named_graph_is_built_over_the_tools(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [BUILT, "DONE"] if name == "vtg" else [f"{BUILT[:-1]} [1]."] * 20
    script = Script(claims=replies, citations=[[1]])
    monkeypatch.setattr(serve, "_open_once", script.toolbox)
    module, _, factory = GRAPHS[name]["path"].partition(":")
    # A file's path would be imported anew for each graph, and each would open its own models.
    assert import_module(module) is serve
    graph = await getattr(serve, factory)()
    assert await getattr(serve, factory)() is graph
    answer = (await graph.ainvoke({"question": "Who built it?"}))["answer"]
    assert (answer.method, answer.text) == (name, f"{BUILT[:-1]} [1].")
    given = graph.get_input_jsonschema()["properties"]
    assert set(given) == {"question", "messages", "documents"}
    context = graph.get_context_jsonschema()["properties"]
    assert all("default" in field for field in context.values())
    assert all(field["description"] for field in (*given.values(), *context.values()))
    assert GRAPHS[name]["description"]
