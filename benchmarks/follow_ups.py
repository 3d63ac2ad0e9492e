"""Follow-ups as questions that stand alone, by the configured model.

    PYTHONPATH=. python benchmarks/follow_ups.py [CASES.jsonl] [--out results/follow_ups.md]

A case is a question, its answer and a follow-up. `needs` lists what the rewritten question must
hold, alternatives with a bar between them; without any the follow-up is a question of its own, and
must stay word for word. That is a first look: whether a question is right is judged by hand.
Only the rewriter is run, with one call of the model for each case.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from citeproof import LLM, Settings
from citeproof.agents.question_rewriter import QuestionRewriter
from citeproof.tools.llm.model import open_llm

HERE = Path(__file__).parent


async def rewrite(rewriter: QuestionRewriter, case: dict[str, Any]) -> tuple[str, float]:
    """The question that the rewriter makes of a case, and the seconds that it took."""
    messages = [
        HumanMessage(case["question"]),
        AIMessage(case["answer"]),
        HumanMessage(case["follow_up"]),
    ]
    began = time.perf_counter()
    update = await rewriter.ainvoke({"question": case["follow_up"], "messages": messages})
    return update.get("question", case["follow_up"]), time.perf_counter() - began


def holds(case: dict[str, Any], rewritten: str) -> bool:
    """Whether a rewritten question has what it needs, or is the follow-up itself."""
    if not case["needs"]:
        return re.findall(r"\w+", rewritten) == re.findall(r"\w+", case["follow_up"])
    found = rewritten.casefold()
    return all(any(word.casefold() in found for word in need.split("|")) for need in case["needs"])


async def table(llm: LLM, cases: list[dict[str, Any]]) -> str:
    """The table, with the count below it."""
    rewriter = QuestionRewriter(llm.for_role("question_rewriter"))
    lines = [
        "| kind | before it | follow-up | rewritten | has what it needs |",
        "|---|---|---|---|---|",
    ]
    count, times = 0, []
    for case in cases:
        rewritten, seconds = await rewrite(rewriter, case)
        count += (good := holds(case, rewritten))
        times.append(seconds)
        cells = [case["kind"], case["question"], case["follow_up"], rewritten]
        lines.append(f"| {' | '.join(cells)} | {'yes' if good else '**no**'} |")
    lines.append(f"\n{count} of {len(cases)} have what they need; {llm.name}; ")
    lines[-1] += f"{sorted(times)[len(times) // 2]:.1f} s for the median question."
    return "\n".join(lines)


def main() -> None:
    """Rewrite the cases, and print or write their table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="?", type=Path, default=HERE / "follow_ups.jsonl")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    lines = given.cases.read_text(encoding="utf-8").splitlines()
    settings = Settings.load()
    llm = open_llm(settings.llm, settings.models)
    try:
        text = asyncio.run(table(llm, [json.loads(line) for line in lines]))
    finally:
        llm.close()
    if given.out:
        given.out.write_text(f"# Follow-ups\n\n{text}\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
