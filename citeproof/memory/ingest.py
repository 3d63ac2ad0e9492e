"""Brings an index in line with documents: finds out what changed, and writes only that."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from langchain_core.embeddings import Embeddings

from citeproof.errors import DocumentError, MissingExtraError, StoreError
from citeproof.memory.documents import GONE, VERSION, WAITING, digest, read_marks
from citeproof.memory.store import Store, fetch
from citeproof.paths import exists
from citeproof.settings import RetrieverSettings
from citeproof.tools.documents.base import Document
from citeproof.tools.documents.files import Found, find_gone
from citeproof.tools.documents.imports import Import
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.sources import PIECE, Source, file_source, named_source
from citeproof.tools.retrieval.embeddings import embed_texts, embedder_name
from citeproof.tools.retrieval.search_pool import searchable
from citeproof.tools.retrieval.word_search import Words
from citeproof.tools.web import Fetched
from citeproof.types import Passage

__all__ = ["HERE", "IndexReport", "Progress", "Read", "Reading", "Step", "Update", "read_here"]


class Step(NamedTuple):
    """How far an update is with a document."""

    document: str
    state: Literal["reading", "storing", "done"]
    """`done` is one that has not changed or cannot be read, or whose passages are all stored."""
    stored: int = 0
    """Its passages stored so far."""
    passages: int = 0
    """Its passages."""


Progress = Callable[[Step], None]
Parse = Callable[[bytes], Document | list[Passage]]
"""Reads the bytes of a document; some bring their passages ready."""
Read = tuple[Sequence[str], list[Passage]]
"""What was not read of a document as a whole, and its passages."""


class Reading(NamedTuple):
    """How documents are read and cut."""

    begin: Callable[[Parse, bytes, int], Callable[[], Read]]
    """Takes the reader, the bytes and `passage_words`; what it gives waits for the passages, or
    raises `DocumentError` or `MissingExtraError`."""
    ahead: int = 0
    """Documents that may be begun before they are waited for."""


def read_here(read: Parse, data: bytes, words: int) -> Read:
    """Read a document, and cut it into passages of about so many words; some come ready."""
    parsed = read(data)
    if isinstance(parsed, list):
        return (), parsed
    return parsed.problems, cut(parsed, words)


HERE = Reading(lambda *document: partial(read_here, *document))

_FIRST, _BATCH = 64, 500
"""Passages that are embedded and stored at a time: few at first, so that it is soon known how fast
that is; many later on, since an embedder sorts by length."""
_TASK = "updating the index"


@dataclass(frozen=True)
class IndexReport:
    """The outcome of an update. Documents are named by their paths, URLs or names."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    """(old path, new path): files of the same content, which were not embedded again."""
    removed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Files of a kind that cannot be read."""
    left_out: tuple[tuple[str, str], ...] = ()
    """(link or page, why it was not followed or fetched)."""
    errors: tuple[tuple[str, str], ...] = ()
    """(document, message): what could not be read."""
    problems: tuple[tuple[str, str], ...] = ()
    """(document, message): what was not read as a whole."""
    passages: int = 0
    """How many passages the index holds now."""


class _Document(NamedTuple):
    """A document to be written."""

    source: Source
    hash: str
    """Of its content and of how it is cut."""
    passages: list[Passage]
    moved_from: str
    """The path that it had before; empty where it is not known to have been moved."""

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def about(self) -> dict[str, str]:
        return {"origin": self.source.origin, "kind": self.source.kind, **self.source.notes}


class _Begun(NamedTuple):
    """A document that is being read."""

    source: Source
    hash: str
    wait: Callable[[], Read]


