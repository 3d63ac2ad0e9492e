"""Any graph, any reply, any passages: a run ends with a sound answer, or with a clear outage.

`CITEPROOF_FUZZ_RUNS=1000 pytest tests/robustness/test_fuzz.py` runs each graph so many times.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias, get_args

import pytest
from annotated_types import Ge, Le
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof import Answer, build_vtg
from citeproof.errors import CiteproofError, ModelOutageError, RetrievalError
from citeproof.graphs.registry import METHODS
from citeproof.memory.bank import Bank
from citeproof.prompts import defuse
from citeproof.runtime.events import ClaimDrafted, LLMCalled, ReviewRequested
from tests.graphs.r2_mga_scripts import empty_bank
from tests.robustness.chaos import FACTS, NOISE, QUESTION, Chaos
from tests.robustness.flows import kept, proved, searched

RUNS = int(os.environ.get("CITEPROOF_FUZZ_RUNS", "20"))
SEED = int(os.environ.get("CITEPROOF_FUZZ_SEED", "0"))
LONGEST = 60.0
"""Seconds after which a run counts as endless."""
SUMMARIES = 8 - 1
"""By so many calls a budget may be exceeded where summaries are written at once."""


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


# The most calls of a run, retries apart, by its parameters. A reply that must be of some form may
# be asked for twice.


def proof_calls(p: dict[str, Any], claims: int) -> int:
    """Each claim fails T + 2 times at most, and has evidence looked for after all but the last."""
    return int(claims * 2 * (p["max_trials"] + 1))


def vtg_calls(p: dict[str, Any]) -> int:
    """Each trial of a claim is written and cited."""
    return int(p["max_claims"] * 3 * (p["max_trials"] + 2) + proof_calls(p, p["max_claims"]))


def calm_calls(p: dict[str, Any]) -> int:
    """The first answer, then corrections, and a verifier's answer for all but the last."""
    rounds = max(1, p["max_rounds"])
    return int(1 + 2 * (rounds - 1) + (rounds - 1))


def llatrieval_calls(p: dict[str, Any]) -> int:
    """In a round: a query, summaries, the windows, a verdict; one verdict first, and an answer."""
    most = min(12, max(p["candidates"], p["k"]))  # the retriever of these tests finds no more
    a_round = 1 + most * p["summarize"] + 2 * math.ceil(most / p["window"]) + 2
    return int(p["max_rounds"] * a_round + 2 + 1)


def r2_mga_calls(p: dict[str, Any]) -> int:
    """Rationales for all three kinds; in a round: assessment, plan, refinement by each action."""
    refinement = 2 if p["execution"] == "one-time" else 10
    summaries = p["k"] if p["style"] else 0
    return int(2 + p["rounds"] * (2 + 2 + 2 + refinement) + 3 + summaries)


def composed_calls(p: dict[str, Any]) -> int:
    """A search in one window, an answer of VTG's, one refinement, and its proof."""
    searched = {**p, "max_rounds": p["search_rounds"], "window": p["candidates"]}
    refined = 3 + 2 + 2 + 2 + proof_calls(p, p["max_claims"])
    return llatrieval_calls(searched) + vtg_calls(p) + refined


Calls: TypeAlias = Callable[[dict[str, Any]], int]


@dataclass(frozen=True)
class Subject:
    """A graph, and what is true of it."""

    calls: Calls
    over: Calls = lambda p: 0
    """How many calls may go beyond a budget of calls."""
    build: Callable[..., Any] | None = None
    """None: the method of its name."""
    draw: Callable[[Random], dict[str, Any]] | None = None
    """Its parameters; None: those of the method of its name."""
    documents: bool = False
    """Whether it answers from nothing but documents that come with the question."""


def proof(p: Random) -> dict[str, Any]:
    """Parameters of the proof alone."""
    names = ("max_trials", "queries", "unverified", "verify", "memory", "simplify")
    drawn = draw("vtg", p)
    return {
        "draft": inside(p, "vanilla", "calm", "closedbook", "rerank"),
        **{name: drawn[name] for name in names},
    }


