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
from functools import partial
from random import Random
from typing import Any, TypeAlias

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof import Answer, Toolbox, build_llatrieval, build_vanilla, build_vtg
from citeproof.compose import remember_with, retrieve_with, verify_with
from citeproof.errors import CiteproofError, ModelOutageError, RetrievalError
from citeproof.graphs.registry import METHODS
from citeproof.memory.bank import Bank
from citeproof.prompts import defuse
from citeproof.runtime.events import ClaimDrafted, LLMCalled, ReviewRequested
from tests.graphs.r2_mga_scripts import empty_bank
from tests.robustness.chaos import FACTS, NOISE, QUESTION, Chaos

RUNS = int(os.environ.get("CITEPROOF_FUZZ_RUNS", "20"))
SEED = int(os.environ.get("CITEPROOF_FUZZ_SEED", "0"))
LONGEST = 60.0
"""Seconds after which a run counts as endless."""
SUMMARIES = 8 - 1
"""By so many calls a budget may be exceeded where summaries are written at once."""


Knobs: TypeAlias = dict[str, Any]
"""Parameters of a graph; `draft` and `search` are those of a graph inside."""

PROOF: Knobs = {
    "max_trials": range(3),
    "queries": range(1, 4),
    "unverified": ["keep", "flag", "drop"],
    "verify": 0.9,
    "memory": 0.8,
    "simplify": 0.8,
    "diverse_queries": 0.8,
}
"""What each is drawn from: values, the share of runs in which it is true, or a function."""
VTG = {**PROOF, "k": range(1, 7), "max_claims": range(1, 5), "may_abstain": 0.5, "ranked": 0.5}
CALM: Knobs = {
    "k": range(1, 5),
    "pool": range(1, 13),
    "max_rounds": range(5),
    "threshold": [0.1, 0.5, 1.0],
    "form": ["prose", "list"],
    "verify": 0.9,
    "cited_only": 0.8,
    "prove": 0.8,
}
LLATRIEVAL: Knobs = {
    "k": range(1, 5),
    "max_rounds": range(1, 4),
    "candidates": range(1, 13),
    "window": range(1, 6),
    "first_query": ["question", "passage"],
    "query_style": ["question", "passage"],
    "verification": ["class", "score"],
    "summarize": 0.5,
    "verify_first": 0.5,
    "reread": 0.3,
    "prove": 0.8,
    "answer": 0.9,
}
R2_MGA: Knobs = {
    "k": range(1, 7),
    "rounds": range(1, 4),
    "execution": ["one-time", "step-by-step"],
    "best_match": 0.8,
    "rationale": 0.8,
    "refine": 0.9,
    "gate": ["llm", "nli", "both"],
    "least_score": [0.3, 1.0],
    "unverified": ["keep", "flag", "drop"],
    "may_abstain": 0.5,
}
COMPOSED = {
    **VTG,
    "search": 0.8,
    "search_rounds": range(1, 4),
    "candidates": range(1, 13),
    "summarize": 0.3,
    "demonstrate": 0.8,
    "refine": 0.9,
    "least_score": [0.3, 1.0],
}
BASELINE: Knobs = {"form": ["prose", "list", "short"], "shots": range(3), "prove": 0.8}
READING = {**BASELINE, "k": range(1, 7), "ranked": 0.5, "reasoning": 0.3}
SAMPLING = {**READING, "samples": range(1, 5)}
RERANK = {**SAMPLING, "definition": ["paper", "released"]}
CLOSEDBOOK = {**BASELINE, "cite": 0.5}


def draw(knobs: Knobs, p: Random) -> Knobs:
    """A value for each."""
    found = {}
    for name, own in knobs.items():
        if callable(own):
            found[name] = own(p)
        else:
            found[name] = p.random() < own if isinstance(own, float) else p.choice(own)
    return found


def inside(*names: str) -> Callable[[Random], Knobs]:
    """Knobs of one of these as a graph inside, which writes sentences, or is refused."""

    def drawn(p: Random) -> Knobs:
        name = p.choice(names)
        knobs = draw(SUBJECTS[name].knobs, p)
        return {"name": name, **knobs, **({"form": "prose"} if "form" in knobs else {})}

    return drawn


# The most calls of a run, retries apart, by its parameters. A reply that must be of some form may
# be asked for twice.


def proof_calls(p: Knobs, claims: int) -> int:
    """Each claim fails T + 2 times at most, and has evidence looked for after all but the last."""
    return int(claims * 2 * (p["max_trials"] + 1))


def vtg_calls(p: Knobs) -> int:
    """Each trial of a claim is written and cited."""
    return int(p["max_claims"] * 3 * (p["max_trials"] + 2) + proof_calls(p, p["max_claims"]))


def calm_calls(p: Knobs) -> int:
    """The first answer, then corrections, and a verifier's answer for all but the last."""
    rounds = max(1, p["max_rounds"])
    return int(1 + 2 * (rounds - 1) + (rounds - 1))