@dataclass
class Update:
    """One update of an index, whose turn the caller holds."""

    store: Store
    names: Sequence[str]
    """Of the passages' collection, and of that of the marks."""
    embeddings: Embeddings | None
    settings: RetrieverSettings
    publish: Callable[[Any, Any], Words]
    """Called with both collections after each change; gives the words of what they hold."""
    progress: Progress
    reading: Reading = HERE
    _embedder: str = ""
    _there: dict[str, str] = field(default_factory=dict)
    """The marks of documents that something of may be in the store."""
    _waiting: set[str] = field(default_factory=set)
    """Documents that are marked as still to be read."""
    _moved: dict[str, str] = field(default_factory=dict)
    """File → the path that it had before."""
    _batch: int = _FIRST
    _done: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """The report so far."""

    def __post_init__(self) -> None:
        self._embedder = embedder_name(self.embeddings)
        if self.settings.kind == "bm25":
            with self.store.reading(_TASK, *self.names) as (passages, _):
                self._embedder = passages.metadata["embedder"] if passages else ""

    def add_files(self, found: Found) -> None:
        """Bring the index in line with files, and drop those that are gone."""
        files, errors = list(map(str, found.files)), self._done["errors"]
        # A folder may have held documents that are gone.
        is_of_files = all(map(Path.is_file, found.roots))
        held = self._read_marks(files if is_of_files else None)
        gone = list(find_gone(held, found))
        new = [path for path in found.files if str(path) not in self._there]
        self._moved = self._find_moved(new, gone)
        self._remove([path for path in gone if path not in self._moved.values()])
        errors += [(str(path), why) for path, why in found.errors if str(path) not in gone]
        sources = list(map(file_source, found.files))
        self._waiting = {name for name, mark in held.items() if mark == WAITING}
        self._expect([source for source in sources if source.name not in held])
        self.add(sources)
        self._remove([path for path in gone if self._there.get(path, GONE) != GONE])
        self._done["skipped"] += map(str, found.skipped)
        why = "a link that leads out of its folder"
        self._done["left_out"] += [(str(link), why) for link in found.links]

    def add_pages(self, pages: Iterable[Fetched]) -> None:
        """Bring the index in line with pages of the web, and drop those that are gone."""
        self._read_marks(None)
        self.add(filter(None, map(self._to_source, pages)))

    def add(self, sources: Iterable[Source]) -> None:
        """Index documents that are new or have changed."""
        waiting: list[_Document] = []
        late: list[tuple[_Document, str]] = []
        for one in self._read(sources):
            waiting.append(one)
            if sum(len(one.passages) for one in waiting) >= min(self._batch, _BATCH):
                late += self._write(waiting)
                waiting = []
        late += self._write(waiting)
        # An id that moved from one JSONL file to another is free once both have been seen.
        for one, why in self._write([one for one, _ in late]):
            self._fail(one.source, why)

    def add_texts(self, sources: Sequence[Source]) -> None:
        """Index texts that are new or have changed."""
        self._read_marks([source.name for source in sources])
        self.add(sources)

    def add_import(self, given: Import) -> None:
        """Index passages that come with vectors, in place of what had the import's name."""
        held = self._read_marks(None)
        old = [name for name in held if _whole(name) == given.name]
        embedders = dict(zip(self.names, [self._embedder, ""], strict=True))
        with self.store.filling(_TASK, embedders, given.rows):
            self.add(given.read())
        self._remove(sorted(set(old) - set(given.pieces)))

    def drop(self, names: Sequence[str]) -> None:
        """Remove documents, whether they are still where they came from or not."""
        self._read_marks(names)
        self._remove(names)

    def _remove(self, names: Sequence[str]) -> None:
        if names:
            with self._change({name: {"hash": GONE} for name in names}, {}):
                self._done["removed"] += [name for name in names if name in self._there]
            for name in names:
                self._there[name] = GONE

    def report(self) -> IndexReport:
        """The report of the update."""
        with self.store.reading(_TASK, *self.names) as (passages, marks):
            # Chroma counts record by record: 100 ms for a million.
            count = self.publish(passages, marks).count if passages else 0
        return IndexReport(passages=count, **{name: tuple(own) for name, own in self._done.items()})

    def _read_marks(self, names: Sequence[str] | None) -> dict[str, str]:
        """The marks of documents that are not gone."""
        with self.store.reading(_TASK, *self.names) as (_, marks):
            held = read_marks(marks, names=names) if marks else {}
        held = {name: mark for name, mark in held.items() if mark != GONE}
        self._there |= {name: mark for name, mark in held.items() if mark != WAITING}
        return held

    def _find_moved(self, new: Sequence[Path], gone: Sequence[str]) -> dict[str, str]:
        """New files that have the content of others, which are not there any more."""
        with self.store.reading(_TASK, *self.names) as (_, marks):
            if not (marks and marks.get(limit=1, include=[])["ids"]):
                return {}
            found: dict[str, str] = {}
            for path in new:
                try:
                    key = self._digest(source := file_source(path), source.load())
                except DocumentError:
                    continue
                held = marks.get(where={"$and": [{"hash": key}, {"origin": "file"}]})
                for old in held["documents"]:
                    if old not in found.values() and (old in gone or not exists(Path(old))):
                        found[str(path)] = old
                        self._there[old] = key
                        break
        return found

    def _expect(self, sources: Sequence[Source]) -> None:
        """Mark documents that are still to be read, so that half an index is known to be one."""
        if len(sources) > 1:  # a single one gets its mark at once
            self._waiting |= {one.name for one in sources}
            about = {one.name: {"origin": one.origin, "kind": one.kind} for one in sources}
            with self._change(
                {name: {"hash": WAITING, **data} for name, data in about.items()}, None
            ):
                pass

    def _to_source(self, page: Fetched) -> Source | None:
        """The page to be indexed; what else became of it goes into the report."""
        done = self._done
        if page.state == "read":
            return named_source(page.url, page.data, "url", page.ending, **page.validators)
        if page.state == "unchanged":
            done["unchanged"].append(page.url)
        elif page.state == "left out":
            done["left_out"].append((page.url, page.why))
        elif page.state == "gone" and page.url in self._there:
            self._remove([page.url])
        else:
            done["errors"].append((page.url, page.why))
        self.progress(Step(page.url, "done"))
        return None

    def _digest(self, source: Source, data: bytes) -> str:
        return hashlib.sha256(f"{self._cut}|{source.kind}|".encode() + data).hexdigest()

    @property
    def _cut(self) -> str:
        """Everything besides its content that decides how a document is cut."""
        return f"{VERSION}|{self.settings.passage_words}"

    def _read(self, sources: Iterable[Source]) -> Iterator[_Document]:
        """The documents to be written, in order, of those that can be read and have changed."""
        begun: deque[_Begun] = deque()
        for source in sources:
            begun += self._begin(source)
            while len(begun) > self.reading.ahead:
                yield from self._end(begun.popleft())
        while begun:
            yield from self._end(begun.popleft())

    def _begin(self, source: Source) -> list[_Begun]:
        """Begin to read a document; none if it is unchanged."""
        self.progress(Step(source.name, "reading"))
        try:
            data = source.load()
        except DocumentError as error:
            return [_Begun(source, "", partial(_fail, error))]
        if (key := self._digest(source, data)) == self._there.get(source.name):
            self._done["unchanged"].append(source.name)
            self.progress(Step(source.name, "done"))
            return []
        words = self.settings.passage_words
        return [_Begun(source, key, self.reading.begin(source.read, data, words))]

    def _end(self, begun: _Begun) -> list[_Document]:
        """The document to be written; none if it cannot be read."""
        source, name = begun.source, begun.source.name
        try:
            problems, passages = begun.wait()
        except (DocumentError, MissingExtraError) as error:
            # A file that cannot be opened, or not without an extra, may not have changed at all.
            # One that has changed is no longer evidence for what it said.
            changed = isinstance(error, DocumentError) and not isinstance(error.__cause__, OSError)
            self._remove([name] if changed and name in self._there else [])
            self._fail(source, str(error))
            return []
        self._done["problems"] += [(name, problem) for problem in problems]
        return [_Document(source, begun.hash, passages, self._moved.get(name, ""))]

    def _fail(self, source: Source, why: str) -> None:
        self._done["errors"].append((source.name, why))
        if source.name in self._waiting:
            with self._change({source.name: {"hash": GONE}}, None):
                pass
        self.progress(Step(source.name, "done"))

    def _write(self, documents: Sequence[_Document]) -> list[tuple[_Document, str]]:
        """Write documents; those with an id of another one's are given back, each with an error."""
        wanted = [passage.id for one in documents for passage in one.passages]
        with self.store.reading(_TASK, *self.names) as (passages, _):
            held = fetch(passages, wanted, "metadatas") if passages else {}
            old = [one.moved_from for one in documents if one.moved_from]
            vectors: dict[str, Any] = _read_vectors(passages, old) if self._embedder else {}
        owners = {key: str(data["document"]) for key, (data,) in held.items()}
        for one in documents:
            if one.source.vectors is not None:
                vectors |= zip(map(searchable, one.passages), one.source.vectors, strict=True)
        accepted, refused = [], []
        for one in documents:
            owned = {passage.id: one.name for passage in one.passages}
            mine = (_whole(one.name), one.moved_from)
            others = (key for key in owned if _whole(owners.get(key, one.name)) not in mine)
            if clash := next(others, ""):
                error = DocumentError(
                    f"{one.name} cannot be indexed",
                    why=f"its id {clash!r} is already that of a passage of {owners[clash]}",
                    fix="Leave one of the files out, or give their objects different ids.",
                )
                refused.append((one, str(error)))
            else:
                owners |= owned
                accepted.append(one)
        fresh = [
            (one.name, passage)
            for one in accepted
            for passage in one.passages
            if one.source.vectors is not None
            or passage.id not in held
            or held[passage.id][0]["digest"] != _content(passage)
            or held[passage.id][0]["document"] != one.name
        ]
        counts = {one.name: len(one.passages) for one in accepted}
        left = Counter(name for name, _ in fresh)
        kept = {passage.id for one in accepted for passage in one.passages}
        begun: dict[str, Mapping[str, Any]] = {
            one.name: {"hash": "", **one.about} for one in accepted
        }
        begun |= {one.moved_from: {"hash": GONE} for one in accepted if one.moved_from}
        place, is_last = 0, not accepted
        while not is_last:
            piece = fresh[place : place + min(self._batch, _BATCH)]
            place += len(piece)
            self._batch = min(2 * self._batch, _BATCH)
            embedded = self._embed([passage for _, passage in piece], vectors)
            is_last = place >= len(fresh)
            now = time.time()
            whole = {"indexed": now, "cut": self._cut}
            ended = {
                one.name: {"hash": one.hash, "passages": len(one.passages), **whole}
                for one in accepted
            }
            with self._change(begun, ended if is_last else None, kept) as passages:
                self.store.write(
                    passages,
                    "upsert",
                    [passage.id for _, passage in piece],
                    documents=[passage.text for _, passage in piece],
                    metadatas=[_metadata(name, passage) for name, passage in piece],
                    embeddings=embedded,
                )
            begun = {}
            left -= (stored := Counter(name for name, _ in piece))
            for name in counts if is_last else stored:
                state: Literal["storing", "done"] = "done" if is_last else "storing"
                self.progress(Step(name, state, counts[name] - left[name], counts[name]))
        for one in accepted:
            if one.moved_from:
                self._done["moved"].append((one.moved_from, one.name))
                self._there[one.moved_from] = GONE
            else:
                self._done["updated" if one.name in self._there else "added"].append(one.name)
            self._there[one.name] = one.hash
        return refused

    def _embed(self, passages: Sequence[Passage], known: Mapping[str, Any]) -> list[Any] | None:
        """The vectors of passages, of which some are known by what is embedded."""
        if not self._embedder:
            return None
        texts = list(map(searchable, passages))
        new = [text for text in texts if text not in known]
        if new and self.embeddings is None:
            raise StoreError(
                "The index cannot be changed without its embedding model",
                why=f"its vectors are from {self._embedder}",
                fix="Give the model, or build the index anew: citeproof index --rebuild PATH.",
            )
        fix = "What is indexed so far is kept; run the same again to go on."
        vectors = iter(embed_texts(self.embeddings, new, fix=fix) if self.embeddings else [])
        return [known[text] if text in known else next(vectors) for text in texts]

    @contextmanager
    def _change(
        self,
        begun: Mapping[str, Mapping[str, Any]],
        ended: Mapping[str, Mapping[str, Any]] | None,
        kept: Collection[str] = (),
    ) -> Iterator[Any]:
        """Write passages, and the marks of documents before and after.

        Of those that are begun all passages but the ids that are kept are deleted. Only with marks
        for the end is the change one that others take notice of.
        """
        embedders = dict(zip(self.names, [self._embedder, ""], strict=True))
        with self.store.writing("writing the index", embedders) as (passages, marks):
            revision = int(passages.metadata.get("revision", 0)) + 1

            def mark(new: Mapping[str, Mapping[str, Any]]) -> None:
                data = [{**own, "revision": revision} for own in new.values()]
                ids, names = list(map(digest, new)), list(new)
                self.store.write(
                    marks, "upsert", ids, documents=names, metadatas=data, embeddings=None
                )

            mark(begun)
            for name in self._there.keys() & begun.keys():
                held = passages.get(where={"document": name}, include=[])["ids"]
                self.store.write(passages, "delete", [key for key in held if key not in kept])
            yield passages
            if ended is not None:
                mark(ended)
                passages.modify(metadata={**passages.metadata, "revision": revision})
                self.publish(passages, marks)


def _fail(error: Exception) -> NoReturn:
    raise error


def _read_vectors(passages: Any, documents: Sequence[str]) -> dict[str, Any]:
    """The vectors of documents' passages, by what was embedded."""
    found: dict[str, Any] = {}
    for name in documents:
        got = passages.get(
            where={"document": name}, include=["documents", "metadatas", "embeddings"]
        )
        rows = zip(got["documents"], got["metadatas"], got["embeddings"], strict=True)
        for text, data, vector in rows:
            passage = Passage(id="", text=text, title=data["title"])
            found[searchable(passage)] = vector
    return found


def _metadata(document: str, passage: Passage) -> dict[str, str | int]:
    fields = passage.model_dump(include={"title", "source", "location", "start", "end"})
    page = passage.page or 0
    boxes = json.dumps([list(box.model_dump().values()) for box in passage.boxes])
    own = {"boxes": boxes} if passage.boxes else {}
    return {**fields, **own, "document": document, "digest": _content(passage), "page": page}


def _whole(name: str) -> str:
    """The document that this is, or is a piece of."""
    return name.partition(PIECE)[0]


def _content(passage: Passage) -> str:
    return digest(passage.model_dump_json())
