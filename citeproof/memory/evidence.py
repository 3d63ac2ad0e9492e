"""What was cited, for which claim of which question, and when."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from citeproof.errors import InputError
from citeproof.memory.access import STAMP, Access, access
from citeproof.memory.chroma import Chroma, Record
from citeproof.memory.editions import Editions
from citeproof.settings import ChromaSettings
from citeproof.types import Passage

__all__ = ["Evidence", "EvidenceLog"]

Status = Literal["supported", "unsupported", "unchecked"]


class Evidence(BaseModel):
    """A claim with the passages that were cited for it."""

    model_config = ConfigDict(frozen=True)

    question: str
    claim: str
    passages: tuple[Passage, ...]
    status: Status
    """The verdict on the claim."""
    method: str
    when: datetime


class EvidenceLog:
    """A log in the Chroma store; `open` makes one. Its methods may be called from async code.

    Any number of threads and processes may use a log in a folder at once: they take turns, as
    those of the memory bank do.
    """

    def __init__(self, turns: Access, settings: ChromaSettings) -> None:
        self._turns = turns
        self._settings = settings
        self._name = f"{settings.collection}-evidence"

    @classmethod
    def open(cls, settings: ChromaSettings) -> EvidenceLog:
        """The log beside the passages that the settings name.

        In a folder nothing is made or read before it is needed.

        Raises:
            StoreError: The store cannot be opened.
        """
        return cls(access(settings, "evidence"), settings)

    async def record(
        self,
        question: str,
        claim: str,
        passages: Sequence[Passage],
        status: Status,
        method: str,
        when: datetime | None = None,
    ) -> str:
        """Note what was cited for a claim.

        The same claim with the same passages, question and method is noted once, with its
        latest status and time.

        Args:
            question: The question of the run.
            claim: The claim, without citation marks.
            passages: Those that it cites, in the order of their marks.
            status: The verdict.
            method: The method that wrote the claim, such as `vtg`.
            when: By default now.

        Returns:
            The id of the entry.

        Raises:
            InputError: Question or claim is empty.
            StoreError: The store cannot be written.
        """
        if not question.strip() or not claim.strip():
            raise InputError(
                "Evidence cannot be recorded", why="the question or the claim is empty"
            )
        moment = (when or datetime.now(UTC)).astimezone(UTC)
        parts = [_key(question), claim, method, *sorted(passage.id for passage in passages)]
        record = Record(
            hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32],
            json.dumps([passage.model_dump(mode="json") for passage in passages]),
            {
                "key": _key(question),
                "question": question,
                "claim": claim,
                "status": status,
                "method": method,
                "when": moment.timestamp(),
            },
        )
        await asyncio.to_thread(self._put, record)
        return record.id

    async def for_question(self, question: str) -> list[Evidence]:
        """What was cited for a question, in order of time; case and spacing do not matter."""
        records = await asyncio.to_thread(self._records, {"key": _key(question)})
        return sorted(map(_evidence, records), key=lambda entry: entry.when)

    async def recent(self, n: int = 20) -> list[Evidence]:
        """The last `n` entries, the latest first."""
        records = await asyncio.to_thread(self._records)
        records.sort(key=lambda record: -float(record.metadata["when"]))
        return [_evidence(record) for record in records[: max(n, 0)]]

    async def count(self) -> int:
        """How many entries there are."""
        return len(await asyncio.to_thread(self._records))

    def close(self) -> None:
        """Let go of the store."""
        self._turns.close()

    def _put(self, record: Record) -> None:
        with self._turns.writing() as use:
            use.chroma.collection(self._name).put([record])

    def _records(self, where: Mapping[str, Any] | None = None) -> list[Record]:
        found = {record.id: record for record in self._earlier(where)}
        if self._turns.exists():
            with self._turns.reading() as use:
                if (held := use.chroma.find(self._name)) is not None:
                    found |= {record.id: record for record in held.scan(where)}
        found.pop(STAMP, None)
        return list(found.values())

    def _earlier(self, where: Mapping[str, Any] | None) -> list[Record]:
        """What an earlier version of citeproof kept among the passages; it is only read."""
        settings = self._settings
        if settings.in_memory or settings.host is not None:
            return []  # there the log is where it was
        edition = Editions(settings.path).open()
        if edition is None:
            return []
        settings = settings.model_copy(update={"path": edition.folder})
        with closing(edition), closing(Chroma.open(settings)) as chroma:
            held = chroma.find(self._name)
            return [] if held is None else list(held.scan(where))


def _key(question: str) -> str:
    return " ".join(question.casefold().split())


def _evidence(record: Record) -> Evidence:
    data = record.metadata
    return Evidence.model_validate(
        {
            "question": data["question"],
            "claim": data["claim"],
            "passages": json.loads(record.text),
            "status": data["status"],
            "method": data["method"],
            "when": datetime.fromtimestamp(float(data["when"]), UTC),
        }
    )
