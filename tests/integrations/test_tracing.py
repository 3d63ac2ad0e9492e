"""Runs as OpenTelemetry spans."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from citeproof import build_vanilla, build_vtg, verify_with
from citeproof.errors import ModelError
from citeproof.integrations.agent_tools import check_tool
from citeproof.integrations.middleware import CiteproofMiddleware
from citeproof.integrations.tracing import OpenTelemetryTracer
from citeproof.state import Result
from tests.integrations.agents import BUILT, BURNT, both, calling, script, toolbox
from tests.loopback import running
from tests.tools.openai_stub import Reply, serve

ASKED: Any = {"question": "Who built the lighthouse?"}
REPLIES = {
    "claim_generator": [BUILT, BURNT, "DONE", "DONE"],
    "citation_generator": {"citations": [1]},
    "evidence_finder": {"questions": ["Who?"]},
    "answerer": f"{BUILT[:-1]} [1].",
}
EVALUATED = "gen_ai.evaluation.result"


class Traces:
    """A tracer whose spans are kept."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = OpenTelemetryTracer(self.provider)

    @property
    def config(self) -> Any:
        return {"callbacks": [self.tracer]}

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """By name; of several the last."""
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def verdicts(self) -> list[tuple[Any, ...]]:
        """Node, label and sentence of each event."""
        return [
            (
                span.name,
                event.attributes["gen_ai.evaluation.score.label"],
                event.attributes["citeproof.sentence"],
            )
            for span in self.exporter.get_finished_spans()
            for event in span.events
            if event.name == EVALUATED and event.attributes
        ]

    def above(self, span: ReadableSpan) -> list[str]:
        """The names of the spans around one, the innermost first."""
        names, by_id = [], {own.context.span_id: own for own in self.exporter.get_finished_spans()}
        while span.parent is not None:
            span = by_id[span.parent.span_id]
            names.append(span.name)
        return names


@pytest.fixture
def traces() -> Traces:
    return Traces()


@both
def test_a_run_is_a_tree_of_its_nodes_and_calls(traces: Traces, run: Any) -> None:
    graph = build_vtg(toolbox(replies=REPLIES), max_trials=0, checkpointer=InMemorySaver())
    config = {**traces.config, "configurable": {"thread_id": "t1"}}
    answer = run(graph, ASKED, config)["answer"]
    root, call = traces.spans["invoke_workflow vtg"], traces.spans["chat"]
    assert root.parent is None
    assert len({span.context.trace_id for span in traces.spans.values()}) == 1
    assert traces.above(call) == ["claim_generator", "invoke_workflow vtg"]
    assert call.kind == SpanKind.CLIENT
    nodes = {"question_reader", "retriever", "claim_generator", "claim_acceptor", "answer_composer"}
    assert nodes <= traces.spans.keys()
    of_run = dict(root.attributes or {})
    assert of_run["gen_ai.conversation.id"] == "t1"
    assert of_run["citeproof.answer.status"] == answer.status
    assert of_run["citeproof.usage.llm_calls"] == answer.usage.llm_calls
    calls = [span for span in traces.exporter.get_finished_spans() if span.name == "chat"]
    assert len(calls) == answer.usage.llm_calls
    told: list[dict[str, Any]] = [dict(span.attributes or {}) for span in calls]
    assert {own["citeproof.role"] for own in told} >= {"claim_generator", "citation_generator"}
    read = sum(own["gen_ai.usage.input_tokens"] for own in told)
    assert read == answer.usage.prompt_tokens
    cached = sum(own.get("gen_ai.usage.cache_read.input_tokens", 0) for own in told)
    assert cached == answer.usage.cached_tokens > 0
    assert not any(key.endswith("messages") for own in told for key in own)


def test_each_verdict_is_an_event_of_the_node_that_reached_it(traces: Traces) -> None:
    graph = build_vtg(toolbox(replies=REPLIES), max_trials=0)
    graph.invoke(ASKED, traces.config)
    assert traces.verdicts() == [
        ("generation_verifier", "supported", BUILT),
        ("generation_verifier", "unsupported", BURNT),
        ("memory_verifier", "unsupported", BURNT),
    ]
    [event] = [one for one in traces.spans["memory_verifier"].events if one.name == EVALUATED]
    assert dict(event.attributes or {})["gen_ai.evaluation.score.value"] == 0.1


