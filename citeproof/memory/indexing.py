"""What `Index.update` does: finds out what changed, and changes only that.

Every document has a mark. The mark loses its hash before the first of its passages is touched
and gets the new one after the last, so that whatever interrupts an update, a document is
either whole or known not to be.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from langchain_core.embeddings import Embeddings

from citeproof.errors import (
    CiteproofError,
    DocumentError,
    MissingExtraError,
    ModelError,
    StoreError,
)
from citeproof.memory.chroma import Collection, Record
from citeproof.paths import expanded
from citeproof.tools.documents import find, load, parse
from citeproof.tools.passages import cut
from citeproof.tools.pool import searchable
from citeproof.types import Passage

__all__ = ["IndexReport", "Mark", "Progress", "Store", "passage_of", "update"]

Progress = Callable[[str, int, int], None]
"""Called as (document, its passages stored so far, its passages)."""

_VERSION = "3"
"""Goes up when readers or cutting change, so that documents are indexed anew."""
_BATCH = 512
"""Passages that are embedded and stored at a time; large, since an embedder sorts by length."""


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


@dataclass(frozen=True)
class Mark:
    """A document in the index."""

    path: str
    title: str
    passages: int
    hash: str
    """Of its content and of how it was cut; empty while its passages are being written."""

    @classmethod
    def of(cls, record: Record) -> Mark:
        """The mark that a record holds."""
        data = record.metadata
        return cls(record.text, str(data["title"]), int(data["passages"]), str(data["hash"]))

    def record(self) -> Record:
        """The mark as a record."""
        data: dict[str, str | int | float | bool] = {
            "title": self.title,
            "passages": self.passages,
            "hash": self.hash,
        }
        return Record(_digest(self.path), self.path, data)


@dataclass(frozen=True)
class Store:
    """The two collections of an index."""

    passages: Collection
    marks: Collection


@dataclass(eq=False)
class _Work:
    """A document that is to be written."""

    mark: Mark
    passages: list[Passage]
    known: bool
    """Whether something of it may be in the store already."""


@dataclass
class _Notes:
    """The report as it grows."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)


def update(
    store: Store,
    paths: Sequence[Path],
    embeddings: Embeddings | None,
    passage_words: int,
    progress: Progress | None = None,
) -> IndexReport:
    """See `Index.update`."""
    found, notes = find(paths), _Notes()
    marks = {mark.path: mark for mark in map(Mark.of, store.marks.scan())}
    gone = list(_gone(marks, paths, {str(path) for path in found.files}, found.errors))
    for name in gone:
        _remove(store, marks.pop(name), notes)
    notes.errors += [(str(path), why) for path, why in found.errors if str(path) not in gone]
    waiting: list[_Work] = []
    late: list[_Work] = []
    for path in found.files:
        work = _read(store, path, marks.get(str(path)), passage_words, notes)
        if work is not None:
            waiting.append(work)
        if sum(len(work.passages) for work in waiting) >= _BATCH:
            late += _write(store, waiting, embeddings, notes, progress)
            waiting = []
    late += _write(store, waiting, embeddings, notes, progress)
    # An id that moved from one JSONL file to another is free once both have been seen.
    for work in _write(store, late, embeddings, notes, progress):
        notes.errors.append((work.mark.path, str(_taken(work, store))))
    return IndexReport(
        tuple(notes.added),
        tuple(notes.updated),
        tuple(notes.unchanged),
        tuple(notes.removed),
        tuple(map(str, found.skipped)),
        tuple(notes.errors),
        store.passages.count(),
    )


def passage_of(record: Record) -> Passage:
    """The passage that a record holds."""
    data = record.metadata
    return Passage(
        id=record.id,
        text=record.text,
        title=str(data["title"]),
        source=str(data["source"]),
        page=int(data["page"]) or None,
        start=int(data["start"]),
        end=int(data["end"]),
    )


def _gone(
    marks: Iterable[str], paths: Sequence[Path], files: set[str], errors: list[tuple[Path, str]]
) -> Iterator[str]:
    """Documents that lie under `paths` and are not there any more."""
    roots = [expanded(Path(path)).absolute() for path in paths]
    # What cannot be looked into may still be there. A named folder that is missing may be a
    # drive that is not mounted; a named file that is missing was deleted.
    closed = [path for path, _ in errors if str(path) not in marks]
    for mark in marks:
        path = Path(mark)
        under = any(path.is_relative_to(root) for root in roots)
        hidden = any(path.is_relative_to(folder) for folder in closed)
        if mark not in files and under and not hidden:
            yield mark


