"""What `langgraph.json` names exists, and gives graphs over the configured tools."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from citeproof.graphs import serve
from tests.graphs.scripts import BUILT, Script

ROOT = Path(__file__).parents[2]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]


@pytest.mark.parametrize("name", GRAPHS)
async def test_each_named_graph_is_built_over_the_tools(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [BUILT, "DONE"] if name == "vtg" else [f"{BUILT[:-1]} [1]."] * 20
    script = Script(claims=replies, citations=[[1]])
    monkeypatch.setattr(serve, "_open_once", script.toolbox)
    path, _, factory = GRAPHS[name]["path"].partition(":")
    assert (ROOT / path).is_file()
    module = import_module(path.removeprefix("./").removesuffix(".py").replace("/", "."))
    graph = await getattr(module, factory)()
    answer = (await graph.ainvoke({"question": "Who?"}))["answer"]
    assert (answer.method, answer.text) == (name, f"{BUILT[:-1]} [1].")
    assert set(graph.get_input_jsonschema()["properties"]) == {"question", "documents"}
    context = graph.get_context_jsonschema()["properties"]
    assert all("default" in field for field in context.values())
    assert GRAPHS[name]["description"]
