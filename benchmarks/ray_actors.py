"""Measures how much sooner two Ray actors answer than one: 16 questions, calls of fixed length."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from common import RESULTS, table, write

from citeproof import Passage, Toolbox, build_vanilla
from citeproof.evaluation.examples import Example
from citeproof.evaluation.on_ray import on_ray
from citeproof.evaluation.runner import run
from citeproof.settings import RaySettings
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment

QUESTIONS = 16
TEXT = """# Ray actors
{questions} questions to `vanilla`, one at a time in each actor; a call of the scripted model takes
{seconds:g} s. The clock starts after the actors have opened.
"""


def open_graph(seconds: float) -> Any:
    """A graph whose model takes this long for a call."""
    tools = Toolbox(
        ScriptedChatModel(lambda _: "Water boils at 100 degrees [1].", delay=seconds),
        retriever=ListRetriever([]),
        entailment=TableEntailment(lambda *_: 1.0),
    )
    return build_vanilla(tools)


async def measure(actors: int, seconds: float) -> float:
    """Seconds for all questions, one at a time in each actor, after the actors have opened."""
    passage = Passage(id="p", text="Water boils at 100 degrees.", title="Water", source="w.txt")
    examples = [
        Example(id=str(n), question=f"When does it boil ({n})?", documents=(passage,), task="qa")
        for n in range(QUESTIONS + actors)
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        on_ray(partial(open_graph, seconds), RaySettings(actors=actors)) as graph,
    ):
        await run(graph, "vanilla", examples[:actors], Path(folder, "first"), at_once=actors)
        begun = time.perf_counter()
        done = await run(graph, "vanilla", examples[actors:], Path(folder, "run"), at_once=actors)
        took = time.perf_counter() - begun
    assert done.totals.answered == QUESTIONS, done.totals
    return took


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=0.5, help="of a call")
    seconds = arguments.parse_args().seconds
    took = {actors: asyncio.run(measure(actors, seconds)) for actors in (1, 2)}
    rows = [(n, f"{own:.2f}", f"{own / took[1]:.2f}") for n, own in took.items()]
    text = TEXT.format(questions=QUESTIONS, seconds=seconds)
    write(RESULTS / "ray_actors.md", [text, *table(("actors", "seconds", "share"), rows)])


if __name__ == "__main__":
    main()
