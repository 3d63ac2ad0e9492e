"""A run that is cancelled leaves nothing behind, and the next question is answered as ever."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from citeproof import build_r2_mga, build_vtg
from citeproof.memory.bank import Bank
from citeproof.runtime import background
from citeproof.settings import ChromaSettings
from citeproof.testing import TableEntailment
from citeproof.tools.entailment.cache import CachedEntailment
from tests.agents.one_node import Log
from tests.graphs.r2_mga_scripts import GOOD, empty_bank
from tests.graphs.r2_mga_scripts import QUESTION as TOWER
from tests.graphs.r2_mga_scripts import Script as R2MGAScript
from tests.memory.fakes import WordEmbeddings
from tests.robustness.chaos import QUESTION, Steady
from tests.robustness.flows import ASKING, FLOWS, asked, seed

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Door:
    """Where a call of a model waits until it is cancelled."""

    def __init__(self) -> None:
        self.place = -1
        """Which call waits, from 0."""
        self.begun = 0
        self.waiting = threading.Event()
        self.left = 0

    async def begin(self) -> None:
        self.begun += 1
        if self.begun - 1 == self.place:
            self.waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.left += 1


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files would be made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


async def reached(met: Callable[[], bool]) -> None:
    """Wait until it is so, 10 seconds at most."""
    async with asyncio.timeout(10):
        while not met():
            await asyncio.sleep(0.001)


async def cancel_within(
    monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, run: Coroutine[Any, Any, Any]
) -> threading.Event:
    """Cancel a run while a thread is in a method; the event lets that go on.

    A thread cannot be stopped, so what it has begun to write it ends.
    """
    begun, go_on = threading.Event(), threading.Event()
    real = getattr(owner, method)

    def slow(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, method, slow)
    task = asyncio.create_task(run)
    await reached(begun.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return go_on


@pytest.mark.parametrize("name", ASKING)
async def test_cancelled_in_any_call_of_a_model(name: str, temporary: Path) -> None:
    """The next question on the same graph and thread is answered as by a graph that is new."""
    bank = empty_bank() if name == "kept" else None
    question = asked(name, QUESTION)
    other = asked(name, "Who mended the lamp?")

    async def first(question: Any) -> tuple[Any, int]:
        door = Door()
        tools = Steady(seed(name), bank, begin=door.begin).toolbox()
        graph = FLOWS[name](tools, checkpointer=InMemorySaver())
        return told(await graph.ainvoke(question, CONFIG)), door.begun

    whole, calls = await first(question)
    expected, _ = await first(other)
    assert calls > 0
    threads = set(threading.enumerate())
    for place in range(calls):
        door, log = Door(), Log()
        door.place = place
        tools = Steady(seed(name), bank, log, begin=door.begin).toolbox()
        graph = FLOWS[name](tools, checkpointer=InMemorySaver())
        run = asyncio.create_task(graph.ainvoke(question, CONFIG))
        await reached(door.waiting.is_set)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert (door.left, log.records) == (1, [])
        if place % 2:
            assert told(await graph.ainvoke(None, CONFIG)) == whole
        assert told(await graph.ainvoke(other, CONFIG)) == expected
    if bank:
        bank.close()
    assert list(temporary.iterdir()) == []
    assert {t.name.partition("_")[0] for t in set(threading.enumerate()) - threads} <= {"asyncio"}


def told(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what it cost, and without the turns before it."""
    answer = result["answer"].model_dump(exclude={"usage"})
    return {**result, "ledger": {}, "messages": [], "answer": answer}


def test_an_interrupted_invoke_ends_its_step_on_the_loop_behind(temporary: Path) -> None:
    """Ctrl-C while `graph.invoke` waits for a model."""
    door = Door()
    door.place = 1
    graph = FLOWS["vtg"](Steady(seed("vtg"), begin=door.begin).toolbox())

    def interrupt() -> None:
        assert door.waiting.wait(10)
        time.sleep(0.05)
        assert main.ident is not None
        signal.pthread_kill(main.ident, signal.SIGINT)

    main = threading.main_thread()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        graph.invoke({"question": QUESTION})
    thread.join()
    loop, end = background._loop(0), time.monotonic() + 10
    while asyncio.all_tasks(loop) and time.monotonic() < end:
        time.sleep(0.01)
    assert (asyncio.all_tasks(loop), door.left) == (set(), 1)
    assert graph.invoke({"question": QUESTION})["answer"].claims
    assert list(temporary.iterdir()) == []


async def test_cancelled_while_a_case_is_kept_it_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = Bank.open(ChromaSettings(path=tmp_path / "store"), WordEmbeddings())
    script = R2MGAScript(assessor=[GOOD], bank=bank)
    graph = build_r2_mga(script.toolbox(), gate="llm")
    go_on = await cancel_within(monkeypatch, bank, "_put", graph.ainvoke({"question": TOWER}))
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert await bank.count() == 0
    go_on.set()
    async with asyncio.timeout(10):
        while not await bank.count():
            await asyncio.sleep(0.01)
    [entry] = await bank.cases()
    assert not entry.case.actions, "else there is a plan to show, too"
    for kind in ("generation", "assessment"):
        found = await bank.best(kind, question=TOWER, passages=entry.case.passages)
        assert found is not None
        assert found.case == entry.case
    again = R2MGAScript(assessor=[GOOD], demonstrator=["So."] * 3, bank=bank)
    answer = (await build_r2_mga(again.toolbox(), gate="llm").ainvoke({"question": TOWER}))[
        "answer"
    ]
    assert answer.claims
    assert await bank.count() == 1
    bank.close()


async def test_cancelled_while_scores_are_kept_the_file_holds_whole_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "scores.db"
    kept = CachedEntailment(TableEntailment(lambda premise, claim: 0.9), file=file)
    tools = Steady(seed("vtg")).toolbox()
    tools.entailment = kept
    graph = build_vtg(tools, quote_above=1.0)  # quotes need no scores
    run = graph.ainvoke({"question": QUESTION})
    (await cancel_within(monkeypatch, kept._file, "write", run)).set()
    answer = (await graph.ainvoke({"question": QUESTION}))["answer"]
    assert {claim.verdict.score for claim in answer.claims} == {0.9}
    with sqlite3.connect(file) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT DISTINCT score FROM scores").fetchall() == [(0.9,)]
    assert [path.name for path in tmp_path.iterdir()] == ["scores.db"]
