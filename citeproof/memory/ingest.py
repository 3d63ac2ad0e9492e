"""Synchronises an index with documents: finds the changes, and writes only those."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from langchain_core.embeddings import Embeddings

from citeproof.actors import Actors
from citeproof.errors import DocumentError, MissingExtraError, NoTextError, StoreError
from citeproof.memory.base import Change, Mark, PassageStore
from citeproof.memory.documents import GONE, WAITING, document_of
from citeproof.paths import exists, is_file
from citeproof.settings import DocumentSettings, RetrieverSettings
from citeproof.tools.documents.base import Document
from citeproof.tools.documents.files import Found, find_gone
from citeproof.tools.documents.imports import Import
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.sources import Source, file_source, named_source
from citeproof.tools.retrieval.embeddings import embed_texts, embedder_name
from citeproof.tools.retrieval.search_pool import searchable
from citeproof.tools.web import Fetched
from citeproof.types import Passage

_VERSION = "25"
"""Increased when readers or cutting change, so that all documents are indexed again."""
_FIRST, _BATCH = 64, 500
"""Passages embedded and stored per batch: few at first, for an early estimate of the speed; more
later, because an embedder sorts them by length."""
_AHEAD = 4
"""Documents queued per actor."""


class Step(NamedTuple):
    """The progress of an update with one document."""

    document: str
    state: Literal["reading", "storing", "done"]
    """`done` means unchanged, unreadable, or completely stored."""
    stored: int = 0
    """Passages stored so far."""
    passages: int = 0
    """All its passages."""


Progress = Callable[[Step], None]
_Read = tuple[Sequence[str], list[Passage]]
"""The problems of a document, and its passages."""
_Row = tuple[str, Passage, Any]
"""A document's name, and one of its passages with its vector, or None if it is not known yet."""


@dataclass(frozen=True)
class IndexReport:
    """The outcome of an update. Documents are identified by their paths, URLs or names."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    """(old path, new path) of files with the same content, which were not embedded again."""
    removed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Files of an unsupported kind."""
    left_out: tuple[tuple[str, str], ...] = ()
    """(document, reason): links and pages that were not followed or fetched, files of a folder that
    hold no text."""
    errors: tuple[tuple[str, str], ...] = ()
    """(document, message) of documents that could not be read."""
    problems: tuple[tuple[str, str], ...] = ()
    """(document, message) of documents that were only partly read."""
    passages: int = 0
    """The number of passages in the index after the update."""


@dataclass
class _Document:
    """A document to be read and written."""

    source: Source
    hash: str
    """A hash of its content and of how it is cut."""
    wait: Callable[[], _Read]
    moved_from: str = ""
    """Its previous path; empty if it was not moved."""
    passages: list[Passage] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.source.name


