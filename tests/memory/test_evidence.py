from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from citeproof.errors import InputError
from citeproof.memory.evidence import Evidence, EvidenceLog
from citeproof.settings import ChromaSettings
from citeproof.types import Passage

TIDES = Passage(id="p1", text="High at noon.", title="Tides", source="a.md", page=3, end=13)
SHEEP = Passage(id="p2", text="Forty sheep.")


@pytest.fixture
def log() -> Iterator[EvidenceLog]:
    log = EvidenceLog.open(ChromaSettings(in_memory=True))
    yield log
    log.close()


async def test_what_is_recorded_comes_back(log: EvidenceLog) -> None:
    await log.record("When is high tide?", "At noon.", [TIDES, SHEEP], "supported", "vtg")
    [found] = await log.for_question(" when is HIGH tide? ")
    assert found == Evidence(
        question="When is high tide?",
        claim="At noon.",
        passages=(TIDES, SHEEP),
        status="supported",
        method="vtg",
        when=found.when,
    )
    assert abs((datetime.now(UTC) - found.when).total_seconds()) < 60
    assert await log.for_question("Another?") == []


async def test_the_same_is_recorded_once_with_its_latest_status(log: EvidenceLog) -> None:
    first = await log.record("Q?", "A.", [TIDES], "unchecked", "vtg")
    [before] = await log.recent()
    assert await log.record("Q?", "A.", [TIDES], "supported", "vtg") == first
    [after] = await log.recent()
    assert (after.status, after.when > before.when) == ("supported", True)
    await log.record("Q?", "A.", [SHEEP], "supported", "vtg")
    assert len(await log.recent()) == 2


async def test_recent_begins_with_the_latest(log: EvidenceLog) -> None:
    for question in ("Q1?", "Q2?", "Q3?"):
        await log.record(question, "A.", [TIDES], "supported", "vtg")
    assert [e.question for e in await log.recent(2)] == ["Q3?", "Q2?"]
    assert await log.recent(0) == []


async def test_an_empty_question_is_refused(log: EvidenceLog) -> None:
    with pytest.raises(InputError):
        await log.record(" ", "A.", [TIDES], "supported", "vtg")
