"""What was cited, for which claim of which question, and when."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from citeproof.errors import InputError
from citeproof.memory.chroma import Chroma, Collection, Record
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
    """A log in the Chroma store; `open` makes one. Its methods may be called from async code."""

    def __init__(self, collection: Collection, chroma: Chroma | None = None) -> None:
        self._collection = collection
        self._chroma = chroma

    @classmethod
    def open(cls, settings: ChromaSettings) -> EvidenceLog:
        """The log beside the passages that the settings name.

        Raises:
            StoreError: The store cannot be opened.
        """
        chroma = Chroma.open(settings)
        return cls(chroma.collection(f"{settings.collection}-evidence"), chroma)

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
        await asyncio.to_thread(self._collection.put, [record])
        return record.id

    async def for_question(self, question: str) -> list[Evidence]:
        """What was cited for a question, in order of time; case and spacing do not matter."""
        records = await asyncio.to_thread(
            lambda: list(self._collection.scan({"key": _key(question)}))
        )
        return sorted(map(_evidence, records), key=lambda entry: entry.when)

    async def recent(self, n: int = 20) -> list[Evidence]:
        """The last `n` entries, the latest first."""
        records = await asyncio.to_thread(lambda: list(self._collection.scan()))
        records.sort(key=lambda record: -float(record.metadata["when"]))
        return [_evidence(record) for record in records[: max(n, 0)]]

    async def count(self) -> int:
        """How many entries there are."""
        return await asyncio.to_thread(self._collection.count)

    def close(self) -> None:
        """Let go of the store."""
        if self._chroma is not None:
            self._chroma.close()


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
