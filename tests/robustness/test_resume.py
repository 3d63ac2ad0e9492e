"""A run that is killed goes on from its checkpoint: no finished step is done twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START

from citeproof.errors import ModelOutageError
from tests.agents.one_node import Log
from tests.graphs.r2_mga_scripts import empty_bank
from tests.robustness.chaos import QUESTION, Steady
from tests.robustness.flows import ASKING, FLOWS, asked, seed, switched_off

BANKED = ("r2-mga", "composed", "kept")
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class KilledError(Exception):
    """Stands for the end of the process."""


class Moment(NamedTuple):
    """A node begins or ends."""

    ends: bool
    node: str
    calls: Counter[tuple[str, str]]
    """(role, prompt) → how often it was asked until then."""


class Watcher(BaseCallbackHandler):
    """Tells a life of each node that begins, those of graphs inside as well."""

    raise_error = True

    def __init__(self, life: Life) -> None:
        self.life = life

    def on_chain_start(
        self, *_: Any, name: str = "", tags: Any = None, metadata: Any = None, **__: Any
    ) -> None:
        is_node = any(tag.startswith("graph:step:") for tag in tags or ())
        if is_node and name != START:
            inside = "|" in metadata["langgraph_checkpoint_ns"]
            self.life.see(False, f"inner {name}" if inside else name)


class Life:
    """A run of a flow, which may be killed, with all that it leaves behind."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.bank = empty_bank() if name in BANKED else None
        self.log = Log()
        self.calls: Counter[tuple[str, str]] = Counter()
        self.moments: list[Moment] = []
        self.kill: tuple[bool, str, int] | None = None
        """Whether at its end or its beginning, the node, and at which of its visits from 1."""
        self.outage: int | None = None
        """Which call of a model fails, from 0."""
        self.begun = 0

    def go(self, question: Any) -> dict[str, Any]:
        """Build the graph anew, as another process would, and begin or go on."""
        steady = Steady(seed(self.name), self.bank, self.log, self._call)
        steady.asked = self.calls
        with SqliteSaver.from_conn_string(str(self.folder / "runs.db")) as saver:
            graph = FLOWS[self.name](steady.toolbox(), checkpointer=saver)
            for name, node in graph.nodes.items():
                if name != START:  # between a node's work and what LangGraph does with it
                    node.bound = node.bound | partial(self._end, name)
            config = {**CONFIG, "callbacks": [Watcher(self)]}
            result: dict[str, Any] = graph.invoke(question, config)
            return result

    async def _call(self) -> None:
        self.begun += 1
        if self.begun - 1 == self.outage:
            raise ConnectionError("the server is gone")

    def _end(self, node: str, update: Any) -> Any:
        self.see(True, node)
        return update

    def see(self, ends: bool, node: str) -> None:
        """Keep the moment, and kill the run if it is the one."""
        self.moments.append(Moment(ends, node, Counter(self.calls)))
        visits = sum(seen[:2] == (ends, node) for seen in self.moments)
        if (ends, node, visits) == self.kill:
            raise KilledError

    def left(self, result: dict[str, Any]) -> dict[str, Any]:
        """What there is afterwards, but for costs and times."""
        cases = asyncio.run(self.bank.cases()) if self.bank else []
        answer = result["answer"].model_dump(exclude={"usage"})
        claims = {record["claim"] for record in self.log.records}
        return {
            **result,
            "ledger": {},
            "answer": answer,
            "messages": [(message.type, message.text) for message in result["messages"]],
            "cases": [one.case for one in cases],
            "log": claims,
        }

    def close(self) -> None:
        """Let go of the bank."""
        if self.bank:
            self.bank.close()


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[[str], Life]]:
    """Begins lives of a flow, each in a folder of its own."""
    made: list[Life] = []

    def new(name: str) -> Life:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Life(name, folder))
        return made[-1]

    yield new
    for life in made:
        life.close()


@pytest.mark.parametrize("name", FLOWS)
def test_killed_at_any_node_a_run_goes_on_as_if_nothing_had_happened(
    name: str, begin: Callable[[str], Life]
) -> None:
    """At the beginning of a node nothing is lost; at its end, its own work and no other's."""
    question = asked(name, QUESTION)
    whole = begin(name)
    undisturbed = whole.left(whole.go(question))
    cost = sum(whole.calls.values())
    nodes = own_nodes(whole) - switched_off(name) - {"question_rewriter"}
    assert {moment.node for moment in whole.moments} >= nodes
    visits = Counter(moment[:2] for moment in whole.moments)
    for (ends, node), last in visits.items():
        life = begin(name)
        life.kill = (ends, node, last)
        with pytest.raises(KilledError):
            life.go(question)
        step = next(m for m in reversed(life.moments) if m.node in nodes and not m.ends)
        lost = life.calls - step.calls
        life.kill = None
        result = life.go(None)
        assert life.left(result) == undisturbed, (ends, node)
        # A graph inside goes on where it was, so that less is done again than the whole node.
        assert life.calls - whole.calls <= lost, (ends, node)
        if node in nodes and not ends:
            assert not lost
            assert result["answer"].usage.llm_calls == cost
    assert undisturbed["answer"]["claims"]


