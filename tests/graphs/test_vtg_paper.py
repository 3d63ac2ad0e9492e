"""VTG with the paper's parameters does what its Algorithm 1 says, step by step."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from citeproof import Passage, Toolbox, build_vtg
from citeproof.graphs.vtg import PAPER_PARAMETERS
from citeproof.testing import ScriptedChatModel, TableEntailment
from tests.graphs.vtg_simulation import Event, Trace, World, simulate

QUESTION = "What holds?"
TITLE = re.compile(r'<passage number="(\d+)" title="(P\d+)">')
SCENARIOS = 200


class Witness:
    """Stands for the models and the retriever of a world, and notes what they are asked."""

    def __init__(self, world: World) -> None:
        self.world, self.trace = world, Trace()
        self.written = self.cited = self.asked = 0

    def reply(self, prompt: str) -> str:
        shown = {int(number): title for number, title in TITLE.findall(prompt)}
        memory = tuple(shown[number] for number in sorted(shown))
        events = self.trace.events
        if '{"citations"' in prompt:
            claim = self._between(prompt, "Sentence: ", "\n")
            events.append(("cite", claim, memory))
            places = self.world.citations[self.cited]
            self.cited += 1
            numbers = [sorted(shown)[place] for place in places if place < len(shown)]
            return json.dumps({"citations": numbers})
        if '{"questions"' in prompt:
            assert not shown
            text = self._between(prompt, "Answer so far: ", "\n").replace("(nothing yet)", "")
            events.append(("queries", text, self._between(prompt, "Claim to be checked: ", "\n")))
            self.asked += 1
            return json.dumps({"questions": self.world.queries[self.asked - 1]})
        assert "do not write them" not in prompt
        assert "at the most" not in prompt
        written = re.findall(r"Statement \d holds\.", prompt)
        events.append(("claim", " ".join(written), memory))
        self.written += 1
        return self.world.claims[self.written - 1] or "DONE"

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        self.trace.events.append(("retrieve", query, k))
        return [Passage(id=p, title=p, text=f"{p}.") for p in self.world.found(query, k)]

    def score(self, premise: str, hypothesis: str) -> float:
        passages = frozenset(re.findall(r"Title: (P\d+)", premise))
        self.trace.events.append(("entails", passages, hypothesis))
        return 0.9 if self.world.entails(passages, hypothesis) else 0.1

    @staticmethod
    def _between(text: str, start: str, end: str) -> str:
        return text.rpartition(start)[2].partition(end)[0]


def once(events: Sequence[Event]) -> list[Event]:
    """The events, but for pairs that were scored before: a toolbox keeps their scores."""
    kept = dict.fromkeys(event for event in events if event[0] == "entails")
    return [e for e in events if e[0] != "entails" or kept.pop(e, "known") is None]


def run(world: World) -> tuple[Trace, int, int]:
    """The trace of citeproof's VTG, its LLM calls and its retrievals."""
    witness = Witness(world)
    tools = Toolbox(
        ScriptedChatModel(witness.reply),
        retriever=witness,
        entailment=TableEntailment(witness.score),
    )
    numbers = {
        "max_trials": world.trials,
        "queries": world.most_queries,
        "k": world.k,
        "passages_per_query": world.per_query,
    }
    graph = build_vtg(tools, **{**PAPER_PARAMETERS["asqa"], **numbers})
    answer = graph.invoke({"question": QUESTION})["answer"]
    witness.trace.answer = [
        (
            claim.text,
            tuple(citation.passage_id for citation in claim.citations),
            (claim.verdict.tier or "") if claim.verdict.status == "supported" else "",
        )
        for claim in answer.claims
    ]
    return witness.trace, answer.usage.llm_calls, answer.usage.retrievals


@pytest.mark.parametrize("first", range(0, SCENARIOS, 50))
def test_the_trace_is_that_of_algorithm_1(first: int) -> None:
    for seed in range(first, first + 50):
        world = World.of(seed)
        expected = simulate(world, QUESTION)
        trace, calls, retrievals = run(world)
        assert trace.events == once(expected.events), seed
        assert [(s, set(c), by) for s, c, by in trace.answer] == [
            (s, set(c), by) for s, c, by in expected.answer
        ], seed
        kinds = [event[0] for event in expected.events]
        assert calls == sum(kinds.count(kind) for kind in ("claim", "cite", "queries")), seed
        assert retrievals == kinds.count("retrieve"), seed


def test_the_scenarios_reach_every_branch() -> None:
    traces = [simulate(World.of(seed), QUESTION) for seed in range(SCENARIOS)]
    by = [how for trace in traces for _, _, how in trace.answer]
    assert min(by.count("cited"), by.count("memory"), by.count("")) > 40
