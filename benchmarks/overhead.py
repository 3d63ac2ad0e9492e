"""Measures the cost of the graph itself: VTG on instant models, against a plain loop.

    python benchmarks/overhead.py --out benchmarks/results

Runs VTG for answers of 1 to 50 claims, once as the compiled graph and once as a loop that calls
the same nodes by hand. The difference, for each node call, is the graph's own cost.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from pathlib import Path
from typing import Any

from citeproof import Passage, Toolbox, build_vtg
from citeproof.agents.answer_composer import AnswerComposer
from citeproof.agents.citation_generator import CitationGenerator
from citeproof.agents.claim_acceptor import ClaimAcceptor
from citeproof.agents.claim_generator import ClaimGenerator
from citeproof.agents.generation_verifier import GenerationVerifier
from citeproof.agents.retriever import Retriever
from citeproof.agents.simplifier import Simplifier
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment

CLAIMS = (1, 2, 4, 8, 16, 32, 50)
NODES_PER_CLAIM = 5
NODES_BESIDE = 4


def tools(claims: int) -> Toolbox:
    """Models that answer at once, for an answer of so many claims."""
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
    """VTG's straight path, node by node, without a graph."""
    state: Any = {"question": "What holds?", "claims": [], "rejected": [], "dropped": []}
    retriever, writer = Retriever(box.retriever, k=k), ClaimGenerator(box.llm)
    rest = [
        CitationGenerator(box.llm),
        GenerationVerifier(box.entailment),
        Simplifier(box.entailment),
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
    """Median seconds of the graph and of the plain loop, taken in turns."""
    graph_times, loop_times = [], []
    for _ in range(repeats):
        box = tools(claims)
        graph = build_vtg(box, k=50, max_claims=100)

        async def run(graph: Any = graph) -> Any:
            begun = time.perf_counter()
            result = await graph.ainvoke({"question": "What holds?"})
            return result["answer"], time.perf_counter() - begun

        answer, seconds = asyncio.run(run())
        assert len(answer.claims) == claims, answer
        graph_times.append(seconds)

        async def loop(box: Toolbox = box) -> Any:
            begun = time.perf_counter()
            answer = await plain_loop(box, 50)
            return answer, time.perf_counter() - begun

        answer, seconds = asyncio.run(loop())
        assert len(answer.claims) == claims, answer
        loop_times.append(seconds)
    return statistics.median(graph_times), statistics.median(loop_times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    measure(1, 2)
    rows = [(claims, *measure(claims, arguments.repeats)) for claims in CLAIMS]
    lines = [
        "# What the graph itself costs",
        "",
        "VTG on scripted models that answer at once, as the compiled graph and as a plain loop of",
        "the same nodes; medians of "
        f"{arguments.repeats} runs, taken in turns in one process (`benchmarks/overhead.py`).",
        "",
        "| claims | node calls | graph, ms | plain loop, ms | graph's own cost, ms a node call |",
        "|---|---|---|---|---|",
    ]
    own = []
    for claims, graph, loop in rows:
        calls = NODES_PER_CLAIM * claims + NODES_BESIDE
        own.append((graph - loop) / calls * 1000)
        lines.append(
            f"| {claims} | {calls} | {graph * 1000:.1f} | {loop * 1000:.1f} | {own[-1]:.2f} |"
        )
    lines += ["", "![overhead](overhead.svg)", ""]
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "overhead.md").write_text("\n".join(lines), encoding="utf-8")
    draw(rows, arguments.out / "overhead.svg")
    print("\n".join(lines))


def draw(rows: list[tuple[int, float, float]], path: Path) -> None:
    """Both curves over the number of claims."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    claims = [row[0] for row in rows]
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.plot(
        claims, [row[1] * 1000 for row in rows], "o-", label="compiled graph", color="#0b6e4f"
    )
    axes.plot(claims, [row[2] * 1000 for row in rows], "o-", label="plain loop", color="#8a8f98")
    axes.set_xlabel("claims in the answer")
    axes.set_ylabel("milliseconds a run")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    main()
