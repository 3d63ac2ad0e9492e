"""An entry in the registry and a graph file are all that a method needs."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from typer.testing import CliRunner

import citeproof
from citeproof import Toolbox, cli
from citeproof.errors import SettingsError
from citeproof.graphs import serve
from citeproof.graphs.registry import METHODS, Method, find_method, open_method
from citeproof.testing import ScriptedChatModel
from tests.graphs.scripts import BUILT, Script
from tests.graphs.toy import ToyState

ROOT = Path(__file__).parents[2]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
TOY = Method(
    name="toy-graph",
    about="says yes",
    cost="nothing",
    schema="tests.graphs.toy:ToyParameters",
)


@pytest.fixture
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry that CONTRIBUTING.md asks for."""
    monkeypatch.setitem(METHODS, TOY.name, TOY)


def run(*words: str) -> str:
    result = CliRunner().invoke(cli.app, words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_an_entry_names_what_there_is(method: Method) -> None:
    graph = method.sketch()
    assert graph.name == method.name
    assert issubclass(graph.context_schema, method.parameters)
    module, _, builder = method.builder.partition(":")
    assert getattr(citeproof, builder).__module__ == module
    for line in (method.about, method.cost):
        assert line == line.strip(" .\n")
        assert "\n" not in line


def test_a_wrong_parameter_is_told() -> None:
    with pytest.raises(SettingsError, match="Unknown parameter self"):
        METHODS["vtg"].sketch(self=1)


@pytest.mark.usefixtures("_toy")
@pytest.mark.parametrize("method", ["toy-graph", "python:tests.graphs.toy:build_toy_graph"])
def test_the_command_line_knows_a_new_method(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tools = Toolbox(ScriptedChatModel([]))
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: tools)
    assert "toy-graph  says yes\n    nothing\n" in run("methods")
    assert "answerer" in run("graph", method)
    (tmp_path / ".citeproof").mkdir()
    asked = ("ask", "Is it?", "--method", method, "--set", "word=No", "--json")
    assert json.loads(run(*asked))["text"] == "No."
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"question": "Is it?"}\n', encoding="utf-8")
    run("eval", "--data", str(questions), "--method", method, "--out", "run")
    assert '"method":"toy-graph"' in Path("run/results.jsonl").read_text("utf-8").replace(" ", "")
    assert json.loads(Path("run/manifest.json").read_text("utf-8"))["method"] == method


def plain_graph(tools: Toolbox, **_: Any) -> Any:
    builder = StateGraph(ToyState)
    builder.add_node("answerer", lambda _: {})
    builder.add_edge(START, "answerer")
    return builder.compile()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("python:flows", "Write it as python:package.module:function"),
        ("python:no.such:build", "ModuleNotFoundError: No module named 'no'. Name a function"),
        (f"python:{__name__}:nothing", "AttributeError"),
        (f"python:{__name__}:run", "TypeError: run.. got an unexpected keyword argument 'word'"),
        (f"python:{__name__}:plain_graph", "returns no graph whose context is citeproof's Param"),
    ],
)
def test_a_function_that_builds_no_method_is_told(name: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        open_method(name).sketch(word="No")


def test_servers_build_no_function_that_a_request_names() -> None:
    with pytest.raises(SettingsError, match="There is no method 'python:tests"):
        find_method("python:tests.graphs.toy:build_toy_graph")


@pytest.mark.usefixtures("_toy")
async def test_the_server_knows_a_new_method() -> None:
    served = runpy.run_path(serve.__file__)
    tools = Toolbox(ScriptedChatModel([]))
    served["toy_graph"].__globals__["_open_once"] = lambda: tools
    graph = await served["toy_graph"]()
    answer = (await graph.ainvoke({"question": "Is it?"}))["answer"]
    assert (answer.method, answer.text) == ("toy-graph", "Yes.")


@pytest.mark.usefixtures("_toy")
def test_the_pages_know_a_new_method() -> None:
    program = runpy.run_path(str(ROOT / "docs/generate.py"))
    made = program["generated"]()
    row = "| `toy-graph` | says yes | nothing | `build_toy_graph` |"
    assert row in made[ROOT / "docs/methods.md"]
    assert '"citeproof.graphs.serve:toy_graph"' in made[ROOT / "langgraph.json"]
    assert "`word`" in program["TABLES"]["parameters"]("toy-graph", "but", "Parameters")


# What `langgraph.json` names exists, and gives graphs over the configured tools


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
