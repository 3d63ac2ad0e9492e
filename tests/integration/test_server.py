"""`make studio` serves every graph as LangGraph's Studio needs it, and tells nobody of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from pydantic import TypeAdapter

from citeproof import Answer
from citeproof.graphs.registry import METHODS
from citeproof.runtime.events import AnswerReady
from citeproof.runtime.events import Event as AnyEvent
from tests.integration.conftest import EXAMPLES
from tests.test_docs import blocks
from tests.tools.openai_stub import Reply, serve

ROOT = Path(__file__).parents[2]
CONFIG = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
GRAPHS = CONFIG["graphs"]
LOAF = "The keeper's loaf stays good for nine days."
GIVEN: dict[str, Any] = {
    "question": "Who built the tower?",
    "documents": ["Ann Lee built the tower.", {"id": "b", "text": "The tower was lit in 1871."}],
}
DOUBTED = "Some say that"
"""The judge finds that nothing proves what is said like this."""
EVENTS: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
BLOCKING = """
import time
from langgraph.graph import START, StateGraph

async def node(state: dict):
    time.sleep(0.2)
    return {}

builder = StateGraph(dict)
builder.add_node("node", node)
builder.add_edge(START, "node")
graph = builder.compile()
"""
"""A graph with the fault that none of ours may have."""


@dataclass
class Studio:
    """The server that `make studio` runs."""

    url: str
    client: SyncLangGraphClient
    process: subprocess.Popen[bytes]
    log: Path
    failing: Event
    """The language model refuses every call while this is set."""
    asked_elsewhere: list[str] = field(default_factory=list)
    """Requests to other machines."""

    def run(self, graph: str, given: Any = GIVEN, thread: str | None = None, **more: Any) -> Answer:
        values = self.client.runs.wait(thread, graph, input=given, **more)
        assert isinstance(values, dict)
        return Answer.model_validate(values["answer"])

    def left(self) -> list[str]:
        """The processes that were started and still run."""
        listed = subprocess.run(
            ["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True
        )
        lines = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
        group = str(self.process.pid)
        return [args for pgid, stat, args in lines if pgid == group and not stat.startswith("Z")]


@contextmanager
def running(folder: Path) -> Iterator[Studio]:
    """`make studio` in a folder of its own, as Ctrl-C ends it."""
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "blocking.py").write_text(BLOCKING, encoding="utf-8")
    graphs = {**GRAPHS, "blocking": {"path": "./blocking.py:graph"}}
    config = json.dumps({**CONFIG, "graphs": graphs})
    (folder / "langgraph.json").write_text(config, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    failing = Event()

    def reply(body: dict[str, Any]) -> Reply:
        prompt = str(body["messages"])
        if failing.is_set():
            return Reply(status=400, error="The model is being moved")
        if body.get("logprobs") and DOUBTED in prompt:
            return Reply("No", top={"No": -0.1, "Yes": -2.4})
        if body.get("logprobs"):
            return Reply("Yes", top={"Yes": -0.1, "No": -2.4})
        if '{"citations"' in prompt:
            return Reply('{"citations": [1]}')
        if DOUBTED in prompt:
            return Reply(f"{DOUBTED} it was Cy Fox.")
        return Reply(f"{LOAF if 'loaf' in prompt else GIVEN['documents'][0]} [1]")

    with serve(reply) as stub, proxy() as (elsewhere, asked):
        env = {
            **os.environ,
            "CITEPROOF_LLM": "stub",
            "CITEPROOF_LLM__BASE_URL": stub.url,
            "CITEPROOF_ENTAILMENT": "judge",
        }
        # LangGraph's server does not restore the types that a graph declares.
        env.pop("LANGGRAPH_STRICT_MSGPACK", None)
        # A developer whose environment traces everything; what leaves goes through the proxy.
        tracing = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2")
        env |= dict.fromkeys(tracing, "true") | {"LANGSMITH_API_KEY": "lsv2_pt_none"}
        env |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), elsewhere)
        env |= {"NO_PROXY": "127.0.0.1"}
        ready = f"{sys.prefix}/.ready"
        log = folder / "studio.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                ["make", "studio", "-o", ready, f"VENV={sys.prefix}", f"PORT={port}"],
                cwd=folder,
                env=env,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        url = f"http://127.0.0.1:{port}"
        studio = Studio(url, get_sync_client(url=url), process, log, failing, asked)
        try:
            wait_until_ready(studio)
            yield studio
        finally:
            if studio.left():
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until_ready(studio: Studio) -> None:
    for _ in range(240):
        try:
            if httpx.get(f"{studio.url}/ok", trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            assert studio.process.poll() is None, studio.log.read_text(encoding="utf-8")
        time.sleep(0.5)
    pytest.fail(studio.log.read_text(encoding="utf-8"))


@contextmanager
def proxy() -> Iterator[tuple[str, list[str]]]:
    """An HTTP proxy that passes nothing on; the list fills with what it is asked for."""
    asked: list[str] = []

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline().decode())

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("studio")
    index = [f"{sys.prefix}/bin/citeproof", "index", f"{EXAMPLES}/documents/tregears-bakery.md"]
    subprocess.run(index, cwd=folder, check=True, capture_output=True)
    with running(folder) as studio:
        yield studio
        assert studio.asked_elsewhere == []
        # This one would not go through the proxy.
        assert "skipping metadata loop" in studio.log.read_text(encoding="utf-8")


def test_each_graph_is_offered_with_its_description(studio: Studio) -> None:
    found = studio.client.assistants.search(limit=100)
    offered = {a["graph_id"]: a["description"] for a in found if a["graph_id"] != "blocking"}
    assert offered == {name: graph["description"] for name, graph in GRAPHS.items()}


@pytest.mark.parametrize("name", GRAPHS)
def test_each_graph_is_drawn(studio: Studio, name: str) -> None:
    drawn = studio.client.assistants.get_graph(name)
    here = METHODS[name].sketch().get_graph().to_json()
    assert {n["id"] for n in drawn["nodes"]} == {n["id"] for n in here["nodes"]}
    assert len(drawn["edges"]) == len(here["edges"]) > 5


@pytest.mark.parametrize("name", GRAPHS)
def test_each_form_says_what_goes_in(studio: Studio, name: str) -> None:
    [assistant] = studio.client.assistants.search(graph_id=name, metadata={"created_by": "system"})
    schemas = studio.client.assistants.get_schemas(assistant["assistant_id"])
    given, result, context = (
        schemas[key] for key in ("input_schema", "output_schema", "context_schema")
    )
    assert given
    assert result
    assert context
    assert "required" not in given, "a question, or messages"
    assert given["properties"]["messages"]["type"] == "array"
    assert given["properties"]["question"]["type"] == "string"
    assert given["properties"]["documents"]["type"] == "array"
    assert result["properties"]["answer"] == {"$ref": "#/$defs/Answer"}
    prompts = context["properties"]["prompts"]
    assert (prompts["type"], prompts["default"]) == ("object", {})
    for field_name, form in context["properties"].items():
        assert "default" in form, field_name
        for kind in form.get("anyOf", [form]):
            if kind["type"] in ("integer", "number"):
                assert {"minimum", "exclusiveMinimum"} & kind.keys(), field_name
    for form in (*given["properties"].values(), *context["properties"].values()):
        assert form["description"]


@pytest.mark.parametrize("name", GRAPHS)
def test_each_graph_runs_and_tells_its_events(studio: Studio, name: str) -> None:
    parts = list(
        studio.client.runs.stream(
            None, name, input=GIVEN, stream_mode=["values", "custom", "tasks"]
        )
    )
    events = [EVENTS.validate_python(part.data) for part in parts if part.event == "custom"]
    values = [part.data for part in parts if part.event == "values"]
    assert {part.event for part in parts} == {"metadata", "values", "custom", "tasks"}
    answer = Answer.model_validate(values[-1]["answer"])
    assert (answer.method, answer.status) == (name, "answered")
    said = "Ann Lee built the tower"
    if name == "verbatim":  # the passage's own words
        assert answer.text.startswith(said)
    else:
        assert answer.text == f"{said} [1]."
    assert answer.claims[0].verdict.status == "supported"
    assert [event.answer for event in events if isinstance(event, AnswerReady)][-1] == answer
    tasks = [part.data for part in parts if part.event == "tasks"]
    done = {task["name"] for task in tasks if "result" in task}
    nodes = {node["id"] for node in studio.client.assistants.get_graph(name)["nodes"]}
    assert done
    assert done <= nodes


def test_without_documents_the_index_is_searched(studio: Studio) -> None:
    answer = studio.run("vtg", {"question": "How long does the keeper's loaf stay good?"})
    assert answer.text == f"{LOAF[:-1]} [1]."
    assert answer.passages[0].source.endswith("tregears-bakery.md")


def test_the_program_of_the_page_runs(studio: Studio, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = blocks(Path("docs/studio.md"), "python")
    exec(program.replace("http://127.0.0.1:2024", studio.url), {})
    assert capsys.readouterr().out == f"supported {LOAF}\n{LOAF[:-1]} [1].\n"


def test_a_run_and_an_assistant_set_parameters(studio: Studio) -> None:
    stopped = studio.run("vtg", context={"max_calls": 1})
    assert "budget of 1 call" in stopped.reason
    own = studio.client.assistants.create("vtg", context={"max_calls": 2}, name="in two calls")
    assert "budget of 2 calls" in studio.run(own["assistant_id"]).reason
    assert studio.run("vtg").status == "answered"


def test_a_parameter_out_of_range_is_refused_by_name(studio: Studio) -> None:
    parts = list(studio.client.runs.stream(None, "vtg", input=GIVEN, context={"k": 0}))
    assert parts[-1].event == "error"
    assert "greater than or equal to 1" in str(parts[-1].data)


def test_an_interrupted_thread_goes_on(studio: Studio) -> None:
    threads = studio.client.threads
    thread = threads.create()["thread_id"]
    studio.client.runs.wait(thread, "vtg", input=GIVEN, interrupt_before=["citation_generator"])
    assert threads.get(thread)["status"] == "interrupted"
    assert threads.get_state(thread)["next"] == ["citation_generator"]
    assert studio.run("vtg", None, thread).text == "Ann Lee built the tower [1]."
    assert threads.get(thread)["status"] == "idle"


def test_a_failed_thread_goes_on_where_it_failed(studio: Studio) -> None:
    threads = studio.client.threads
    thread = threads.create()["thread_id"]
    studio.failing.set()
    parts = list(studio.client.runs.stream(thread, "vtg", input=GIVEN))
    studio.failing.clear()
    assert parts[-1].event == "error"
    assert "The model is being moved" in str(parts[-1].data)
    assert threads.get(thread)["status"] == "error"
    assert threads.get_state(thread)["next"] == ["claim_generator"]
    answer = studio.run("vtg", None, thread)
    assert answer.text == "Ann Lee built the tower [1]."
    assert answer.usage.retrievals == 1


def test_a_draft_that_is_changed_is_proved(studio: Studio) -> None:
    threads = studio.client.threads
    thread = threads.create()["thread_id"]
    once = {"max_claims": 1}
    studio.client.runs.wait(
        thread, "vtg", input=GIVEN, context=once, interrupt_before=["citation_generator"]
    )
    threads.update_state(thread, {"draft": {"text": "The tower was built by Ann Lee."}})
    answer = studio.run("vtg", None, thread, context=once)
    assert answer.text == "The tower was built by Ann Lee [1]."
    assert answer.claims[0].verdict.status == "supported"


def test_the_program_of_the_page_on_streaming_runs(
    studio: Studio, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = blocks(Path("docs/streaming.md"), "python")
    [program] = [program for program in programs if "langgraph_sdk" in program]
    doubted = program.replace("Who built the tower?", f"{DOUBTED} Cy Fox built it. Who did?")
    assert doubted != program
    exec(doubted.replace("http://127.0.0.1:2024", studio.url), {})
    assert capsys.readouterr().out == f"{DOUBTED} it was Cy Fox.\napproved by a person\n"


def test_another_site_can_neither_read_nor_run_anything(studio: Studio) -> None:
    """Not by asking, not by a form, and not by a name of its own for this machine."""
    question = "What does only this machine know?"
    thread = studio.client.threads.create(metadata={"question": question})["thread_id"]
    evil, run = {"Origin": "https://evil.example"}, {"assistant_id": "vtg", "input": GIVEN}
    preflight = {"Access-Control-Request-Method": "POST"}
    blind = {"Content-Type": "text/plain"}
    with httpx.Client(base_url=studio.url, trust_env=False) as foreign:
        replies = [
            foreign.options("/threads/search", headers=evil | preflight),
            foreign.post("/threads/search", json={}, headers=evil),
            foreign.post("/runs/wait", json=run, headers=evil),
            foreign.delete(f"/threads/{thread}", headers=evil),
            foreign.get(f"/threads/{thread}", headers={"Host": "evil.example"}),
        ]
        sent = foreign.post("/runs/wait", content=json.dumps(run), headers=blind)
        long = foreign.post("/runs/wait", json={**run, "input": {"question": "?" * 6_000_000}})
        own = {"Origin": "https://smith.langchain.com"}
        asked = foreign.options("/threads/search", headers=own | preflight)
    assert [reply.status_code for reply in replies] == [403] * 5
    assert not any(question in r.text or "access-control" in str(r.headers) for r in replies)
    assert (sent.status_code, long.status_code) == (415, 413)
    assert studio.client.threads.get(thread)["metadata"] == {"question": question}
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == own["Origin"]


def test_blocking_calls_would_be_told(studio: Studio) -> None:
    """So that the runs above prove that our nodes make none."""
    [*_, last] = studio.client.runs.stream(None, "blocking", input={})
    assert last.event == "error"
    assert last.data["error"] == "BlockingError"


def test_it_stops_without_leaving_a_process(tmp_path: Path) -> None:
    with running(tmp_path) as studio:
        assert studio.run("vtg").status == "answered"
        assert len(studio.left()) > 1
        os.killpg(studio.process.pid, signal.SIGINT)
        studio.process.wait(timeout=60)
        for _ in range(100):
            if not studio.left():
                break
            time.sleep(0.1)
        assert studio.left() == []
