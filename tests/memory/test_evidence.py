from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from citeproof.errors import InputError
from citeproof.memory.evidence import Evidence, EvidenceLog
from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.types import Passage
from tests.memory.fakes import WordEmbeddings

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TIDES = Passage(id="p1", text="High at noon.", title="Tides", source="a.md", page=3, end=13)
SHEEP = Passage(id="p2", text="Forty sheep.")


@pytest.fixture
def log() -> Iterator[EvidenceLog]:
    log = EvidenceLog.open(ChromaSettings(in_memory=True))
    yield log
    log.close()


async def test_what_is_recorded_comes_back(log: EvidenceLog) -> None:
    await log.record("When is high tide?", "At noon.", [TIDES, SHEEP], "supported", "vtg", NOON)
    assert await log.for_question(" when is HIGH tide? ") == [
        Evidence(
            question="When is high tide?",
            claim="At noon.",
            passages=(TIDES, SHEEP),
            status="supported",
            method="vtg",
            when=NOON,
        )
    ]
    assert await log.for_question("Another?") == []


async def test_the_same_is_recorded_once_with_its_latest_status(log: EvidenceLog) -> None:
    first = await log.record("Q?", "A.", [TIDES], "unchecked", "vtg", NOON)
    later = NOON + timedelta(hours=1)
    again = await log.record("Q?", "A.", [TIDES], "supported", "vtg", later)
    assert first == again
    assert [(e.status, e.when) for e in await log.for_question("Q?")] == [("supported", later)]
    await log.record("Q?", "A.", [SHEEP], "supported", "vtg", later)
    assert await log.count() == 2


async def test_recent_begins_with_the_latest(log: EvidenceLog) -> None:
    for hour in (3, 1, 2):
        when = NOON + timedelta(hours=hour)
        await log.record(f"Q{hour}?", "A.", [TIDES], "supported", "vtg", when)
    assert [e.question for e in await log.recent(2)] == ["Q3?", "Q2?"]
    assert await log.recent(0) == []


async def test_a_log_that_an_earlier_version_kept_in_the_index_is_read(tmp_path: Path) -> None:
    settings = ChromaSettings(path=tmp_path)
    log = EvidenceLog.open(settings)
    assert await log.recent() == []
    assert list(tmp_path.iterdir()) == [], "nothing is made to read what is not there"
    await log.record("Q?", "A.", [TIDES], "unchecked", "vtg", NOON)
    await log.record("Q?", "B.", [SHEEP], "supported", "vtg", NOON + timedelta(hours=1))
    log.close()
    (tmp_path / "evidence" / "chroma").rename(tmp_path / "chroma")
    shutil.rmtree(tmp_path / "evidence")
    log = EvidenceLog.open(settings)
    assert [entry.claim for entry in await log.for_question("Q?")] == ["A.", "B."]
    late = NOON + timedelta(hours=2)
    await log.record("Q?", "A.", [TIDES], "supported", "vtg", late)
    await log.record("R?", "C.", [TIDES], "supported", "vtg", late + timedelta(hours=1))
    assert [(e.claim, e.when) for e in await log.for_question("Q?")][1] == ("A.", late)
    index = Index.open(settings, RetrieverSettings(), WordEmbeddings())
    (tmp_path / "new.txt").write_text("A new thing.")
    index.update([tmp_path / "new.txt"])
    index.close()
    assert [entry.claim for entry in await log.recent()] == ["C.", "A.", "B."]
    assert await log.count() == 3
    log.close()


async def test_an_empty_question_is_refused(log: EvidenceLog) -> None:
    with pytest.raises(InputError):
        await log.record(" ", "A.", [TIDES], "supported", "vtg")