@dataclass
class Update:
    """One update of an index, which the caller has locked."""

    place: PassageStore
    embeddings: Embeddings | None
    settings: RetrieverSettings
    progress: Progress
    actors: Actors[Any] | None = None
    """Actors that read and cut documents; None if this process does."""
    documents: DocumentSettings = field(default_factory=DocumentSettings)
    """How documents are read."""
    _embedder: str = ""
    _there: dict[str, str] = field(default_factory=dict)
    """The hashes of documents that may be in the store, completely or in part."""
    _waiting: set[str] = field(default_factory=set)
    """Documents marked as not read yet."""
    _gone: set[str] = field(default_factory=set)
    """Files that no longer exist, and will be removed."""
    _optional: set[str] = field(default_factory=set)
    """Files that nobody named, only a folder that holds them."""
    _batch: int = field(default_factory=lambda: min(_FIRST, _BATCH))
    _done: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """The report so far."""

    def __post_init__(self) -> None:
        by_words = self.settings.kind == "bm25"
        held = self.place.embedder() if by_words else embedder_name(self.embeddings)
        self._embedder = held or ""

    def add_files(self, found: Found) -> None:
        """Synchronise the index with files, and remove those that no longer exist."""
        sources = [file_source(path, self.documents) for path in found.files]
        self._optional = {str(path) for path in found.files if path not in found.roots}
        # A folder may have contained files that no longer exist.
        is_of_files = all(map(is_file, found.roots))
        held = self._look_up([one.name for one in sources] if is_of_files else None)
        self._gone = set(find_gone(held, found))
        errors = [(str(path), why) for path, why in found.errors]
        self._done["errors"] += [one for one in errors if one[0] not in self._gone]
        self._waiting = {name for name, mark in held.items() if mark["hash"] == WAITING}
        new = [source for source in sources if source.name not in held]
        if not new:  # otherwise a missing file may have been moved, so it is removed last
            self.drop(sorted(self._gone))
        if len(new) > 1:  # a partial index must be recognised; a single file is marked right away
            self._waiting |= {one.name for one in new}
            self._write_marks({one.name: _mark(one, WAITING) for one in new}, last=False)
        self._add(sources)
        self.drop(sorted(path for path in self._gone if self._there.get(path) != GONE))
        self._done["skipped"] += map(str, found.skipped)
        why = "a link that leads out of its folder"
        self._done["left_out"] += [(str(link), why) for link in found.links]

    def add(self, sources: Iterable[Source], names: list[str] | None = None) -> None:
        """Index documents that are new or have changed; `names` are theirs, if known."""
        self._look_up(names)
        self._add(sources)

    def find_sources(self, pages: Iterable[Fetched]) -> Iterator[Source]:
        """Yield the web pages to index, remove those that no longer exist, and report the rest."""
        for page in pages:
            if page.state == "read":
                yield named_source(
                    page.url, page.data, "url", page.ending, self.documents, notes=page.validators
                )
                continue
            if page.state == "unchanged":
                self._done["unchanged"].append(page.url)
            elif page.state == "left out":
                self._done["left_out"].append((page.url, page.why))
            elif page.state == "gone" and page.url in self._there:
                self.drop([page.url])
            else:
                self._done["errors"].append((page.url, page.why))
            self.progress(Step(page.url, "done"))

    def add_import(self, given: Import) -> None:
        """Index passages that come with vectors, replacing an earlier import of this name."""
        old = {name for name in self._look_up(None) if document_of(name) == given.name}
        self._add(given.read())
        self.drop(sorted(old - set(given.pieces)))

    def drop(self, names: list[str]) -> None:
        """Remove documents, whether or not they still exist outside the index."""
        if names:
            self._look_up(names)
            there = [name for name in names if name in self._there]
            self._write_marks({name: {"hash": GONE} for name in names}, emptied=there)
            self._done["removed"] += there
            self._there |= dict.fromkeys(names, GONE)

    def report(self) -> IndexReport:
        """Return the report of the update."""
        done = {name: tuple(own) for name, own in self._done.items()}
        return IndexReport(passages=self.place.count(), **done)

    def _look_up(self, names: list[str] | None) -> dict[str, Mark]:
        """Return the marks of documents, and note their hashes."""
        held = self.place.marks(names)
        self._there |= {n: mark["hash"] for n, mark in held.items() if mark["hash"] != WAITING}
        return held

    def _write_marks(
        self, marks: Mapping[str, Mark], *, emptied: Sequence[str] = (), last: bool = True
    ) -> None:
        change = Change(begun=marks, emptied=emptied, ended={} if last else None)
        self.place.write([change], self._embedder)

    def _find_moved(self, documents: Sequence[_Document]) -> None:
        """Note for each new file the path of a missing one with the same content, if any."""
        files = (one for one in documents if one.source.origin == "file")
        if new := [one for one in files if one.name not in self._there]:
            gone: defaultdict[str, list[str]] = defaultdict(list)
            for old, mark in self.place.marks(hashes=[one.hash for one in new]).items():
                is_gone = old in self._gone or not exists(Path(old))
                if mark["origin"] == "file" and is_gone:
                    gone[mark["hash"]].append(old)
            for one in new:
                if gone[one.hash]:
                    one.moved_from = gone[one.hash].pop(0)
                    self._there[one.moved_from] = one.hash

    def _digest(self, source: Source, data: bytes) -> str:
        kind = source.kind
        if kind == ".pdf" and self.documents.pdf != "pdfium":  # another reader, another text
            kind += f" {self.documents.pdf}"
        head = f"{how_cut(self.settings)}|{kind}|".encode()
        return hashlib.sha256(head + data).hexdigest()

    def _add(self, sources: Iterable[Source]) -> None:
        """Index documents that are new or have changed."""
        waiting: list[_Document] = []
        late: list[tuple[_Document, str]] = []
        for one in self._read(sources):
            waiting.append(one)
            if sum(len(one.passages) for one in waiting) >= self._batch:
                late += self._write(waiting)
                waiting = []
        late += self._write(waiting)
        # An id that moved from one JSONL file to another is free once both have been read.
        for one, why in self._write([one for one, _ in late]):
            self._give_up(one.source, "errors", why)

    def _read(self, sources: Iterable[Source]) -> Iterator[_Document]:
        """Yield, in order, the documents that are readable and have changed."""
        begun: deque[_Document] = deque()
        ahead = _AHEAD * self.actors.number if self.actors else 0
        for source in chain(sources, [None]):
            if source is not None and (one := self._begin(source)):
                begun.append(one)
            while len(begun) > (ahead if source else 0):
                if self._end(one := begun.popleft()):
                    yield one

    def _begin(self, source: Source) -> _Document | None:
        """Start to read a document; None if it is unchanged."""
        self.progress(Step(source.name, "reading"))
        try:
            data = source.load()
        except DocumentError as error:
            return _Document(source, "", partial(_fail, error))
        if (key := self._digest(source, data)) == self._there.get(source.name):
            self._done["unchanged"].append(source.name)
            self.progress(Step(source.name, "done"))
            return None
        given = (source.read, data, self.settings.passage_words)
        work = self.actors.submit(_read, *given).result if self.actors else None
        return _Document(source, key, work or partial(_read, None, *given))

    def _end(self, one: _Document) -> bool:
        """Wait until a document is read; return False if that fails."""
        try:
            problems, one.passages = one.wait()
        except (DocumentError, MissingExtraError) as error:
            # A file that cannot be opened, or needs a missing extra, may be unchanged, so its
            # passages stay. A changed file no longer proves what its old passages say.
            changed = isinstance(error, DocumentError) and not isinstance(error.__cause__, OSError)
            self.drop([one.name] if changed and one.name in self._there else [])
            if isinstance(error, NoTextError) and one.name in self._optional:
                self._give_up(one.source, "left_out", "it holds no text")
            else:
                self._give_up(one.source, "errors", str(error))
            return False
        self._done["problems"] += [(one.name, problem) for problem in problems]
        return True

    def _give_up(self, source: Source, outcome: Literal["errors", "left_out"], why: str) -> None:
        self._done[outcome].append((source.name, why))
        if source.name in self._waiting:
            self._write_marks({source.name: {"hash": GONE}}, last=False)
        self.progress(Step(source.name, "done"))

    def _write(self, documents: Sequence[_Document]) -> list[tuple[_Document, str]]:
        """Write documents; return those that reuse another document's id, each with an error."""
        held = self.place.held([passage.id for one in documents for passage in one.passages])
        self._find_moved(documents)
        new = {one.name: {passage.id for passage in one.passages} for one in documents}
        owners = {  # not a file that is gone, or gives the id up with this write
            key: of
            for key, (of, _) in held.items()
            if of not in self._gone and key in new.get(of, [key])
        }
        accepted, refused = _sort_out(documents, owners)
        if not accepted:
            return refused
        rows = [
            (one.name, passage, vector)
            for one in accepted
            for passage, vector in zip(one.passages, self._known_vectors(one), strict=True)
            if one.source.vectors is not None or held.get(passage.id) != (one.name, passage)
        ]
        moved = [one.moved_from for one in accepted if one.moved_from]
        begun = {one.name: _mark(one.source, "") for one in accepted}
        begun |= {old: {"hash": GONE} for old in moved}
        self.place.write(self._changes(accepted, rows, begun), self._embedder)
        for one in accepted:
            if one.moved_from:
                self._done["moved"].append((one.moved_from, one.name))
            else:
                self._done["updated" if one.name in self._there else "added"].append(one.name)
            self._there[one.name] = one.hash
            self.progress(Step(one.name, "done", len(one.passages), len(one.passages)))
        self._there |= dict.fromkeys(moved, GONE)
        return refused

    def _known_vectors(self, one: _Document) -> Sequence[Any]:
        """Return a vector for each passage, or None where it has to be computed."""
        if one.source.vectors is not None:
            return list(one.source.vectors)
        if not one.moved_from or not self._embedder:
            return [None] * len(one.passages)
        held = self.place.passages(one.moved_from, with_vectors=True)
        known = {searchable(passage): vector for passage, vector in held}
        return [known.get(searchable(passage)) for passage in one.passages]

    def _changes(
        self, documents: Sequence[_Document], rows: Sequence[_Row], begun: Mapping[str, Mark]
    ) -> Iterator[Change]:
        """Embed these rows of documents in batches; the last change marks all as complete."""
        counts = {one.name: len(one.passages) for one in documents}
        left = Counter(name for name, *_ in rows)
        kept = {passage.id for one in documents for passage in one.passages}
        emptied = [name for name in begun if name in self._there]
        place, is_last = 0, False
        while not is_last:
            some = rows[place : place + self._batch]
            place += len(some)
            is_last = place >= len(rows)
            self._batch = min(2 * self._batch, _BATCH)
            vectors = self._embed(some)
            about = {"indexed": time.time(), "cut": how_cut(self.settings)}
            ended = {
                one.name: {**_mark(one.source, one.hash), "passages": counts[one.name], **about}
                for one in documents
            }
            pairs = [(name, passage) for name, passage, _ in some]
            yield Change(begun, emptied, kept, pairs, vectors, ended if is_last else None)
            begun, emptied = {}, []
            left -= (stored := Counter(name for name, _ in pairs))
            for name in () if is_last else stored:
                self.progress(Step(name, "storing", counts[name] - left[name], counts[name]))

    def _embed(self, rows: Sequence[_Row]) -> list[Any] | None:
        """Return a vector for each row; None if the index has words only."""
        if not self._embedder:
            return None
        new = [searchable(passage) for _, passage, vector in rows if vector is None]
        if new and embedder_name(self.embeddings) != self._embedder:
            raise StoreError(
                "The index cannot be changed without its embedding model",
                why=f"its vectors are from {self._embedder}",
                fix="Give the model, or rebuild the index: citeproof index --rebuild PATH.",
            )
        fix = "What has been indexed so far is kept; run it again to continue."
        vectors = iter(embed_texts(self.embeddings, new, fix=fix) if self.embeddings else [])
        return [next(vectors) if vector is None else vector for *_, vector in rows]


