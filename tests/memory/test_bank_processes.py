"""Many threads of several processes over one bank, of which one is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from citeproof.memory import shelf
from citeproof.memory.bank import Bank
from citeproof.memory.chroma import Chroma
from citeproof.settings import ChromaSettings
from tests.memory.crowd import case, crowd
from tests.memory.fakes import WordEmbeddings

SECONDS = float(os.environ.get("BANK_SECONDS", "6"))
"""How long the crowd is at work."""
DIE = """
import asyncio, os, signal, sys
from pathlib import Path
from citeproof.memory.bank import Bank
from citeproof.memory.chroma import Collection
from citeproof.settings import ChromaSettings
from tests.memory.crowd import case
from tests.memory.fakes import WordEmbeddings

put = Collection.put

def die(self, records, vectors=None, **options):
    put(self, records[: int(sys.argv[2])], vectors, **options)
    os.kill(os.getpid(), signal.SIGKILL)

bank = Bank.open(ChromaSettings(path=Path(sys.argv[1])), WordEmbeddings())
asyncio.run(bank.add(case("whole", 0)))
Collection.put = die
asyncio.run(bank.add(case("torn", 0)))
"""


def test_nothing_that_was_acknowledged_is_lost_when_a_process_is_killed() -> None:
    outcome = crowd(SECONDS)
    assert outcome.errors == []
    assert outcome.lost == []
    assert outcome.halves == []
    # All took part in it, or the rest says little.
    assert outcome.killed_after > 3
    assert outcome.acknowledged > outcome.killed_after + 3
    assert outcome.reads > 20
    assert outcome.rationales > 3


@pytest.mark.parametrize("written", [0, 1, 2, 3])
async def test_a_process_that_dies_while_it_writes_leaves_a_whole_case_or_none(
    tmp_path: Path, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ChromaSettings(path=tmp_path)
    command = [sys.executable, "-c", DIE, str(tmp_path), str(written)]
    died = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert died.returncode == -signal.SIGKILL
    bank = Bank.open(settings, WordEmbeddings())
    served = {"whole", "torn"} if written == 3 else {"whole"}
    assert {entry.case.passages[0].id for entry in await bank.cases()} == served
    for kind in shelf.KINDS:
        asked = case("torn", 0)
        found = await bank.best(kind, question=asked.question, passages=asked.passages)
        assert found is not None
        assert found.case.passages[0].id == ("torn" if written == 3 else "whole")
    monkeypatch.setattr(shelf, "_GRACE", 0.0)
    await bank.add(case("next", 0))
    bank.close()
    chroma = Chroma.open(ChromaSettings(path=tmp_path / "bank"))
    collection = chroma.find("passages-bank")
    assert collection is not None
    assert collection.count() == 3 * (len(served) + 1)
    chroma.close()


async def test_vector_files_that_are_cut_off_do_no_harm_after_a_process_died(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", DIE, str(tmp_path), "2"]
    subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    folders = [path for path in (tmp_path / "bank" / "chroma").iterdir() if path.is_dir()]
    assert folders
    for folder in folders:
        (folder / "index_metadata.pickle").write_bytes(b"\x80\x04cut off")
    bank = Bank.open(ChromaSettings(path=tmp_path), WordEmbeddings())
    assert await bank.count() == 1
    await bank.add(case("torn", 0))
    assert await bank.count() == 2
    bank.close()
