from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from citeproof.errors import InputError
from citeproof.memory.evidence import Evidence, EvidenceLog
from citeproof.settings import ChromaSettings
from citeproof.types import Passage

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
    assert len(await log.recent()) == 2


async def test_recent_begins_with_the_latest(log: EvidenceLog) -> None:
    for hour in (3, 1, 2):
        when = NOON + timedelta(hours=hour)
        await log.record(f"Q{hour}?", "A.", [TIDES], "supported", "vtg", when)
    assert [e.question for e in await log.recent(2)] == ["Q3?", "Q2?"]
    assert await log.recent(0) == []


async def test_an_empty_question_is_refused(log: EvidenceLog) -> None:
    with pytest.raises(InputError):
        await log.record(" ", "A.", [TIDES], "supported", "vtg")
