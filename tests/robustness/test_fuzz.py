"""Any graph, any reply, any passages: a run ends with a sound answer, or with a clear outage.

`CITEPROOF_FUZZ_RUNS=1000 pytest tests/robustness/test_fuzz.py` runs each graph so many times.
"""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any, get_args

import pytest
from annotated_types import Ge, Le
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof import Answer, build_vtg
from citeproof.errors import CiteproofError, ModelOutageError, RetrievalError
from citeproof.graphs.registry import METHODS
from citeproof.memory.bank import Bank
from citeproof.prompts import defuse
from citeproof.runtime.events import LLMCalled, ReviewRequested
from tests.graphs.r2_mga_scripts import empty_bank
from tests.robustness.chaos import FACTS, NOISE, QUESTION, Chaos
from tests.robustness.flows import kept, proved, searched

RUNS = int(os.environ.get("CITEPROOF_FUZZ_RUNS", "20"))
SEED = int(os.environ.get("CITEPROOF_FUZZ_SEED", "0"))
LONGEST = 60.0
"""Seconds after which a run counts as endless."""
MOST_CALLS = 250
"""Of a run, retries apart, with the highest numbers that are drawn."""
AT_ONCE = {"llatrieval", "r2-mga", "composed", "vericite", "summ", "snippet", "rerank", "usc"}
"""Methods that make several calls at once."""
SUMMARIES = 8 - 1
"""By so many calls these may exceed a budget."""

LEFT_ALONE = {"max_calls", "max_tokens", "max_seconds", "prompts", "namespace", "review"}
"""Parameters that are not drawn: budgets, which are drawn by themselves, and words of a user."""
MOST = {"pool": 12, "candidates": 12, "max_rounds": 4, "max_trials": 2, "rounds": 3}
"""Parameter → the highest number that is drawn, where it is not 5."""


def draw(name: str, p: Random) -> dict[str, Any]:
    """Any parameters of a method, as its schema has them: whatever is added is drawn as well."""
    found: dict[str, Any] = {}
    for key, field in METHODS[name].parameters.model_fields.items():
        bounds = {type(one): one for one in field.metadata}
        if key in LEFT_ALONE or key.endswith("_tokens") or field.annotation == float | None:
            continue
        if field.annotation is bool:
            found[key] = field.default if p.random() < 0.8 else not field.default
        elif field.annotation is int:
            found[key] = p.randint(bounds[Ge].ge, min(bounds[Le].le, MOST.get(key, 5)))
        elif field.annotation is float:
            found[key] = p.choice([field.default, bounds[Le].le, 0.1 * bounds[Le].le])
        else:
            found[key] = p.choice(get_args(field.annotation))
    return found


def inside(p: Random, *names: str) -> dict[str, Any]:
    """A graph inside, which writes sentences, or is refused."""
    name = p.choice(names)
    drawn = draw(name, p)
    return {"name": name, **drawn, **({"form": "prose"} if "form" in drawn else {})}


def proof(p: Random) -> dict[str, Any]:
    """Parameters of the proof alone."""
    names = ("max_trials", "queries", "unverified", "verify", "memory", "simplify")
    drawn = draw("vtg", p)
    return {
        "draft": inside(p, "vanilla", "calm", "closedbook", "rerank"),
        **{name: drawn[name] for name in names},
    }


COMPOSED: dict[str, tuple[Callable[..., Any], Callable[[Random], dict[str, Any]]]] = {
    "proved": (proved, proof),
    "kept": (kept, lambda p: {"draft": inside(p, "vanilla", "vtg")}),
    "searched": (
        searched,
        lambda p: {**draw("vanilla", p), "search": draw("llatrieval", p)},
    ),
}
"""Graphs of several methods, with their parameters."""
BANK: Bank


@pytest.fixture(autouse=True, scope="module")
def _bank() -> Iterator[None]:
    global BANK  # one for all runs, so that later ones find cases in it
    BANK = empty_bank()
    yield
    BANK.close()


@pytest.mark.timeout(max(600, RUNS * 6))
@pytest.mark.parametrize("name", [*METHODS, *COMPOSED])
async def test_whatever_is_replied_the_run_ends_well(name: str) -> None:
    for number in range(SEED, SEED + RUNS):
        seed = f"{name} {number}"
        try:
            await one_run(name, seed)
        except BaseException as error:
            error.add_note(f"in the run {seed!r}")
            raise


@pytest.mark.timeout(max(600, RUNS * 6))
async def test_whatever_a_person_replies_the_run_ends_well() -> None:
    replies = 0
    for number in range(SEED, SEED + RUNS):
        chaos = Chaos(f"review {number}")
        p = chaos.random
        parameters = {**draw("vtg", p), "verify": True, "review": True, "max_trials": 0}
        chaos.entailed, chaos.noise, chaos.outages, chaos.failures = 0.2, 0.2, 0.01, 0.01
        graph = build_vtg(chaos.toolbox(), checkpointer=InMemorySaver(), **parameters)
        thread: Any = {"configurable": {"thread_id": str(number)}}
        given: Any = {"question": QUESTION, "documents": list(FACTS)}
        try:
            async with asyncio.timeout(LONGEST):
                while "__interrupt__" in (result := await graph.ainvoke(given, thread)):
                    request = ReviewRequested.model_validate(result["__interrupt__"][0].value)
                    assert request.claim.verdict.status == "unsupported"
                    replies += 1
                    given = Command(resume=p.choice([*NOISE, *decisions(p)]))
        except (ModelOutageError, RetrievalError):
            continue
        except BaseException as error:
            error.add_note(f"in the run 'review {number}'")
            raise
        sound(result["answer"])
    assert replies > RUNS / 8 or RUNS < 20


