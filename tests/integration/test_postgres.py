"""Runs that PostgreSQL keeps: killed, or waiting for a person, they go on in another process.

Needs pgserver, or the address of a database that may be filled, in `CITEPROOF_TEST_POSTGRES`.
"""

from __future__ import annotations

import math
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from typer.testing import CliRunner

from citeproof import Toolbox, build_vtg, cli
from tests.graphs.scripts import LIT, Script
from tests.postgres import running_server
from tests.robustness.test_resume import process
from tests.server.serving import ANSWER, QUESTION, client
from tests.test_docs import blocks

WRONG = "Cy Fox built the tower."


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server that this module may fill."""
    if given := os.environ.get("CITEPROOF_TEST_POSTGRES"):
        yield given
        return
    with running_server() as made:
        yield made.url


@pytest.fixture
def database(server: str) -> Iterator[str]:
    """The address of a schema of its own, for one test."""
    name = f"citeproof_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        yield f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{name}"
        connection.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.mark.parametrize("name", ["vtg", "composed"])
def test_a_process_that_is_killed_goes_on_in_another_and_repeats_no_call(
    name: str, database: str, tmp_path: Path
) -> None:
    whole = process(name, tmp_path / "whole")  # kept in a file, since the thread is the same
    assert (whole.code, len(whole.calls) > 6) == (0, True)
    first = process(name, tmp_path / "killed", die_at=6, store=database)
    assert (first.code, first.answer) == (-signal.SIGKILL, None)
    assert first.calls == whole.calls[:6]
    second = process(name, tmp_path / "killed", resume=True, store=database)
    assert second.answer == whole.answer
    assert second.calls == whole.calls


def test_the_program_of_the_page_runs(database: str) -> None:
    programs = blocks(Path("docs/streaming.md"), "python")
    [program] = [program for program in programs if "PostgresSaver" in program]
    told = Script([LIT, "DONE"], [[2]])
    names: dict[str, Any] = {"tools": told.toolbox(), "build_vtg": build_vtg}
    [address] = re.findall(r'"(postgresql://[^"]+)"', program)
    exec(program.replace(address, database), names)
    assert names["answer"].text == "The tower was lit in 1871 [1]."


def test_the_command_line_goes_on_with_a_run(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Script([WRONG, WRONG, LIT, "DONE"], [[1], [1], [2]], questions=[["Who?"]])
    (tmp_path / ".citeproof").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: told.toolbox())
    ask = ["ask", "Who?", "--set", f"checkpointer={database}", "--set", "max_trials=0"]
    told.lasts = 4
    lost = CliRunner().invoke(cli.app, ask)
    [name] = re.findall(r"with --thread (run-[0-9a-f-]+) to resume it", lost.stderr)
    told.lasts = math.inf
    done = CliRunner().invoke(cli.app, [*ask, "--thread", name])
    assert done.exit_code == 0, done.output
    assert told.calls == {"claim_generator": 4, "citation_generator": 3, "evidence_finder": 1}
    assert list((tmp_path / ".citeproof").iterdir()) == []
    assert CliRunner().invoke(cli.app, ask).exit_code == 2  # the script is at its end
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()
    assert len(found) == 2


async def test_the_server_keeps_its_conversations_there(database: str, tmp_path: Path) -> None:
    asked = {"question": QUESTION, "stream": False, "conversation": "c"}
    for _ in range(2):
        async with client(tmp_path, checkpointer=database) as web:
            assert (await web.post("/api/ask", json=asked)).json()["text"] == ANSWER
    async with client(tmp_path, checkpointer=database) as web:
        [kept] = (await web.get("/api/conversations")).json()["conversations"]
        assert (kept["id"], kept["title"]) == ("c", QUESTION)
        assert len((await web.get("/api/conversations/c")).json()["turns"]) == 2
        assert (await web.delete("/api/conversations/c")).status_code == 200
        assert (await web.get("/api/conversations")).json()["conversations"] == []
