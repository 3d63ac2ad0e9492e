"""The memory bank of R²-MGA: finished questions, kept as demonstrations for later ones.

A finished question is a case. Each case is stored as three snippets (Ji et al., Memory Module) that
differ in what they are searched by: `generation` by question and passages, `assessment` also by the
answer, and `planning` also by the feedback. A snippet is a record in a Chroma collection, with the
case as its document and a vector of its own.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any

from langchain_core.embeddings import Embeddings

from citeproof.cases import Case, Entry, ImportReport, Snippet, check_namespace
from citeproof.errors import InputError, ModelError, SettingsError, StoreError
from citeproof.memory.opening import open_store
from citeproof.memory.store import Store
from citeproof.runtime.background import in_thread
from citeproof.settings import ChromaSettings
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.retrieval.case_vectors import KINDS, CaseEncoder, Kind, Part
from citeproof.tools.retrieval.embeddings import embedder_name
from citeproof.types import Passage

__all__ = ["KINDS", "UNUSABLE", "Bank", "Case", "Entry", "ImportReport", "Kind", "Snippet"]

UNUSABLE = (ModelError, SettingsError, StoreError)
"""What the methods of a bank raise if it cannot be used; a run then goes on without it."""
_CHUNK = 64
"""Cases per batch of an import."""


class Bank:
    """The cases of one namespace. Create it with `open`; its async methods run in threads.

    Any number of threads and processes may use a bank at once, and they see each other's cases.
    Methods raise `StoreError` if the store cannot be used or its vectors are from another model,
    `ModelError` if the embedding model fails, and `SettingsError` if they need an embedding model
    and the bank was opened without one.
    """

    def __init__(
        self, store: Store, name: str, embeddings: Embeddings | None, namespace: str
    ) -> None:
        self._store = store
        self._name = name
        self._embedder = embedder_name(embeddings)
        self._encoder = None if embeddings is None else CaseEncoder(embeddings)
        self._filled = False
        """Whether a case has been seen in the namespace."""
        self.namespace = check_namespace(namespace)

    @classmethod
    def open(
        cls, settings: ChromaSettings, embeddings: Embeddings | None, *, namespace: str = "default"
    ) -> Bank:
        """Open the bank that belongs to the passages of these settings.

        The first write creates it. Without embeddings it can only be read and exported.
        """
        store = open_store(settings, "bank")
        return cls(store, f"{settings.collection}-bank", embeddings, namespace)

    def within(self, namespace: str) -> Bank:
        """Return the same bank with another namespace; closing either closes both."""
        other = copy.copy(self)
        other.namespace, other._filled = check_namespace(namespace), False
        return other

    @in_thread
    def best(
        self,
        kind: Kind,
        *,
        question: str,
        passages: Sequence[Passage],
        answer: str = "",
        feedback: str = "",
        form: AnyForm = "prose",
        rank: int = 1,
    ) -> Snippet | None:
        """Return the most similar case's snippet, by the cosine of the parts that `kind` compares.

        `generation` compares question and passages, `assessment` also the answer, and `planning`
        also the feedback. Only cases whose answers have the given form are considered, and for
        `planning` only those with actions. The query omits empty parts. Rank 1 is the best match; a
        rank past the end returns the last one. Returns None if no snippet qualifies.

        Raises:
            InputError: The rank is below 1, or the question is empty.
        """
        if rank < 1:
            raise InputError(f"There is no match of rank {rank}", fix="Ranks begin at 1.")
        if not question.strip():
            raise InputError("The memory bank cannot be searched", why="the question is empty")
        encoder = self._open_encoder()
        mine = {"namespace": self.namespace}
        if not self._filled:  # an empty namespace needs no embedding model
            with self._read() as (held,):
                if not held or not held.get(where=mine, limit=1, include=[])["ids"]:
                    return None
            self._filled = True
        premises = tuple(passage.premise for passage in passages)
        [vectors] = encoder.vectors([(question, premises, answer, feedback)])
        where: list[dict[str, Any]] = [mine, {"kind": kind}, {"form": form}]
        if kind == "planning":
            where.append({"planned": True})
        with self._read(known=True) as (held,):
            if held is None:
                return None
            self._store.check_embedder(held, self._embedder)
            got = self._store.nearest(held, [vectors[kind]], rank, where={"$and": where})
        if not got["ids"][0]:
            return None
        data = got["metadatas"][0][-1]
        return Snippet(
            id=got["ids"][0][-1],
            case_id=data["case"],
            kind=kind,
            case=Case.model_validate_json(got["documents"][0][-1]),
            rationale=data["rationale"],
            similarity=1 - got["distances"][0][-1],
            created=data["created"],
        )

    @in_thread
    def add(self, case: Case) -> str:
        """Add a case, with all three snippets or none, and return its id.

        It replaces an older case with the same question and passages. Adding the same case again
        changes nothing.

        Raises:
            InputError: The question or an answer is empty.
        """
        if not (case.question.strip() and case.answer.strip() and case.final.strip()):
            raise InputError(
                "The case cannot be kept", why="its question or one of its answers is empty"
            )
        entry = Entry(namespace=self.namespace, case=case, created=datetime.now(UTC))
        self._open_encoder()
        with self._store.updating("adding a case", self._name) as (name,):
            self._put(name, [entry], latest=True)
        return entry.key

    @in_thread
    def keep_rationale(self, snippet_id: str, rationale: str) -> str:
        """Store the reasons for a snippet's decisions, and return the rationale that it has now.

        The first rationale stays. If the snippet is gone, nothing is stored.

        Raises:
            InputError: The rationale is empty.
        """
        if not rationale.strip():
            raise InputError("The rationale cannot be kept", why="it is empty")
        with self._change("keeping a rationale") as held:
            found = held.get(ids=[snippet_id])["metadatas"] if held else []
            if found and not found[0]["rationale"]:
                data = [{"rationale": rationale}]
                self._store.write(held, "update", [snippet_id], metadatas=data)
            return found[0]["rationale"] or rationale if found else rationale

    async def count(self, *, everywhere: bool = False) -> int:
        """Return the number of cases in the namespace, or in all of them."""
        return len(await self.cases(everywhere=everywhere))

    @in_thread
    def get(self, case_id: str) -> Entry | None:
        """Return the case with this id from any namespace; None if there is none."""
        return next(iter(self._entries({"case": case_id})), None)

    @in_thread
    def cases(self, *, everywhere: bool = False) -> list[Entry]:
        """Return the cases of the namespace, or of all of them, oldest first.

        This reads no vectors, so it works even if Chroma's vector files are damaged. Written as
        JSON (`model_dump_json`), one per line, the cases are an export that
        `citeproof.cases.parse_entries` reads.
        """
        return self._entries(None if everywhere else {"namespace": self.namespace})

    @in_thread
    def import_(
        self,
        entries: Sequence[Entry],
        *,
        rebuild: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportReport:
        """Add the cases of an export to their namespaces, with their rationales and times.

        An interrupted import can be repeated: it neither embeds nor writes cases that the bank
        already has.

        Args:
            entries: The cases.
            rebuild: Start with an empty bank, which replaces the old one when it is complete.
            progress: Called with (cases done, total cases).
        """
        self._open_encoder()
        added = 0
        with self._store.updating("filling the memory bank", self._name, rebuild=rebuild) as (
            name,
        ):
            for place in range(0, len(entries), _CHUNK):
                added += self._put(name, entries[place : place + _CHUNK])
                if progress is not None:
                    progress(min(place + _CHUNK, len(entries)), len(entries))
        return ImportReport(added, len(entries) - added)

    @in_thread
    def delete(self, case_id: str) -> bool:
        """Delete a case of any namespace, with its rationales; return False if there is none."""
        with self._change("deleting a case") as held:
            found = held.get(where={"case": case_id}, include=[])["ids"] if held else []
            if found:
                self._store.write(held, "delete", found)
            return bool(found)

    def close(self) -> None:
        """Release the store."""
        self._store.close()

    def _put(self, name: str, entries: Sequence[Entry], *, latest: bool = False) -> int:
        """Write cases to a collection, and return how many were written; the caller holds the lock.

        With `latest` they count as newer than the stored cases, whatever the clocks say.
        """
        new = {entry.topic: entry for entry in sorted(entries, key=lambda entry: entry.created)}
        with self._store.reading("adding a case", name) as (held,):
            same = {"topic": {"$in": list(new)}}
            rivals = held.get(where=same, include=["metadatas"])["metadatas"] if held else []
        there = {rival["case"] for rival in rivals}
        for rival in rivals:
            entry = new.get(rival["topic"])
            if latest or entry is None or rival["case"] == entry.key:
                continue
            if rival["created"] > entry.created.timestamp():
                del new[entry.topic]
        keys = {entry.key for entry in new.values()}
        added = [entry for entry in new.values() if entry.key not in there]
        # After an interrupted call, a case may be there beside the one that it replaces.
        if not added and all(one["case"] in keys for one in rivals if one["topic"] in new):
            return 0
        vectors = self._open_encoder().vectors([_parts(entry.case) for entry in added])
        rows = {f"{entry.key}-{kind}": (entry, kind) for entry in added for kind in KINDS}
        with self._store.writing("adding a case", {name: self._embedder}) as (made,):
            self._store.write(
                made,
                "upsert",
                list(rows),
                documents=[entry.case.model_dump_json() for entry, _ in rows.values()],
                metadatas=[_metadata(*row) for row in rows.values()],
                embeddings=[some[kind] for some in vectors for kind in KINDS],
            )
            older = {"$and": [{"topic": {"$in": list(new)}}, {"case": {"$nin": list(keys)}}]}
            self._store.write(made, "delete", made.get(where=older, include=[])["ids"])
        return len(added)

    def _entries(self, where: dict[str, Any] | None) -> list[Entry]:
        with self._read() as (held,):
            got = held.get(where=where) if held else {"documents": [], "metadatas": []}
            embedder = held.metadata["embedder"] if held else ""
        rationales: defaultdict[str, dict[Kind, str]] = defaultdict(dict)
        for data in got["metadatas"]:
            if data["rationale"]:
                rationales[data["case"]][data["kind"]] = data["rationale"]
        found = [
            Entry(
                id=data["case"],
                namespace=data["namespace"],
                case=Case.model_validate_json(text),
                rationales=rationales[data["case"]],
                created=data["created"],
                embedder=embedder,
            )
            for text, data in zip(got["documents"], got["metadatas"], strict=True)
            if data["kind"] == "generation"
        ]
        return sorted(found, key=lambda entry: (entry.created, entry.id))

    def _read(self, *, known: bool = False) -> AbstractContextManager[list[Any]]:
        return self._store.reading("reading the memory bank", self._name, known=known)

    @contextmanager
    def _change(self, task: str) -> Iterator[Any]:
        """Yield the collection to change, whatever model its vectors are from; None without one."""
        with self._read() as (held,):
            embedder = held and held.metadata["embedder"]
        if held is None:
            yield None
            return
        with (
            self._store.updating(task, self._name),
            self._store.writing(task, {self._name: embedder}) as (made,),
        ):
            yield made

    def _open_encoder(self) -> CaseEncoder:
        if self._encoder is None:
            raise SettingsError(
                "The memory bank was opened without an embedding model", fix="Open it with one."
            )
        return self._encoder


def _metadata(entry: Entry, kind: Kind) -> dict[str, Any]:
    return {
        "case": entry.key,
        "kind": kind,
        "namespace": entry.namespace,
        "topic": entry.topic,
        "form": entry.case.form,
        "planned": bool(entry.case.actions),
        "created": entry.created.timestamp(),
        "rationale": entry.rationales.get(kind, ""),
    }


def _parts(case: Case) -> tuple[Part, ...]:
    """Return the texts that are embedded for a case."""
    premises = tuple(passage.premise for passage in case.passages)
    return case.question, premises, case.answer, case.feedback