def llatrieval_calls(p: Knobs) -> int:
    """In a round: a query, summaries, the windows, a verdict; one verdict first, and an answer."""
    most = min(12, max(p["candidates"], p["k"]))  # the retriever of these tests finds no more
    a_round = 1 + most * p["summarize"] + 2 * math.ceil(most / p["window"]) + 2
    return int(p["max_rounds"] * a_round + 2 + 1)


def r2_mga_calls(p: Knobs) -> int:
    """Rationales for all three kinds; in a round: assessment, plan, refinement by each action."""
    refinement = 2 if p["execution"] == "one-time" else 10
    return int(2 + p["rounds"] * (2 + 2 + 2 + refinement) + 3)


def composed_calls(p: Knobs) -> int:
    """A search in one window, an answer of VTG's, one refinement, and its proof."""
    searched = {**p, "max_rounds": p["search_rounds"], "window": p["candidates"]}
    refined = 3 + 2 + 2 + 2 + proof_calls(p, p["max_claims"])
    return llatrieval_calls(searched) + vtg_calls(p) + refined


@dataclass(frozen=True)
class Subject:
    """A graph, and what is true of it."""

    knobs: Knobs
    calls: Callable[[Knobs], int]
    over: Callable[[Knobs], int] = lambda p: 0
    """How many calls may go beyond a budget of calls."""
    build: Callable[..., Any] | None = None
    """None: the method of its name."""
    documents: bool = False
    """Whether it answers from nothing but documents that come with the question."""


def proved(tools: Toolbox, *, draft: dict[str, Any], **parameters: Any) -> Any:
    """The proof over one of the others."""
    name = draft.pop("name")
    return verify_with(METHODS[name].build(tools, **draft), tools, **parameters)


def kept(tools: Toolbox, *, draft: dict[str, Any], **parameters: Any) -> Any:
    """The memory over one of the others."""
    tools.bank = tools.bank or BANK
    name = draft.pop("name")
    return remember_with(METHODS[name].build(tools, **draft), tools, **parameters)


def searched(tools: Toolbox, *, search: dict[str, Any], **parameters: Any) -> Any:
    """VANILLA over what LLatrieval chooses."""
    return build_vanilla(retrieve_with(build_llatrieval(tools, **search), tools), **parameters)


def inside_calls(p: Knobs) -> int:
    """The most calls of the graph inside."""
    if "search" in p:
        return llatrieval_calls(p["search"])
    return SUBJECTS[p["draft"]["name"]].calls(p["draft"])


SUBJECTS: dict[str, Subject] = {
    "vtg": Subject(VTG, vtg_calls),
    "calm": Subject(CALM, calm_calls),
    "llatrieval": Subject(LLATRIEVAL, llatrieval_calls, lambda p: SUMMARIES),
    "r2-mga": Subject(R2_MGA, r2_mga_calls),
    "composed": Subject(COMPOSED, composed_calls, lambda p: SUMMARIES),
    "vanilla": Subject(READING, lambda p: 1),
    "cot": Subject(READING, lambda p: 1),
    "oracle": Subject(READING, lambda p: 1, documents=True),
    "summ": Subject(READING, lambda p: p["k"] + 1, lambda p: SUMMARIES),
    "snippet": Subject(READING, lambda p: p["k"] + 1, lambda p: SUMMARIES),
    "rerank": Subject(RERANK, lambda p: p["samples"], lambda p: p["samples"] - 1),
    "usc": Subject(SAMPLING, lambda p: p["samples"] + 2, lambda p: p["samples"] - 1),
    "closedbook": Subject(CLOSEDBOOK, lambda p: 1),
    "proved": Subject(
        {"draft": inside("vanilla", "calm", "closedbook", "rerank"), **PROOF},
        inside_calls,
        build=proved,
    ),
    "kept": Subject({"draft": inside("vanilla", "vtg")}, inside_calls, build=kept),
    "searched": Subject(
        {**READING, "search": partial(draw, LLATRIEVAL)},
        lambda p: 1 + inside_calls(p),
        build=searched,
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
        parameters = {**draw(VTG, p), "verify": True, "review": True, "max_trials": 0}
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
    parameters = draw(subject.knobs, p)
    budget = {
        "max_calls": p.choice([None, None, 1, 2, 5, 12]),
        "max_tokens": p.choice([None, None, None, 400, 3000]),
        "max_seconds": p.choice([None, None, None, 0.005]),
    }
    build = subject.build or METHODS[name].build
    graph = build(chaos.toolbox(), **{**budget, **copied(parameters)})
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
        at_once = subject.over(parameters) if "budget" in answer.reason else 0
        assert calls <= answer.usage.llm_calls <= calls + at_once
        within(answer, events, budget, subject.over(parameters))


def copied(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters, with those of a graph inside as a dictionary of its own."""
    return {key: dict(v) if isinstance(v, dict) else v for key, v in parameters.items()}


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
    # Nothing in it can steer a terminal or a model.
    for text in (answer.text, *(claim.text for claim in answer.claims)):
        assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
        assert defuse(text) == text
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
