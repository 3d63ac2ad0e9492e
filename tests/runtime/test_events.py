"""What a run tells on its custom stream is what `docs/events.schema.json` says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import TypeAdapter

from citeproof import Usage, build_vtg
from citeproof.graphs.registry import METHODS
from citeproof.memory.bank import Bank
from citeproof.runtime.events import (
    EVENTS,
    ClaimDelta,
    ClaimReviewed,
    Event,
    LLMCalled,
    LLMWaiting,
    QuestionRewritten,
)
from tests.graphs.scripts import LIT, Script
from tests.robustness.chaos import QUESTION, Steady
from tests.robustness.flows import FLOWS, asked, seed

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/events.schema.json").read_text("utf-8"))
READER: TypeAdapter[Event] = TypeAdapter(Event)
KINDS = {kind.model_fields["type"].default for kind in EVENTS}
WRONG = "Cy Fox built the tower."


def fitting(events: list[Event]) -> set[str]:
    """The kinds of some events; each fits the schema, and comes back from its JSON."""
    schema = Draft202012Validator(SCHEMA)
    for event in events:
        sent = json.loads(event.model_dump_json())
        schema.validate(sent)
        assert READER.validate_python(sent) == event
    return {event.type for event in events}


def test_the_schema_is_one_and_names_every_event() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["discriminator"]["mapping"].keys() == KINDS
    assert len(KINDS) == len(EVENTS)
    for name, kind in SCHEMA["$defs"].items():
        assert kind["description"], name
        assert set(kind["required"]) == set(kind["properties"]), "all that can be there is there"


@pytest.mark.parametrize("name", FLOWS)
async def test_every_event_of_every_method_fits(name: str, bank: Bank) -> None:
    graph = FLOWS[name](Steady(seed(name), bank).toolbox())
    stream = graph.astream(asked(name, QUESTION), stream_mode="custom", subgraphs=True)
    told: list[Any] = [event async for _, event in stream]
    asks = name not in METHODS or METHODS[name].writes
    assert {"answer_ready", *(["llm_called"] if asks else [])} <= fitting(told)


def test_a_run_with_a_review_tells_events_of_every_kind() -> None:
    script = Script([WRONG, WRONG, LIT, "DONE"], [[1], [1], [2]], questions=[["Who?"]])
    graph = build_vtg(script.toolbox(), review=True, max_trials=0, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    first: list[Any] = list(graph.stream({"question": "Who?"}, thread, stream_mode="custom"))
    assert first[-1].type == "review_requested"
    resumed: Any = Command(resume={"decision": "approve"})
    second: list[Any] = list(graph.stream(resumed, thread, stream_mode="custom"))
    assert ClaimReviewed(text=WRONG, decision="approve") in second
    rewritten = QuestionRewritten(asked="And who?", question="Who lit it?")
    waiting = LLMWaiting(role="claim_generator", seconds=2.0, attempt=2, attempts=5, why="429")
    assert fitting([*first, *second, rewritten, waiting]) == KINDS


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"type": "claim_delta"},
        {"type": "nothing", "text": "x"},
        {**ClaimDelta(text="x").model_dump(), "text": 3},
        {"type": "node_started", "node": "x"},
        {
            **LLMCalled(role="x", prompt="", reply="", usage=Usage()).model_dump(),
            "usage": {**Usage().model_dump(), "more": 1},
        },
    ],
)
def test_what_is_no_event_does_not_fit(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Draft202012Validator(SCHEMA).validate(wrong)
