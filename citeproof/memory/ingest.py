"""Brings an index in line with documents: finds out what changed, and writes only that.

Every document has a mark: the hash of its content and of how it was cut. The mark is empty from
before the first of its passages is touched until after the last, so that whatever interrupts an
update, a document is either whole or known not to be. A document that is gone keeps a mark, so
that those who keep words of it elsewhere learn of it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.embeddings import Embeddings

from citeproof.errors import DocumentError, MissingExtraError, StoreError
from citeproof.memory.store import Store, fetch
from citeproof.settings import RetrieverSettings
from citeproof.tools.documents.files import find, find_gone, load
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.sandbox import read_safely
from citeproof.tools.embeddings import embed_texts, embedder_name
from citeproof.tools.pool import searchable
from citeproof.types import Passage

__all__ = ["GONE", "IndexReport", "Progress", "Update", "read_marks"]

Progress = Callable[[str, int, int], None]
"""Called as (document, its passages stored so far, its passages)."""

_VERSION = "6"
"""Goes up when readers or cutting change, so that documents are indexed anew."""
_BATCH = 512
"""Passages that are embedded and stored at a time; large, since an embedder sorts by length."""
GONE = "gone"
"""The mark of a document that is no longer there."""
_TASK = "updating the index"


@dataclass(frozen=True)
class IndexReport:
    """What an update did. Documents are named by their paths."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Files of a kind that cannot be read."""
    errors: tuple[tuple[str, str], ...] = ()
    """(document, message): what could not be read, or not wholly."""
    passages: int = 0
    """How many passages the index holds now."""


class _Document(NamedTuple):
    """A document to be written."""

    path: str
    hash: str
    """Of its content and of how it is cut."""
    passages: list[Passage]


