"""Tests whether the configured model rewrites follow-ups as standalone questions.

    python benchmarks/follow_ups.py [CASES.jsonl] [--out FILE]

A case is a question, its answer and a follow-up. `needs` lists what the rewritten question must
contain, with a bar between alternatives. If it is empty, the follow-up is a fresh question and must
stay word for word. This is only a first check: whether a question is right is judged by hand.
Only the rewriter runs, with one model call for each case.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from pathlib import Path
from typing import Any

from common import read_lines, table, write
from langchain_core.messages import AIMessage, HumanMessage

from citeproof import LLM, Settings
from citeproof.agents.question_rewriter import QuestionRewriter
from citeproof.tools.llm.opening import open_llm

HEAD = ("kind", "first question", "follow-up", "rewritten", "complete")


async def rewrite(rewriter: QuestionRewriter, case: dict[str, Any]) -> tuple[str, float]:
    """The rewritten question of a case, and the seconds that it took."""
    messages = [
        HumanMessage(case["question"]),
        AIMessage(case["answer"]),
        HumanMessage(case["follow_up"]),
    ]
    began = time.perf_counter()
    update = await rewriter.ainvoke({"question": case["follow_up"], "messages": messages})
    return update.get("question", case["follow_up"]), time.perf_counter() - began


def holds(case: dict[str, Any], rewritten: str) -> bool:
    """Whether a rewritten question has what it needs; without needs, whether it is unchanged."""
    if not case["needs"]:
        return re.findall(r"\w+", rewritten) == re.findall(r"\w+", case["follow_up"])
    found = rewritten.casefold()
    return all(any(word.casefold() in found for word in need.split("|")) for need in case["needs"])


async def report(llm: LLM, cases: list[dict[str, Any]]) -> list[str]:
    """The table, followed by the count."""
    rewriter = QuestionRewriter(llm.for_role("question_rewriter"))
    rows, count, times = [], 0, []
    for case in cases:
        rewritten, seconds = await rewrite(rewriter, case)
        count += (good := holds(case, rewritten))
        times.append(seconds)
        cells = [case["kind"], case["question"], case["follow_up"], rewritten]
        rows.append([*cells, "yes" if good else "**no**"])
    told = f"{count} of {len(cases)} are complete; {llm.name}; "
    told += f"{sorted(times)[len(times) // 2]:.1f} s for the median question."
    return ["# Follow-ups", "", *table(HEAD, rows), "", told]


def main() -> None:
    """Rewrite the cases, then print or write their table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="?", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    settings = Settings.load()
    llm = open_llm(settings.llm, settings.models)
    try:
        lines = asyncio.run(report(llm, read_lines(given.cases)))
    finally:
        llm.close()
    write(given.out, lines)


if __name__ == "__main__":
    main()
