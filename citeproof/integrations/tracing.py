"""Records runs as OpenTelemetry spans, by the semantic conventions for generative AI.

    graph.invoke(question, {"callbacks": [OpenTelemetryTracer()]})

The tracer is a LangChain callback handler, so it sees the nodes of any LangGraph graph and the
models and tools that they call. Needs the extra `otel`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp
from langgraph.types import Overwrite

from citeproof.errors import MissingExtraError
from citeproof.state import Draft
from citeproof.types import Answer, CheckReport, Claim, Usage, Verdict

if TYPE_CHECKING:
    from opentelemetry.trace import Span, SpanKind, TracerProvider

__all__ = ["OpenTelemetryTracer", "trace_all_runs"]

_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@dataclass
class _Run:
    span: Span
    is_own: bool
    """False if the span is that of the run around it."""
    place: str = ""
    """LangGraph's checkpoint namespace, the ledger's key for the node's cost."""
    known: dict[int, Any] = field(default_factory=dict)
    """Verdicts in the node's input, by `id`."""


class OpenTelemetryTracer(BaseCallbackHandler):
    """Makes a span for each graph, node, model call, tool and retriever.

    Spans of model calls have their tokens, including cached ones. Spans of nodes have their cost,
    and an event `gen_ai.evaluation.result` for each verdict they reach. The text of prompts and
    replies is recorded only if the environment has
    `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`.

    Args:
        provider: Makes the spans; by default the global provider that your program has set.

    Raises:
        MissingExtraError: OpenTelemetry is not installed.
    """

    run_inline = True  # in the order of the run and in its caller's context

    def __init__(self, provider: TracerProvider | None = None) -> None:
        with MissingExtraError.unless_installed("otel", "Runs cannot be traced"):
            from opentelemetry import trace
        self._otel = trace
        self._tracer = trace.get_tracer("citeproof", tracer_provider=provider)
        self._runs: dict[UUID, _Run] = {}
        self._tells_content = os.environ.get(_CONTENT, "").lower() == "true"

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        """Begin a span for a graph or a node; runs inside a node share its span."""
        data, name = more.get("metadata") or {}, str(more.get("name") or "run")
        around = self._runs.get(more["parent_run_id"])
        if around is None:
            attributes = {
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": name,
                "gen_ai.conversation.id": data.get("thread_id"),
            }
            self._start(more, f"invoke_workflow {name}", attributes)
        elif any(tag.startswith("graph:step:") for tag in more.get("tags") or ()):
            attributes = {
                "langgraph.node": data.get("langgraph_node"),
                "langgraph.step": data.get("langgraph_step"),
            }
            run = self._start(more, name, attributes)
            run.place = str(data.get("langgraph_checkpoint_ns", ""))
            run.known = {id(verdict): verdict for _, verdict in _verdicts(inputs)}
        else:
            self._runs[more["run_id"]] = _Run(around.span, is_own=False)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        """End the span, with the cost and the new verdicts of the node."""
        if (run := self._runs.get(run_id)) is not None and run.is_own:
            for text, verdict in _verdicts(outputs):
                if run.place and id(verdict) not in run.known:
                    told = _evaluation_attributes(text, verdict)
                    run.span.add_event("gen_ai.evaluation.result", told)
            run.span.set_attributes(_costs(outputs, run.place))
        self._end(run_id)

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], **more: Any
    ) -> None:
        """Begin a span for a call of a chat model."""
        data = more.get("metadata") or {}
        model = str(data.get("ls_model_name") or "")
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": data.get("ls_provider"),
            "gen_ai.request.model": model,
            "gen_ai.request.temperature": data.get("ls_temperature"),
            "gen_ai.request.max_tokens": data.get("ls_max_tokens"),
            "citeproof.role": data.get("role"),
            **self._content("gen_ai.input.messages", _as_json(messages[0])),
        }
        self._start(more, f"chat {model}".strip(), attributes, self._otel.SpanKind.CLIENT)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **more: Any) -> None:
        """End the span, with the reply and its tokens."""
        run = self._runs.get(run_id)
        generation = next(iter(next(iter(response.generations), [])), None)
        if run and isinstance(generation, ChatGeneration):
            message = generation.message
            said = self._content("gen_ai.output.messages", _as_json([message]))
            run.span.set_attributes(_reply_attributes(message) | said)
        self._end(run_id)

    def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
        """Begin a span for a call of a tool."""
        name = str(more.get("name") or (serialized or {}).get("name") or "tool")
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        attributes |= self._content("gen_ai.tool.call.arguments", input_str)
        self._start(more, f"execute_tool {name}", attributes)

    def on_retriever_start(self, serialized: Any, query: str, **more: Any) -> None:
        """Begin a span for a search of a LangChain retriever."""
        attributes = {"gen_ai.operation.name": "retrieval"}
        attributes |= self._content("gen_ai.retrieval.query.text", query)
        self._start(more, f"retrieval {more.get('name') or 'retriever'}", attributes)

    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        """End the span of a tool."""
        self._end(run_id)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **more: Any) -> None:
        """End the span of a retriever."""
        self._end(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        """End the span of whatever failed; a graph or node may only be waiting for a person."""
        self._end(run_id, error)

    on_llm_error = on_tool_error = on_retriever_error = on_chain_error

    def _content(self, key: str, text: str) -> dict[str, str]:
        """Return a text as an attribute, if the environment allows message content."""
        return {key: text} if self._tells_content else {}

    def _start(
        self,
        told: Mapping[str, Any],
        name: str,
        attributes: Mapping[str, Any],
        kind: SpanKind | None = None,
    ) -> _Run:
        """Begin a span, given LangChain's keyword arguments of the callback."""
        around = self._runs.get(told["parent_run_id"])
        context = self._otel.set_span_in_context(around.span) if around else None
        kind = kind or self._otel.SpanKind.INTERNAL
        span = self._tracer.start_span(name, context, kind, _known(attributes))
        self._runs[told["run_id"]] = run = _Run(span, is_own=True)
        return run

    def _end(self, run_id: UUID, error: BaseException | None = None) -> None:
        run = self._runs.pop(run_id, None)
        if run is None or not run.is_own:
            return
        if error is not None and not isinstance(error, GraphBubbleUp):
            run.span.set_attribute("error.type", type(error).__qualname__)
            run.span.set_status(self._otel.StatusCode.ERROR, type(error).__qualname__)
            if self._tells_content:
                run.span.record_exception(error)
        run.span.end()


@cache
def trace_all_runs() -> None:
    """Trace all runs of this process, and export them as the `OTEL_…` variables say.

    Spans go by OTLP over HTTP to `OTEL_EXPORTER_OTLP_ENDPOINT`, by default this machine. If the
    program has set a provider of its own, that one is used unchanged.

    Raises:
        MissingExtraError: OpenTelemetry is not installed.
    """
    with MissingExtraError.unless_installed("otel", "Runs cannot be traced"):
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        name = os.environ.get("OTEL_SERVICE_NAME", "citeproof")
        provider = TracerProvider(resource=Resource.create({"service.name": name}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
    tracer = OpenTelemetryTracer()
    everywhere = ContextVar[Any]("citeproof_tracer", default=tracer)
    register_configure_hook(everywhere, inheritable=True, handle_class=OpenTelemetryTracer)


def _verdicts(state: Any) -> Iterator[tuple[str, Any]]:
    """Yield the verdicts in a state or an update, each with its sentence."""
    if not isinstance(state, Mapping):
        return
    if isinstance(draft := state.get("draft"), Draft) and draft.verdict is not None:
        yield draft.text, draft.verdict
    claims = state.get("claims")
    answer = state.get("answer")
    for claim in answer.claims if isinstance(answer, Answer) else claims or ():
        if isinstance(claim, Claim):
            yield claim.text, claim.verdict
    for key in ("report", "citeproof_report"):
        if isinstance(report := state.get(key), CheckReport):
            for sentence in report.sentences:
                yield sentence.text, sentence


def _evaluation_attributes(text: str, verdict: Any) -> dict[str, Any]:
    is_claim = isinstance(verdict, Verdict)
    return _known(
        {
            "gen_ai.evaluation.name": "citation_support",
            "gen_ai.evaluation.score.label": verdict.status if is_claim else verdict.verdict,
            "gen_ai.evaluation.score.value": verdict.score,
            "gen_ai.evaluation.explanation": verdict.reason if is_claim else "",
            "citeproof.sentence": text,
        }
    )


def _costs(outputs: Any, place: str) -> dict[str, Any]:
    """Return the cost of a node, or for a graph the cost of its answer."""
    if not isinstance(outputs, Mapping):
        return {}
    ledger, answer = outputs.get("ledger"), outputs.get("answer")
    ledger = ledger.value if isinstance(ledger, Overwrite) else ledger or {}
    found: dict[str, Any] = {}
    usage: Usage | None = ledger[place].usage if place in ledger else None
    if isinstance(answer, Answer):
        found["citeproof.answer.status"] = answer.status
        usage = usage or answer.usage
    if usage is not None:
        found |= {f"citeproof.usage.{name}": value for name, value in usage}
    return found


def _reply_attributes(message: BaseMessage) -> dict[str, Any]:
    data = message.response_metadata
    found: dict[str, Any] = {
        "gen_ai.response.model": data.get("model_name"),
        "gen_ai.response.id": data.get("id"),
    }
    if reason := data.get("finish_reason"):
        found["gen_ai.response.finish_reasons"] = [reason]
    if isinstance(message, AIMessage) and (usage := message.usage_metadata):
        found["gen_ai.usage.input_tokens"] = usage["input_tokens"]
        found["gen_ai.usage.output_tokens"] = usage["output_tokens"]
        cached = usage.get("input_token_details", {}).get("cache_read")
        found["gen_ai.usage.cache_read.input_tokens"] = cached
    return _known(found)


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if value not in (None, "")}


def _as_json(messages: Sequence[BaseMessage]) -> str:
    roles = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}
    told = [
        {
            "role": roles.get(message.type, message.type),
            "parts": [{"type": "text", "content": str(message.text)}],
        }
        for message in messages
    ]
    return json.dumps(told, ensure_ascii=False)