def inside_calls(p: dict[str, Any]) -> int:
    """The most calls of the graph inside."""
    if "search" in p:
        return llatrieval_calls(p["search"])
    return SUBJECTS[p["draft"]["name"]].calls(p["draft"])


LOOK = 4
"""Most calls of a second look for an answer: a guess, and three judgements."""
SUBJECTS: dict[str, Subject] = {
    "vtg": Subject(lambda p: LOOK + vtg_calls(p)),
    "calm": Subject(calm_calls),
    "llatrieval": Subject(llatrieval_calls, lambda p: SUMMARIES),
    "r2-mga": Subject(r2_mga_calls, lambda p: SUMMARIES if p["style"] else 0),
    "composed": Subject(composed_calls, lambda p: SUMMARIES),
    "verbatim": Subject(lambda p: 0),
    "vericite": Subject(lambda p: LOOK + p["k"] + 2, lambda p: SUMMARIES),
    "quote-first": Subject(lambda p: LOOK + 2 * 2),
    "structured": Subject(lambda p: LOOK + 2),
    "vanilla": Subject(lambda p: LOOK + 1),
    "cot": Subject(lambda p: LOOK + 1),
    "oracle": Subject(lambda p: LOOK + 1, documents=True),
    "summ": Subject(lambda p: LOOK + p["k"] + 1, lambda p: SUMMARIES),
    "snippet": Subject(lambda p: LOOK + p["k"] + 1, lambda p: SUMMARIES),
    "rerank": Subject(lambda p: LOOK + p["samples"], lambda p: p["samples"] - 1),
    "usc": Subject(lambda p: LOOK + p["samples"] + 2, lambda p: p["samples"] - 1),
    "closedbook": Subject(lambda p: 1),
    "proved": Subject(inside_calls, build=proved, draw=proof),
    "kept": Subject(
        inside_calls, build=kept, draw=lambda p: {"draft": inside(p, "vanilla", "vtg")}
    ),
    "searched": Subject(
        lambda p: 1 + inside_calls(p),
        build=searched,
        draw=lambda p: {**draw("vanilla", p), "search": draw("llatrieval", p)},
    ),
}
BANK: Bank


@pytest.fixture(autouse=True, scope="module")
def _bank() -> Iterator[None]:
    global BANK  # one for all runs, so that later ones find cases in it
    BANK = empty_bank()
    yield
    BANK.close()


@pytest.mark.timeout(max(600, RUNS * 6))
@pytest.mark.parametrize("name", SUBJECTS)
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
    subject = SUBJECTS[name]
    chaos = Chaos(seed, BANK)
    p = chaos.random
    parameters = subject.draw(p) if subject.draw else draw(name, p)
    budget = {
        "max_calls": p.choice([None, None, 1, 2, 5, 12]),
        "max_tokens": p.choice([None, None, None, 400, 3000]),
        "max_seconds": p.choice([None, None, None, 0.005]),
    }
    build = subject.build or METHODS[name].build
    tools = chaos.toolbox()
    if name == "kept":
        tools.bank = tools.bank or BANK
    graph = build(tools, **budget, **parameters)
    asked: dict[str, Any] = {"question": QUESTION}
    if subject.documents or p.random() < 0.2:
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
    attempts = chaos.retries + 1
    most = subject.calls(parameters)
    if "draft" in parameters and "max_trials" in parameters:
        fed = sum(isinstance(e, ClaimDrafted) and e.trial == 1 for e in events)
        most += proof_calls(parameters, fed)
    assert calls <= most * attempts
    if failure is not None:
        assert "\n" not in str(failure)
        return
    answer = result["answer"]
    sound(answer)
    if result.get("case_id"):
        assert answer.claims
    if subject.build:
        # The graph inside keeps to the budget that it was built with, which is none here.
        limit = budget["max_calls"] or math.inf
        assert calls <= max(limit, inside_calls(parameters) * attempts)
    else:
        # Of calls that are made at once, those that another one's end has cancelled count as well.
        at_once = subject.over(parameters) if answer.reason else 0
        assert calls <= answer.usage.llm_calls <= calls + at_once
        within(answer, events, budget, subject.over(parameters))


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
