"""Documents as the index knows them: where they come from, and the mark that each one has.

A mark is the hash of a document's content and of how it was cut. It is empty from before the first
of the passages is touched until after the last, so that whatever interrupts an update, a document
is either whole or known not to be. A document that is still to be read waits; one that is gone
keeps a mark, so that those who keep words of it elsewhere learn of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from langchain_core.documents import Document as LangChainDocument
from pydantic import BaseModel, ConfigDict

from citeproof.errors import InputError
from citeproof.memory.store import fetch
from citeproof.paths import resolved
from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.files import load
from citeproof.tools.documents.sandbox import read_safely
from citeproof.tools.retrieval.langchain import to_passage
from citeproof.tools.web import is_url, normalize

__all__ = [
    "GONE",
    "VERSION",
    "WAITING",
    "IndexedDocument",
    "Origin",
    "Source",
    "check_name",
    "digest",
    "file_source",
    "list_documents",
    "match",
    "named_source",
    "read_marks",
    "read_validators",
    "text_sources",
]

Origin = Literal["file", "url", "text"]
VERSION = "6"
"""Goes up when readers or cutting change, so that documents are indexed anew."""
GONE, WAITING = "gone", "waiting"
"""Marks that are no hash."""


@dataclass(frozen=True)
class Source:
    """A document that may have to be indexed."""

    name: str
    """What it is known by: its path, its URL, or the name that it was given."""
    origin: Origin
    kind: str
    """Its format, as a file ending with the dot."""
    load: Callable[[], bytes]
    """Raises `DocumentError`."""
    read: Callable[[bytes], Document]
    """What its bytes hold; raises `DocumentError` or `MissingExtraError`."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Kept with its mark."""


class IndexedDocument(BaseModel):
    """A document of the index."""

    model_config = ConfigDict(frozen=True)

    document: str
    """Its path, its URL, or the name that it was given."""
    origin: Origin
    kind: str
    """Its format: `pdf`, `md`, `html`."""
    passages: int
    indexed: datetime | None
    """When it was last written; None while it is not whole."""

    @property
    def whole(self) -> bool:
        """Whether all of its passages are there."""
        return self.indexed is not None


def file_source(path: Path) -> Source:
    """A file, by its resolved path."""
    return Source(
        name=str(path),
        origin="file",
        kind=path.suffix.lower(),
        load=lambda: load(path),
        read=lambda data: read_safely(data, path),
    )


def named_source(name: str, data: bytes, origin: Origin, kind: str, **notes: str) -> Source:
    """A document that is no file, read as a file of this kind would be."""
    known = Path(name if name.lower().endswith(kind) else name.rstrip("/") + kind)

    def read(given: bytes) -> Document:
        return replace(read_safely(given, known), source=name)

    return Source(name, origin, kind, lambda: data, read, notes)


def text_sources(
    texts: Sequence[str | LangChainDocument], ids: Sequence[str] | None
) -> list[Source]:
    """Texts and LangChain documents, each a document of its own.

    Raises:
        InputError: One is empty, or there are more or fewer ids, or one id twice.
    """
    if ids is not None and len(ids) != len(texts):
        raise InputError(f"There are {len(ids)} ids for {len(texts)} texts")
    found: dict[str, Source] = {}
    for place, text in enumerate(texts):
        given = LangChainDocument(page_content=text) if isinstance(text, str) else text
        if not given.page_content.strip():
            raise InputError(f"Text {place + 1} is empty", fix="Leave it out.")
        name = ids[place] if ids is not None else to_passage(given).id
        if ids is not None and name in found:
            raise InputError(f"The id {name!r} is given twice", fix="Give each text its own.")
        found.setdefault(check_name(name), _text_source(name, given))
    return list(found.values())


def check_name(name: str) -> str:
    """A name that a text may have, as it is.

    Raises:
        InputError: It is empty, or would be taken for a page or a file.
    """
    if not name.strip() or is_url(name) or Path(name).is_absolute():
        raise InputError(f"A text cannot be called {name!r}", why="it is empty, a URL or a path")
    return name


def _text_source(name: str, given: LangChainDocument) -> Source:
    passage = to_passage(given)
    key = f"{passage.title}\n{passage.source}\n{passage.page}\n{passage.text}".encode()

    def read(_: bytes) -> Document:
        part = Part(
            passage.text,
            0,
            0,
            len(passage.text),
            title=passage.title,
            page=passage.page,
            source=passage.source,
        )
        return Document(name, passage.title, (part,))

    return Source(name, "text", ".txt", lambda: key, read)


def read_marks(marks: Any, since: int = 0, names: Sequence[str] | None = None) -> dict[str, str]:
    """Documents with their marks: those that changed after a revision, or those named."""
    if names is not None:
        named = fetch(marks, list(map(digest, names)), "documents", "metadatas")
        return {name: data["hash"] for name, data in named.values()}
    got = marks.get(where={"revision": {"$gt": since}})
    hashes = [data["hash"] for data in got["metadatas"]]
    return dict(zip(got["documents"], hashes, strict=True))


def read_validators(marks: Any, passage_words: int) -> dict[str, dict[str, str]]:
    """Pages of the web, with what their sites said of them when they were read.

    What is not there as it would be cut today comes without what would keep it from being fetched.
    """
    got = marks.get(where={"origin": "url"})
    found: dict[str, dict[str, str]] = {}
    for name, data in zip(got["documents"], got["metadatas"], strict=True):
        if data["hash"] != GONE:
            is_current = data["hash"] and data.get("cut") == f"{VERSION}|{passage_words}"
            names = ("etag", "modified", "links") if is_current else ("links",)
            found[name] = {own: str(data.get(own, "")) for own in names}
    return found


def list_documents(passages: Any, marks: Any) -> list[IndexedDocument]:
    """What the index holds or is to hold, by name."""
    got = marks.get() if marks else {"documents": [], "metadatas": []}
    found = []
    for name, data in zip(got["documents"], got["metadatas"], strict=True):
        if data["hash"] == GONE:
            continue
        is_whole = data["hash"] not in ("", WAITING)
        some = passages.get(where={"document": name}, include=[])["ids"] if not is_whole else []
        found.append(
            IndexedDocument(
                document=name,
                origin=data["origin"],
                kind=data["kind"].removeprefix("."),
                passages=data["passages"] if is_whole else len(some),
                indexed=datetime.fromtimestamp(data["indexed"], UTC) if is_whole else None,
            )
        )
    return sorted(found, key=lambda one: one.document)


def match(names: Sequence[str], known: Collection[str]) -> list[str]:
    """The documents of these names, and those below them: of a folder, or of a page.

    Raises:
        InputError: A name is that of no document.
    """
    found: dict[str, None] = {}
    for name in names:
        some = list(_matches(name, known))
        if not some:
            raise InputError(
                f"There is no document {name} in the index",
                fix="Run `citeproof index --list` to see what there is.",
            )
        found |= dict.fromkeys(some)
    return list(found)


def _matches(name: str, known: Collection[str]) -> Iterator[str]:
    if is_url(name):
        url = normalize(name)
        below = url.rstrip("/") + "/"
        yield from (one for one in known if one == url or one.startswith(below))
    elif name in known:
        yield name
    else:
        path = resolved(Path(name))
        paths = (one for one in known if not is_url(one) and Path(one).is_absolute())
        yield from (one for one in paths if Path(one).is_relative_to(path))


def digest(text: str) -> str:
    """A short name for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