def how_cut(settings: RetrieverSettings) -> str:
    """Return everything except its content that determines how a document is cut."""
    return f"{_VERSION}|{settings.passage_words}"


def _read(
    _: object, read: Callable[[bytes], Document | list[Passage]], data: bytes, words: int
) -> _Read:
    """Read a document and cut it into passages of about `words` words, unless it has its own."""
    parsed = read(data)
    if isinstance(parsed, list):
        return (), parsed
    return parsed.problems, cut(parsed, words)


def _fail(error: Exception) -> NoReturn:
    raise error


def _mark(source: Source, hash_: str) -> Mark:
    return {"hash": hash_, "origin": source.origin, "kind": source.kind, **source.notes}


def _sort_out(
    documents: Sequence[_Document], owners: dict[str, str]
) -> tuple[list[_Document], list[tuple[_Document, str]]]:
    """Split documents into writable ones and those with a passage id that another one owns."""
    accepted, refused = [], []
    for one in documents:
        mine = (document_of(one.name), one.moved_from)
        ids = [passage.id for passage in one.passages]
        others = (key for key in ids if document_of(owners.get(key, one.name)) not in mine)
        if clash := next(others, ""):
            error = DocumentError(
                f"{one.name} cannot be indexed",
                why=f"its id {clash!r} is already that of a passage of {owners[clash]}",
                fix="Leave one of the files out, or give their objects different ids.",
            )
            refused.append((one, str(error)))
        else:
            owners |= dict.fromkeys(ids, one.name)
            accepted.append(one)
    return accepted, refused
