"""Measures the cost of the graph itself: VTG on instant models, against a plain loop.

    python benchmarks/overhead.py --out benchmarks/results

Runs VTG for answers of 1 to 50 claims, once as the compiled graph and once as a loop that calls
the same nodes directly. The difference per node call is the graph's own cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from pathlib import Path
from typing import Any

from common import RESULTS, drawing, table, write

from citeproof import Passage, Toolbox, build_vtg
from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.agents.claim_acceptor import ClaimAcceptor
from citeproof.agents.claim_generator import ClaimGenerator
from citeproof.agents.generation_verifier import GenerationVerifier
from citeproof.agents.quoter import Quoter
from citeproof.agents.retriever import Retriever
from citeproof.agents.simplifier import Simplifier
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment

CLAIMS = (1, 2, 4, 8, 16, 32, 50)
NODES_PER_CLAIM = 6
NODES_BESIDE = 4
"""The question reader, the retriever, the writer's last call, and the composer."""
WAYS = {"compiled graph": "#0b6e4f", "plain loop": "#8a8f98"}
HEAD = ("claims", "node calls", "graph, ms", "plain loop, ms", "graph's own cost, ms a node call")
TEXT = """# What the graph itself costs

VTG on scripted models that answer immediately, as the compiled graph and as a plain loop over
the same nodes: medians of {repeats} runs, taken in turns in one process (`benchmarks/overhead.py`).
"""


def tools(claims: int) -> Toolbox:
    """Models that answer immediately, for an answer with this many claims."""
    passages = [Passage(id=str(n), text=f"Fact {n} holds.", title=f"T{n}") for n in range(claims)]

    def reply(prompt: str) -> str:
        if '{"citations"' in prompt:
            fact = int(prompt.split("Sentence: Fact ")[1].split()[0])
            return json.dumps({"citations": [fact + 1]})
        written = prompt.partition("Your reply so far")[2].count("Fact")
        return f"Fact {written} holds." if written < claims else "DONE"

    return Toolbox(
        ScriptedChatModel(reply),
        retriever=ListRetriever(lambda _: passages),
        entailment=TableEntailment(lambda premise, claim: float(claim in premise)),
    )


async def plain_loop(box: Toolbox, k: int) -> Any:
    """VTG's straight path, node by node, without a graph and without the question reader."""
    state: Any = {"question": "What holds?", "claims": [], "rejected": [], "dropped": []}
    retriever, writer = Retriever(box.retriever, k=k), ClaimGenerator(box.llm)
    rest: list[Any] = [
        CitationGenerator(box.llm),
        GenerationVerifier(box.entailment),
        Simplifier(box.entailment),
        Quoter(box.answerability),
        ClaimAcceptor(),
    ]
    state |= await retriever(state)
    while True:
        state |= await writer(state)
        if state["draft"] is None:
            break
        for node in rest:
            state |= await node(state)
    return (await AnswerComposer()(state | {"stop": ""}))["answer"]


def measure(claims: int, repeats: int) -> tuple[float, float]:
    """Median milliseconds of the graph and of the plain loop, taken in turns."""

    async def graph(box: Toolbox) -> Any:
        built = build_vtg(box, k=50, max_claims=100)
        begun = time.perf_counter()
        result = await built.ainvoke({"question": "What holds?"})
        return result["answer"], time.perf_counter() - begun

    async def loop(box: Toolbox) -> Any:
        begun = time.perf_counter()
        return await plain_loop(box, 50), time.perf_counter() - begun

    times: list[list[float]] = [[], []]
    for _ in range(repeats):
        box = tools(claims)
        for own, way in zip(times, (graph, loop), strict=True):
            answer, seconds = asyncio.run(way(box))
            assert len(answer.claims) == claims, answer
            own.append(1000 * seconds)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    measure(1, 2)
    points = {claims: measure(claims, given.repeats) for claims in CLAIMS}
    rows = []
    for claims, (graph, loop) in points.items():
        calls = NODES_PER_CLAIM * claims + NODES_BESIDE
        cells = f"{graph:.1f}", f"{loop:.1f}", f"{(graph - loop) / calls:.2f}"
        rows.append((claims, calls, *cells))
    text = TEXT.format(repeats=given.repeats)
    lines = [text, *table(HEAD, rows), "", "![overhead](overhead.svg)"]
    write(given.out / "overhead.md", lines)
    with drawing(given.out / "overhead.svg", 6.4, 3.6) as axes:
        for way, (name, color) in enumerate(WAYS.items()):
            axes.plot(
                CLAIMS, [both[way] for both in points.values()], "o-", label=name, color=color
            )
        axes.set(xlabel="claims in the answer", ylabel="milliseconds a run")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)


if __name__ == "__main__":
    main()