def _read(
    store: Store, path: Path, mark: Mark | None, passage_words: int, notes: _Notes
) -> _Work | None:
    """The document to be written, or None if it is unchanged or cannot be read."""
    name = str(path)
    try:
        data = load(path)
        key = f"{_VERSION}|{passage_words}|{path.suffix}|".encode()
        digest = hashlib.sha256(key + data).hexdigest()
        if mark is not None and mark.hash == digest:
            notes.unchanged.append(name)
            return None
        document = parse(data, path)
        passages = cut(document, passage_words)
    except (DocumentError, MissingExtraError) as error:
        notes.errors.append((name, str(error)))
        # A file that cannot be opened, or not without an extra, may not have changed at all.
        # One that has changed is no longer evidence for what it said.
        changed = isinstance(error, DocumentError) and not isinstance(error.__cause__, OSError)
        if mark is not None and changed:
            _remove(store, mark, notes)
        return None
    notes.errors += [(name, problem) for problem in document.problems]
    return _Work(Mark(name, document.title, len(passages), digest), passages, mark is not None)


def _write(
    store: Store,
    works: Sequence[_Work],
    embeddings: Embeddings | None,
    notes: _Notes,
    progress: Progress | None,
) -> list[_Work]:
    """Write documents; those are given back that have an id of another document's."""
    if not works:
        return []
    if embeddings is None and store.passages.embedder:
        raise StoreError(
            "The index cannot be changed without its embedding model",
            why=f"its vectors are from {store.passages.embedder}",
            fix="Give the model, or build the index anew: citeproof index --rebuild PATH.",
        )
    wanted = [passage.id for work in works for passage in work.passages]
    held = {record.id: record.metadata for record in store.passages.get(wanted)}
    taken = {key: str(data["document"]) for key, data in held.items()}
    accepted = [work for work in works if _own_ids(work, taken)]
    store.marks.put([replace(work.mark, hash="").record() for work in accepted])
    fresh: list[tuple[_Work, Passage]] = []
    for work in accepted:
        ids = {passage.id for passage in work.passages}
        if work.known:
            old = (record.id for record in store.passages.scan({"document": work.mark.path}))
            store.passages.delete([key for key in old if key not in ids])
        fresh += [
            (work, passage)
            for passage in work.passages
            if passage.id not in held or held[passage.id]["digest"] != _content(passage)
        ]
    _store(store, fresh, embeddings, progress)
    store.marks.put([work.mark.record() for work in accepted])
    for work in accepted:
        (notes.updated if work.known else notes.added).append(work.mark.path)
    return [work for work in works if work not in accepted]


def _own_ids(work: _Work, taken: dict[str, str]) -> bool:
    """Whether no other document has passages with the same ids, as JSONL files may."""
    ids = [passage.id for passage in work.passages]
    if any(taken.get(key, work.mark.path) != work.mark.path for key in ids):
        return False
    taken.update(dict.fromkeys(ids, work.mark.path))
    return True


def _taken(work: _Work, store: Store) -> DocumentError:
    path = work.mark.path
    held = store.passages.get([passage.id for passage in work.passages])
    other = next(record for record in held if record.metadata["document"] != path)
    return DocumentError(
        f"{path} cannot be indexed",
        why=f"its id {other.id!r} is already that of a passage of {other.metadata['document']}",
        fix="Leave one of the files out, or give their objects different ids.",
    )


def _store(
    store: Store,
    fresh: Sequence[tuple[_Work, Passage]],
    embeddings: Embeddings | None,
    progress: Progress | None,
) -> None:
    left: dict[str, int] = {}
    for work, _ in fresh:
        left[work.mark.path] = left.get(work.mark.path, 0) + 1
    for place in range(0, len(fresh), _BATCH):
        some = fresh[place : place + _BATCH]
        vectors = _embed(embeddings, [searchable(passage) for _, passage in some])
        store.passages.put([_record(work, passage) for work, passage in some], vectors)
        for work, _ in some:
            left[work.mark.path] -= 1
        for path, whole in {work.mark.path: len(work.passages) for work, _ in some}.items():
            if progress is not None:
                progress(path, whole - left[path], whole)


def _embed(embeddings: Embeddings | None, texts: list[str]) -> list[list[float]] | None:
    if embeddings is None:
        return None
    try:
        vectors = embeddings.embed_documents(texts)
    except CiteproofError:
        raise
    except Exception as error:  # anyone's model, over anyone's service
        raise ModelError(
            "The embedding model failed",
            why=f"{type(error).__name__}: {error}",
            fix="What is indexed so far is kept; run the same again to go on.",
        ) from error
    if len(vectors) != len(texts):
        raise ModelError(
            "The embedding model failed", why=f"it gave {len(vectors)} vectors for {len(texts)}"
        )
    return vectors


def _remove(store: Store, mark: Mark, notes: _Notes) -> None:
    store.marks.put([replace(mark, hash="").record()])
    held = [record.id for record in store.passages.scan({"document": mark.path})]
    store.passages.delete(held)
    store.marks.delete([mark.record().id])
    notes.removed.append(mark.path)


def _record(work: _Work, passage: Passage) -> Record:
    data: dict[str, str | int | float | bool] = {
        "document": work.mark.path,
        "digest": _content(passage),
        "title": passage.title,
        "source": passage.source,
        "page": passage.page or 0,
        "start": passage.start,
        "end": passage.end,
    }
    return Record(passage.id, passage.text, data)


def _content(passage: Passage) -> str:
    return _digest(passage.model_dump_json())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