def decisions(p: Random) -> list[Any]:
    """What a person may reply; an edit with any words."""
    text = p.choice([*FACTS, *filter(lambda reply: isinstance(reply, str), NOISE)])
    replies = [{"decision": decision, "text": ""} for decision in ("approve", "drop")]
    return [*replies, {"decision": "edit", "text": text}] * len(NOISE)


async def one_run(name: str, seed: str) -> None:
    chaos = Chaos(seed, BANK)
    p = chaos.random
    build, drawn = COMPOSED.get(name) or (METHODS[name].build, partial(draw, name))
    parameters = drawn(p)
    budget = {
        "max_calls": p.choice([None, None, 1, 2, 5, 12]),
        "max_tokens": p.choice([None, None, None, 400, 3000]),
        "max_seconds": p.choice([None, None, None, 0.005]),
    }
    tools = chaos.toolbox()
    if name == "kept":
        tools.bank = tools.bank or BANK
    graph = build(tools, **budget, **parameters)
    asked: dict[str, Any] = {"question": QUESTION}
    if name == "oracle" or p.random() < 0.2:
        asked["documents"] = chaos.documents()
    events: list[Any] = []
    result: dict[str, Any] = {}
    failure: CiteproofError | None = None
    try:
        async with asyncio.timeout(LONGEST):
            run = graph.astream(asked, stream_mode=["custom", "values"], subgraphs=True)
            async for namespace, mode, part in run:
                if mode == "custom":
                    events.append(part)
                elif not namespace:
                    result = part
    except (ModelOutageError, RetrievalError) as error:
        failure, result = error, {}
    calls = sum(chaos.calls.values())
    assert calls <= MOST_CALLS * (chaos.retries + 1)
    if failure is not None:
        assert "\n" not in str(failure)
        return
    answer = result["answer"]
    sound(answer)
    if result.get("case_id"):
        assert answer.claims
    if name in METHODS:  # a graph inside keeps to the budget that it was built with, none here
        # Of calls that are made at once, those that another one's end has cancelled count as well.
        over = SUMMARIES if name in AT_ONCE else 0
        assert calls <= answer.usage.llm_calls <= calls + (over if answer.reason else 0)
        within(answer, events, budget, over)


def within(answer: Answer, events: list[Any], budget: dict[str, Any], over: int) -> None:
    """A run ends at its budget: the next call is refused, but not one that is under way."""
    if (most := budget["max_calls"]) is not None:
        assert answer.usage.llm_calls <= most + over
    if (most := budget["max_tokens"]) is not None:
        spent = [
            e.usage.prompt_tokens + e.usage.completion_tokens
            for e in events
            if isinstance(e, LLMCalled)
        ]
        under_way = sorted(spent)[-1 - over :]
        assert sum(spent) - sum(under_way) < most


def sound(answer: Answer) -> None:
    """The invariants of an answer, whoever wrote it."""
    assert Answer.model_validate_json(answer.model_dump_json()) == answer
    # It cites what it holds, by numbers in order of first use.
    used: dict[int, str] = {}
    for claim in answer.claims:
        numbers = [citation.number for citation in claim.citations]
        assert numbers == sorted(set(numbers))
        for citation in claim.citations:
            used.setdefault(citation.number, citation.passage_id)
    assert list(used) == list(range(1, len(answer.passages) + 1))
    assert list(used.values()) == [passage.id for passage in answer.passages]
    assert len(set(used.values())) == len(used)
    shown = [int(n) for n in re.findall(r"\[(?:\w+ )?(\d{1,6})\]", answer.text)]
    assert list(dict.fromkeys(shown)) == list(used)
    # Nothing in it can steer a terminal or a model, but for what is quoted word for word: that is
    # made plain where it is shown, and defused where it is asked about.
    for text in (answer.text, *(claim.text for claim in answer.claims)):
        controls = [c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
        assert (not controls and defuse(text) == text) or answer.method == "verbatim"
        assert any(map(str.isalnum, text)) or not answer.claims
    # Its status is what its verdicts say.
    verdicts = [claim.verdict.status for claim in answer.claims]
    beside = "No claim answers the question" in answer.reason
    assert (answer.status == "not_found") == (not answer.claims or beside)
    assert (answer.status == "answered") == (not answer.reason)
    for claim in answer.claims:
        if claim.verdict.status == "supported":
            assert claim.citations
            assert (claim.verdict.score or 0.0) >= 0.5
    if answer.status == "answered":  # CaLM's may be agreed on, and unchecked if that was asked for
        assert set(verdicts) <= {"supported", *(["unchecked"] if answer.method == "calm" else [])}
    if answer.method == "vtg":
        proved = set(verdicts) == {"supported"}
        cut = any(word in answer.reason for word in ("budget", "left out", "nswer"))
        assert (answer.status == "answered") == (proved and not cut)