@pytest.mark.parametrize("name", ASKING)
def test_an_outage_at_any_call_costs_no_more_than_its_node(
    name: str, begin: Callable[[str], Life]
) -> None:
    question = asked(name, QUESTION)
    whole = begin(name)
    undisturbed = whole.left(whole.go(question))
    nodes = own_nodes(whole)
    assert whole.begun > 0
    for place in range(whole.begun):
        life = begin(name)
        life.outage = place
        with pytest.raises(ModelOutageError, match="the server is gone"):
            life.go(question)
        step = life.moments[-1 - [m.node in nodes for m in life.moments[::-1]].index(True)]
        lost = life.calls - step.calls
        assert life.left(life.go(None)) == undisturbed, place
        # A graph inside goes on at its own node, so that what that one had done is not lost.
        assert life.calls - whole.calls <= lost, place


def own_nodes(life: Life) -> set[str]:
    """The nodes of the graph itself, without those of a graph inside."""
    graph = FLOWS[life.name](Steady("", life.bank).toolbox())
    return {name for name in graph.get_graph().nodes if not name.startswith("__")}


@pytest.mark.parametrize("name", ["vtg", "composed"])
def test_a_process_that_is_killed_outright_loses_nothing_that_was_finished(
    name: str, tmp_path: Path
) -> None:
    """With `durability="sync"` a step begins when the one before it is on the disk."""
    whole = process(name, tmp_path / "whole")
    assert whole.code == 0
    assert len(whole.calls) > 6
    first = process(name, tmp_path / "killed", die_at=6)
    assert (first.code, first.answer) == (-signal.SIGKILL, None)
    assert first.calls == whole.calls[:6]
    second = process(name, tmp_path / "killed", resume=True)
    assert second.answer == whole.answer
    assert second.calls == whole.calls


class Process(NamedTuple):
    """What a process of its own did."""

    code: int
    answer: Any
    calls: list[str]
    """Each finished call of all processes that worked in the folder, in order."""


def process(
    name: str, folder: Path, *, die_at: int = -1, resume: bool = False, store: str = ""
) -> Process:
    """Run a flow in a process, or go on with it.

    Args:
        name: The flow.
        folder: Holds what the processes have asked, and by default their checkpoints.
        die_at: Before which call of a model, from 0, it kills itself.
        resume: Go on.
        store: The address of a PostgreSQL to keep checkpoints in.
    """
    folder.mkdir(exist_ok=True)
    arguments = [name, str(folder), str(die_at), str(resume), store]
    done = subprocess.run(
        [sys.executable, "-m", __name__, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert "deserializ" not in done.stderr.lower()
    calls = (folder / "calls").read_text(encoding="utf-8").splitlines()
    return Process(done.returncode, json.loads(done.stdout) if done.stdout else None, calls)


def keeping(folder: Path, store: str) -> Any:
    """The checkpointer, to be entered."""
    if not store:
        return SqliteSaver.from_conn_string(str(folder / "runs.db"))
    from langgraph.checkpoint.postgres import PostgresSaver

    return PostgresSaver.from_conn_string(store)


def main(name: str, folder: Path, die_at: int, resume: bool, store: str) -> None:
    """The process: every finished call is on the disk before anything else happens."""
    import hashlib

    begun = 0

    async def begin() -> None:
        nonlocal begun
        begun += 1
        if begun - 1 == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    class Logged(Steady):
        def _reply(self, role: str, prompt: str) -> Any:
            with (folder / "calls").open("a", encoding="utf-8") as file:
                file.write(f"{role} {hashlib.sha256(prompt.encode()).hexdigest()}\n")
            return super()._reply(role, prompt)

    tools = Logged(seed(name), begin=begin).toolbox()
    with keeping(folder, store) as saver:
        saver.setup()
        graph = FLOWS[name](tools, checkpointer=saver)
        question = None if resume else asked(name, QUESTION)
        result = graph.invoke(question, CONFIG, durability="sync")
    sys.stdout.write(result["answer"].model_dump_json(exclude={"usage"}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "True", sys.argv[5])
