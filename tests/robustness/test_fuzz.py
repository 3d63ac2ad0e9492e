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
from typing import Any, TypeAlias

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof import (
    Answer,
    Toolbox,
    build_calm,
    build_closedbook,
    build_cot,
    build_llatrieval,
    build_oracle,
    build_r2_mga,
    build_rerank,
    build_snippet,
    build_summ,
    build_usc,
    build_vanilla,
    build_vtg,
)
from citeproof.compose import remember_with, retrieve_with, verify_with
from citeproof.errors import CiteproofError, ModelOutageError, RetrievalError
from citeproof.graphs.composed import build_composed
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


def proof(p: Random) -> Knobs:
    """Knobs of the proof."""
    return {
        "max_trials": p.randint(0, 2),
        "queries": p.randint(1, 3),
        "unverified": p.choice(["keep", "flag", "drop"]),
        "verify": p.random() < 0.9,
        "memory": p.random() < 0.8,
        "simplify": p.random() < 0.8,
        "diverse_queries": p.random() < 0.8,
    }


def vtg(p: Random) -> Knobs:
    """Knobs of VTG."""
    return {
        **proof(p),
        "k": p.randint(1, 6),
        "max_claims": p.randint(1, 4),
        "may_abstain": p.random() < 0.5,
        "ranked": p.random() < 0.5,
    }


def calm(p: Random) -> Knobs:
    """Knobs of CaLM."""
    return {
        "k": p.randint(1, 4),
        "pool": p.randint(1, 12),
        "max_rounds": p.randint(0, 4),
        "threshold": p.choice([0.1, 0.5, 1.0]),
        "form": p.choice(["prose", "list"]),
        "verify": p.random() < 0.9,
        "cited_only": p.random() < 0.8,
        "prove": p.random() < 0.8,
    }


def llatrieval(p: Random) -> Knobs:
    """Knobs of LLatrieval."""
    return {
        "k": p.randint(1, 4),
        "max_rounds": p.randint(1, 3),
        "candidates": p.randint(1, 12),
        "window": p.randint(1, 5),
        "first_query": p.choice(["question", "passage"]),
        "query_style": p.choice(["question", "passage"]),
        "verification": p.choice(["class", "score"]),
        "summarize": p.random() < 0.5,
        "verify_first": p.random() < 0.5,
        "reread": p.random() < 0.3,
        "prove": p.random() < 0.8,
        "answer": p.random() < 0.9,
    }


def r2_mga(p: Random) -> Knobs:
    """Knobs of R²-MGA."""
    return {
        "k": p.randint(1, 6),
        "rounds": p.randint(1, 3),
        "execution": p.choice(["one-time", "step-by-step"]),
        "best_match": p.random() < 0.8,
        "rationale": p.random() < 0.8,
        "refine": p.random() < 0.9,
        "gate": p.choice(["llm", "nli", "both"]),
        "least_score": p.choice([0.3, 1.0]),
        "unverified": p.choice(["keep", "flag", "drop"]),
        "may_abstain": p.random() < 0.5,
    }


def composed(p: Random) -> Knobs:
    """Knobs of the composed flow."""
    return {
        **vtg(p),
        "search": p.random() < 0.8,
        "search_rounds": p.randint(1, 3),
        "candidates": p.randint(1, 12),
        "summarize": p.random() < 0.3,
        "demonstrate": p.random() < 0.8,
        "refine": p.random() < 0.9,
        "least_score": p.choice([0.3, 1.0]),
    }


def baseline(p: Random) -> Knobs:
    """Knobs of all baselines."""
    return {
        "form": p.choice(["prose", "list", "short"]),
        "shots": p.randint(0, 2),
        "prove": p.random() < 0.8,
    }


def reading(p: Random) -> Knobs:
    """Knobs of the baselines that read passages."""
    return {
        **baseline(p),
        "k": p.randint(1, 6),
        "ranked": p.random() < 0.5,
        "reasoning": p.random() < 0.3,
    }


def sampling(p: Random) -> Knobs:
    """Knobs of those that choose from several answers."""
    return {**reading(p), "samples": p.randint(1, 4)}


def reranking(p: Random) -> Knobs:
    """Knobs of RERANK."""
    return {**sampling(p), "definition": p.choice(["paper", "released"])}


def closedbook(p: Random) -> Knobs:
    """Knobs of CLOSEDBOOK."""
    return {**baseline(p), "cite": p.random() < 0.5}


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

    build: Callable[..., Any]
    draw: Callable[[Random], Knobs]
    calls: Callable[[Knobs], int]
    over: Callable[[Knobs], int] = lambda p: 0
    """How many calls may go beyond a budget of calls."""
    documents: bool = False
    """Whether it answers from nothing but documents that come with the question."""


def proved(tools: Toolbox, *, draft: dict[str, Any], **parameters: Any) -> Any:
    """The proof over one of the others."""
    name = draft.pop("name")
    return verify_with(SUBJECTS[name].build(tools, **draft), tools, **parameters)