@dataclass
class Update:
    """One update of an index, whose turn the caller holds."""

    store: Store
    names: Sequence[str]
    """Of the passages' collection, and of that of the marks."""
    embeddings: Embeddings | None
    settings: RetrieverSettings
    publish: Callable[[Any, Any], object]
    """Called with both collections after each change."""
    progress: Progress
    _embedder: str = ""
    _there: dict[str, str] = field(default_factory=dict)
    """The marks of documents that something of may be in the store."""
    _done: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """The report so far."""

    def run(self, paths: Sequence[Path]) -> IndexReport:
        """See `Index.update`."""
        found, errors = find(paths), self._done["errors"]
        files = list(map(str, found.files))
        with self.store.reading(_TASK, *self.names) as (passages, marks):
            self._embedder = embedder_name(self.embeddings)
            if self.settings.kind == "bm25":
                self._embedder = passages.metadata["embedder"] if passages else ""
            # A folder may have held documents that are gone.
            named = files if all(path.is_file() for path in paths) else None
            held = read_marks(marks, paths=named) if marks else {}
        self._there = {path: mark for path, mark in held.items() if mark != GONE}
        gone = list(find_gone(self._there, paths, set(files), found.errors))
        self._remove(gone)
        errors += [(str(path), why) for path, why in found.errors if str(path) not in gone]
        waiting: list[_Document] = []
        late: list[tuple[_Document, str]] = []
        for path in found.files:
            waiting += self._read(path)
            if sum(len(one.passages) for one in waiting) >= _BATCH:
                late += self._write(waiting)
                waiting = []
        late += self._write(waiting)
        # An id that moved from one JSONL file to another is free once both have been seen.
        errors += [(one.path, why) for one, why in self._write([one for one, _ in late])]
        with self.store.reading(_TASK, *self.names) as (passages, _):
            count = passages.count() if passages else 0
        told = {name: tuple(values) for name, values in self._done.items()}
        return IndexReport(skipped=tuple(map(str, found.skipped)), passages=count, **told)

    def remove(self, documents: Sequence[str]) -> None:
        """Take documents out, wherever their files are."""
        with self.store.reading(_TASK, *self.names) as (passages, marks):
            self._embedder = passages.metadata["embedder"] if passages else ""
            held = read_marks(marks, paths=documents) if marks else {}
        self._there = {path: mark for path, mark in held.items() if mark != GONE}
        self._remove(list(self._there))

    def _read(self, path: Path) -> list[_Document]:
        """The document to be written; none if it is unchanged or cannot be read."""
        name, held = str(path), self._there.get(str(path))
        try:
            data = load(path)
            key = f"{_VERSION}|{self.settings.passage_words}|{path.suffix}|".encode()
            if (digest := hashlib.sha256(key + data).hexdigest()) == held:
                self._done["unchanged"].append(name)
                return []
            parsed = read_safely(data, path)
            passages = cut(parsed, self.settings.passage_words)
        except (DocumentError, MissingExtraError) as error:
            self._done["errors"].append((name, str(error)))
            # A file that cannot be opened, or not without an extra, may not have changed at all.
            # One that has changed is no longer evidence for what it said.
            changed = isinstance(error, DocumentError) and not isinstance(error.__cause__, OSError)
            self._remove([name] if held is not None and changed else [])
            return []
        self._done["errors"] += [(name, problem) for problem in parsed.problems]
        return [_Document(name, digest, passages)]

    def _write(self, documents: Sequence[_Document]) -> list[tuple[_Document, str]]:
        """Write documents; those with an id of another one's are given back, each with an error."""
        wanted = [passage.id for one in documents for passage in one.passages]
        with self.store.reading(_TASK, *self.names) as (passages, _):
            held = fetch(passages, wanted, "metadatas") if passages else {}
        owners = {key: str(data["document"]) for key, (data,) in held.items()}
        accepted, refused = [], []
        for one in documents:
            owned = {passage.id: one.path for passage in one.passages}
            if clash := next((key for key in owned if owners.get(key, one.path) != one.path), ""):
                error = DocumentError(
                    f"{one.path} cannot be indexed",
                    why=f"its id {clash!r} is already that of a passage of {owners[clash]}",
                    fix="Leave one of the files out, or give their objects different ids.",
                )
                refused.append((one, str(error)))
            else:
                owners |= owned
                accepted.append(one)
        fresh = [
            (one.path, passage)
            for one in accepted
            for passage in one.passages
            if passage.id not in held or held[passage.id][0]["digest"] != _content(passage)
        ]
        counts = {one.path: len(one.passages) for one in accepted}
        left = Counter(path for path, _ in fresh)
        kept = {passage.id for one in accepted for passage in one.passages}
        places = range(0, len(fresh), _BATCH) or [0]  # without a fresh passage the marks change
        for place in places if accepted else []:
            piece = fresh[place : place + _BATCH]
            vectors = self._embed([passage for _, passage in piece])
            is_last = place + _BATCH >= len(fresh)
            with self._change(
                dict.fromkeys(counts, "") if place == 0 else {},
                {one.path: one.hash for one in accepted} if is_last else None,
                kept,
            ) as passages:
                self.store.write(
                    passages,
                    "upsert",
                    [passage.id for _, passage in piece],
                    documents=[passage.text for _, passage in piece],
                    metadatas=[_metadata(path, passage) for path, passage in piece],
                    embeddings=vectors,
                )
            left -= (stored := Counter(path for path, _ in piece))
            for path in stored:
                self.progress(path, counts[path] - left[path], counts[path])
        for path in counts:
            self._done["updated" if path in self._there else "added"].append(path)
        return refused

    def _embed(self, passages: Sequence[Passage]) -> list[list[float]] | None:
        if not self._embedder:
            return None
        if self.embeddings is None:
            raise StoreError(
                "The index cannot be changed without its embedding model",
                why=f"its vectors are from {self._embedder}",
                fix="Give the model, or build the index anew: citeproof index --rebuild PATH.",
            )
        fix = "What is indexed so far is kept; run the same again to go on."
        return embed_texts(self.embeddings, list(map(searchable, passages)), fix=fix)

    @contextmanager
    def _change(
        self, begun: Mapping[str, str], ended: Mapping[str, str] | None, kept: Collection[str] = ()
    ) -> Iterator[Any]:
        """Write passages, and the marks of documents before and after.

        Of those that are begun all passages but the ids that are kept are deleted. Only with marks
        for the end is the change one that others take notice of.
        """
        embedders = dict(zip(self.names, [self._embedder, ""], strict=True))
        with self.store.writing("writing the index", embedders) as (passages, marks):
            revision = int(passages.metadata.get("revision", 0)) + 1

            def mark(new: Mapping[str, str]) -> None:
                data = [{"hash": digest, "revision": revision} for digest in new.values()]
                ids, paths = list(map(_digest, new)), list(new)
                self.store.write(
                    marks, "upsert", ids, documents=paths, metadatas=data, embeddings=None
                )

            mark(begun)
            for path in self._there.keys() & begun.keys():
                held = passages.get(where={"document": path}, include=[])["ids"]
                self.store.write(passages, "delete", [key for key in held if key not in kept])
            yield passages
            if ended is not None:
                mark(ended)
                passages.modify(metadata={**passages.metadata, "revision": revision})
                self.publish(passages, marks)

    def _remove(self, paths: Sequence[str]) -> None:
        if paths:
            with self._change(dict.fromkeys(paths, GONE), {}):
                self._done["removed"] += paths


def read_marks(marks: Any, since: int = 0, paths: Sequence[str] | None = None) -> dict[str, str]:
    """Documents with their marks: those that changed after a revision, or those named."""
    if paths is not None:
        named = fetch(marks, list(map(_digest, paths)), "documents", "metadatas")
        return {path: data["hash"] for path, data in named.values()}
    got = marks.get(where={"revision": {"$gt": since}})
    hashes = [data["hash"] for data in got["metadatas"]]
    return dict(zip(got["documents"], hashes, strict=True))


def _metadata(document: str, passage: Passage) -> dict[str, str | int]:
    fields = passage.model_dump(include={"title", "source", "location", "start", "end"})
    page = passage.page or 0
    boxes = json.dumps([list(box.model_dump().values()) for box in passage.boxes])
    own = {"boxes": boxes} if passage.boxes else {}
    return {**fields, **own, "document": document, "digest": _content(passage), "page": page}


def _content(passage: Passage) -> str:
    return _digest(passage.model_dump_json())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
