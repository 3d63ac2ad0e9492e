"""Two processes over one evidence log, and over one index; in the middle of it one is killed."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, RetrieverSettings
from tests.memory.crowd import facts_of, heard
from tests.memory.fakes import WordEmbeddings
from tests.memory.rivals import STATUSES, examine

SECONDS = float(os.environ.get("BANK_SECONDS", "6"))
"""How long the processes are at work."""
LONG = 600.0
"""What the one that is killed does not reach."""
RIVALS = "tests.memory.rivals"


def facts(said: list[list[str]]) -> list[list[str]]:
    return [line.split() for own in said for line in own]


async def test_evidence_that_was_acknowledged_is_kept_when_a_process_is_killed(
    tmp_path: Path,
) -> None:
    lives = {"A": 2 * SECONDS, "B": LONG}
    given = [["note", str(tmp_path), name, str(life)] for name, life in lives.items()]
    said = heard(RIVALS, given, SECONDS)
    assert facts_of(facts(said), "error") == []
    assert said[0][-1] == "done\n"
    log = EvidenceLog.open(ChromaSettings(path=tmp_path))
    entries = await log.recent(100_000)
    held = {entry.claim: entry.status for entry in entries}
    assert len(held) == len(entries) == await log.count()
    tried = Counter(topic for _, topic, _ in facts_of(facts(said), "try"))
    for _, topic, status in facts_of(facts(said), "ack"):
        last = STATUSES[tried[topic] - 1]
        assert held.get(topic) in (status, last)
    assert {"A-first", "B-first"} <= held.keys()
    acknowledged = [len(facts_of(facts([own]), "ack")) for own in said]
    assert min(acknowledged) > 1, "both took part in it"
    await log.record("One more?", "Yes.", [], "supported", "vtg")
    assert await log.count() == len(entries) + 1
    log.close()


def test_who_searches_an_index_while_it_is_written_sees_a_whole_one(tmp_path: Path) -> None:
    lives = {"ask": 2 * SECONDS, "write": LONG}
    given = [[role, str(tmp_path), "-", str(life)] for role, life in lives.items()]
    said = heard(RIVALS, given, SECONDS)
    assert facts_of(facts(said), "error") == []
    assert said[0][-1] == "done\n"
    assert len(facts_of(facts(said[:1]), "ack")) > 10
    assert len(facts_of(facts(said[1:]), "ack")) > 1
    settings = ChromaSettings(path=tmp_path / "store")
    index = Index.open(settings, RetrieverSettings(), WordEmbeddings())
    examine(index, 500)
    index.update([tmp_path / "documents"])
    rows = [row for file in (tmp_path / "documents").iterdir() for row in file.open()]
    assert index.count() == len(rows)
    index.close()
    editions = [path for path in (tmp_path / "store" / "editions").iterdir() if path.is_dir()]
    assert len(editions) == 1, "what nobody uses any more is deleted"