def prose(name: str, p: Random) -> Knobs:
    """A graph inside writes sentences, or is refused."""
    drawn = SUBJECTS[name].draw(p)
    return {"name": name, **drawn, **({"form": "prose"} if "form" in drawn else {})}


def draw_proved(p: Random) -> Knobs:
    name = p.choice(["vanilla", "calm", "closedbook", "rerank"])
    return {**proof(p), "draft": prose(name, p)}


def proved_calls(p: Knobs) -> int:
    return SUBJECTS[p["draft"]["name"]].calls(p["draft"])


def kept(tools: Toolbox, *, draft: dict[str, Any], **parameters: Any) -> Any:
    """The memory over one of the others."""
    tools.bank = tools.bank or BANK
    name = draft.pop("name")
    return remember_with(SUBJECTS[name].build(tools, **draft), tools, **parameters)


def draw_kept(p: Random) -> Knobs:
    name = p.choice(["vanilla", "vtg"])
    return {"draft": prose(name, p)}


def searched(tools: Toolbox, *, search: dict[str, Any], **parameters: Any) -> Any:
    """VANILLA over what LLatrieval chooses."""
    return build_vanilla(retrieve_with(build_llatrieval(tools, **search), tools), **parameters)


def searched_calls(p: Knobs) -> int:
    return llatrieval_calls(p["search"])


def draw_searched(p: Random) -> Knobs:
    return {**reading(p), "search": llatrieval(p)}


SUBJECTS: dict[str, Subject] = {
    "vtg": Subject(build_vtg, vtg, vtg_calls),
    "calm": Subject(build_calm, calm, calm_calls),
    "llatrieval": Subject(build_llatrieval, llatrieval, llatrieval_calls, lambda p: SUMMARIES),
    "r2-mga": Subject(build_r2_mga, r2_mga, r2_mga_calls),
    "composed": Subject(build_composed, composed, composed_calls, lambda p: SUMMARIES),
    "vanilla": Subject(build_vanilla, reading, lambda p: 1),
    "cot": Subject(build_cot, reading, lambda p: 1),
    "oracle": Subject(build_oracle, reading, lambda p: 1, documents=True),
    "summ": Subject(build_summ, reading, lambda p: p["k"] + 1, lambda p: SUMMARIES),
    "snippet": Subject(build_snippet, reading, lambda p: p["k"] + 1, lambda p: SUMMARIES),
    "rerank": Subject(build_rerank, reranking, lambda p: p["samples"], lambda p: p["samples"] - 1),
    "usc": Subject(build_usc, sampling, lambda p: p["samples"] + 2, lambda p: p["samples"] - 1),
    "closedbook": Subject(build_closedbook, closedbook, lambda p: 1),
    "proved": Subject(proved, draw_proved, proved_calls),
    "kept": Subject(kept, draw_kept, proved_calls),
    "searched": Subject(searched, draw_searched, lambda p: 1 + searched_calls(p)),
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
            await one_run(SUBJECTS[name], seed)
        except BaseException as error:
            error.add_note(f"in the run {seed!r}")
            raise


@pytest.mark.timeout(max(600, RUNS * 6))
async def test_whatever_a_person_replies_the_run_ends_well() -> None:
    replies = 0
    for number in range(SEED, SEED + RUNS):
        chaos = Chaos(f"review {number}")
        p = chaos.random
        parameters = {**vtg(p), "verify": True, "review": True, "max_trials": 0}
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
    assert replies > RUNS / 4 or RUNS < 20


def decisions(p: Random) -> list[Any]:
    """What a person may reply; an edit with any words."""
    text = p.choice([*FACTS, *filter(lambda reply: isinstance(reply, str), NOISE)])
    replies = [{"decision": decision, "text": ""} for decision in ("approve", "drop")]
    return [*replies, {"decision": "edit", "text": text}] * len(NOISE)


async def one_run(subject: Subject, seed: str) -> None:
    chaos = Chaos(seed, BANK)
    p = chaos.random
    parameters = subject.draw(p)
    budget = {
        "max_calls": p.choice([None, None, 1, 2, 5, 12]),
        "max_tokens": p.choice([None, None, None, 400, 3000]),
        "max_seconds": p.choice([None, None, None, 0.005]),
    }
    graph = subject.build(chaos.toolbox(), **{**budget, **copied(parameters)})
    asked: dict[str, Any] = {"question": QUESTION}
    if subject.documents or p.random() < 0.2:
        asked["documents"] = chaos.documents()
    events: list[Any] = []
    result: dict[str, Any] = {}
    failure: CiteproofError | None = None
    try:
        async with asyncio.timeout(LONGEST):
            run = graph.astream(asked, stream_mode=["custom", "values"])
            async for mode, part in run:
                if mode == "custom":
                    events.append(part)
                else:
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
    if "draft" in parameters or isinstance(parameters.get("search"), dict):
        # The graph inside keeps to the budget that it was built with, which is none here.
        inside = proved_calls if "draft" in parameters else searched_calls
        limit = budget["max_calls"] or math.inf
        assert calls <= max(limit, inside(parameters) * attempts)
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
