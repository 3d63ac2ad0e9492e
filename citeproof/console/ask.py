"""`citeproof ask`: runs a graph before the reader's eyes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from rich.console import Console
from rich.text import Text

from citeproof.console.live import follow, show
from citeproof.console.review import decide
from citeproof.console.threads import Build, Thread, resumable, told
from citeproof.text import plain
from citeproof.tools.moments import Moment
from citeproof.types import Answer

__all__ = ["run"]


def run(
    build: Build,
    question: str,
    moments: list[Moment],
    console: Console | None,
    err: Console,
    thread: Thread | None,
    review: bool,
    *,
    trace: bool,
) -> Answer:
    """Run a graph, and record what happens.

    Args:
        build: Builds the method's graph, perhaps with a `checkpointer`.
        question: What to ask it.
        moments: Filled with what happens.
        console: Where the run and its answer are printed; None prints the run alone, to `err`.
        err: Where a person is asked.
        thread: Where the run is kept, if anywhere.
        review: Whether it may have to wait for a person.
        trace: Show each step.
    """
    goes_on = False

    async def stream() -> AsyncGenerator[Moment]:
        nonlocal goes_on
        async with resumable(build, question, thread, review=review) as kept:
            goes_on = kept.given is None
            async with aclosing(told(kept, partial(decide, console=err))) as run:
                async for moment in run:
                    moments.append(moment)
                    yield moment

    if console is None:
        return asyncio.run(follow(stream(), err, question=question, trace=trace))
    answer = asyncio.run(show(stream(), console, question=question, trace=trace))
    if goes_on:  # what was shown before the interruption was not shown again
        whole = plain(answer.text, lines=True)
        console.print(Text(f"\nThe whole answer: {whole}"), soft_wrap=True)
    return answer
