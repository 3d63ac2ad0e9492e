"""The evidence log: which passages were cited for which claim of which question, and when."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from langchain_core.embeddings import Embeddings
from pydantic import BaseModel

from citeproof.errors import InputError
from citeproof.memory.opening import open_store
from citeproof.memory.store import Store
from citeproof.runtime.background import in_thread
from citeproof.settings import ChromaSettings
from citeproof.tools.retrieval.embeddings import embed_texts, embedder_name
from citeproof.types import Passage

Status = Literal["supported", "contradicted", "unsupported", "unchecked"]


class Evidence(BaseModel, frozen=True):
    """A claim with the passages cited for it."""

    question: str
    claim: str
    passages: tuple[Passage, ...]
    status: Status
    """The verdict on the claim."""
    method: str
    when: datetime


class EvidenceLog:
    """A log in Chroma. Create it with `open`; its async methods run in threads.

    An entry's vector embeds question and claim. Each embedding model writes to a collection of its
    own, and reading covers all of them. Any number of threads and processes may use a log at once.
    """

    def __init__(self, store: Store, name: str, embeddings: Embeddings | None) -> None:
        self._store = store
        self._name = name
        self._embeddings = embeddings
        model = re.sub(r"[^A-Za-z0-9]+", "-", embedder_name(embeddings)).strip("-")
        self._own = f"{name}.{model}" if model else name

    @classmethod
    def open(cls, settings: ChromaSettings, embeddings: Embeddings | None = None) -> EvidenceLog:
        """Open the log that belongs to these settings' passages; the first write creates it."""
        return cls(open_store(settings, "evidence"), f"{settings.collection}-evidence", embeddings)

    @in_thread
    def record(
        self,
        question: str,
        claim: str,
        passages: Sequence[Passage],
        status: Status,
        method: str,
    ) -> str:
        """Record what was cited for a claim, and return the id of the entry.

        The claim has no citation marks; the passages are in the order of these marks. `method`
        wrote the claim, such as `vtg`. The same claim with the same passages, question and method
        is one entry, with its latest status and time.

        Raises:
            InputError: Question or claim is empty.
            ModelError: The embedding model failed.
            StoreError: The store cannot be written.
        """
        if not question.strip() or not claim.strip():
            raise InputError(
                "Evidence cannot be recorded", why="the question or the claim is empty"
            )
        parts = [_key(question), claim, method, *sorted(passage.id for passage in passages)]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
        data = {"question": question, "claim": claim, "status": status, "method": method}
        now = datetime.now(UTC).timestamp()
        vectors = self._embeddings and embed_texts(self._embeddings, [f"{question}\n{claim}"])
        embedders = {self._own: embedder_name(self._embeddings)}
        with self._store.writing("recording evidence", embedders) as (own,):
            self._store.write(
                own,
                "upsert",
                [key],
                documents=[json.dumps([passage.model_dump(mode="json") for passage in passages])],
                metadatas=[{**data, "key": parts[0], "when": now}],
                embeddings=vectors,
            )
        return key

    @in_thread
    def for_question(self, question: str) -> list[Evidence]:
        """Return a question's entries, oldest first; letter case and spacing do not matter."""
        return self._entries({"key": _key(question)})

    @in_thread
    def recent(self, n: int = 20) -> list[Evidence]:
        """Return the last `n` entries, latest first."""
        return self._entries()[::-1][: max(n, 0)]

    def close(self) -> None:
        """Release the store."""
        self._store.close()

    def _entries(self, where: dict[str, Any] | None = None) -> list[Evidence]:
        """Return the latest version of each entry, oldest first."""
        names = self._store.list_names(self._name)
        rows: list[Any] = []
        with self._store.reading("reading the evidence log", *names) as logs:
            for log in filter(None, logs):
                got = log.get(where=where)
                rows += zip(got["metadatas"], got["documents"], got["ids"], strict=True)
        rows.sort(key=lambda row: row[0]["when"])
        latest = {key: {**data, "passages": json.loads(text)} for data, text, key in rows}
        entries = map(Evidence.model_validate, latest.values())
        return sorted(entries, key=lambda entry: entry.when)


def _key(question: str) -> str:
    return " ".join(question.casefold().split())