def test_graphs_inside_graphs_of_anybody_are_seen(traces: Traces) -> None:
    builder: Any = StateGraph(Result)
    builder.add_node("proved", verify_with(build_vanilla(toolbox(replies=REPLIES)), toolbox()))
    builder.add_edge(START, "proved")
    builder.compile(name="mine").invoke(ASKED, traces.config)
    chat = traces.spans["chat"]
    assert traces.above(chat) == ["answerer", "draft", "proved", "invoke_workflow mine"]
    assert {node for node, _, _ in traces.verdicts()} >= {"claims_verifier", "generation_verifier"}


def test_agents_tools_and_their_checks_are_seen(traces: Traces) -> None:
    box = toolbox()
    model = script(calling("check", text=BUILT), BURNT)
    agent: Any = create_agent(model, [check_tool(box)], middleware=[CiteproofMiddleware(box)])
    agent.invoke({"messages": [{"role": "user", "content": "?"}]}, traces.config)
    tool = traces.spans["execute_tool check"]
    assert dict(tool.attributes or {})["gen_ai.tool.name"] == "check"
    assert traces.above(tool)[0] == "tools"
    assert traces.verdicts() == [("CiteproofMiddleware.after_agent", "unsupported", BURNT)]


def test_what_is_said_is_told_on_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    monkeypatch.setenv(name, "true")
    traces = Traces()
    build_vanilla(toolbox(replies=REPLIES)).invoke(ASKED, traces.config)
    told = dict(traces.spans["chat"].attributes or {})
    [reply] = json.loads(str(told["gen_ai.output.messages"]))
    assert reply == {
        "role": "assistant",
        "parts": [{"type": "text", "content": REPLIES["answerer"]}],
    }
    asked = json.loads(str(told["gen_ai.input.messages"]))
    assert ASKED["question"] in asked[-1]["parts"][0]["content"]


def test_a_failed_run_says_so_and_leaves_nothing_open(traces: Traces) -> None:
    broken = toolbox(replies={"": ValueError("secret-key refused")})
    with pytest.raises(ModelError):
        build_vanilla(broken).invoke(ASKED, traces.config)
    for name in ("chat", "answerer", "invoke_workflow vanilla"):
        assert traces.spans[name].status.status_code is StatusCode.ERROR
    assert "secret-key" not in "".join(span.to_json() for span in traces.spans.values())
    assert traces.tracer._runs == {}


def test_a_run_that_waits_for_a_person_has_not_failed(traces: Traces) -> None:
    box = toolbox(replies={**REPLIES, "claim_generator": BURNT})
    graph: Any = build_vtg(box, max_trials=0, review=True, checkpointer=InMemorySaver())
    config = {**traces.config, "configurable": {"thread_id": "t1"}}
    assert graph.invoke(ASKED, config)["__interrupt__"]
    states = {span.status.status_code for span in traces.exporter.get_finished_spans()}
    assert states == {StatusCode.UNSET}


PROGRAM = """
from citeproof import Toolbox, build_closedbook
from citeproof.settings import Settings

with Toolbox.from_settings(Settings.load()) as tools:
    build_closedbook(tools).invoke({"question": "Who?"})
"""


def test_a_setting_sends_all_runs_to_a_collector(tmp_path: Path) -> None:
    received: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append((self.path, body))
            self.send_response(200)
            self.end_headers()

    with running(Collector) as collector, serve([Reply(BUILT)]) as stub:
        environment = {
            **os.environ,
            "CITEPROOF_TRACE": "otel",
            "CITEPROOF_LLM": json.dumps({"model": "m", "base_url": stub.url, "api_key": "x"}),
            "CITEPROOF_ENTAILMENT__KIND": "judge",
            "CITEPROOF_ANSWERABILITY__MODEL": "none",
            "CITEPROOF_RETRIEVER__KIND": "bm25",
            "CITEPROOF_CHROMA__IN_MEMORY": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
        }
        program = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            program, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert {path for path, _ in received} == {"/v1/traces"}
    sent = b"".join(body for _, body in received)
    assert all(word in sent for word in (b"invoke_workflow closedbook", b"chat m", b"citeproof"))
