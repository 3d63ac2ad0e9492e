"""Documents as the index knows them: where they come from, and the mark that each one has.

A mark is the hash of a document's content and of how it was cut. It is empty from before the first
of the passages is touched until after the last, so that whatever interrupts an update, a document
is either whole or known not to be. A document that is still to be read waits; one that is gone
keeps a mark, so that those who keep words of it elsewhere learn of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from citeproof.errors import InputError
from citeproof.memory.store import fetch
from citeproof.paths import resolve
from citeproof.tools.documents.sources import PIECE, Origin
from citeproof.tools.web import is_url, normalize

__all__ = [
    "GONE",
    "VERSION",
    "WAITING",
    "IndexedDocument",
    "digest",
    "list_documents",
    "match",
    "read_marks",
    "read_validators",
]

VERSION = "6"
"""Goes up when readers or cutting change, so that documents are indexed anew."""
GONE, WAITING = "gone", "waiting"
"""Marks that are no hash."""


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
    """What the index holds or is to hold, by name; the pieces of an import count as one."""
    got = marks.get() if marks else {"documents": [], "metadatas": []}
    found: dict[str, IndexedDocument] = {}
    for name, data in zip(got["documents"], got["metadatas"], strict=True):
        if data["hash"] == GONE:
            continue
        is_whole = data["hash"] not in ("", WAITING)
        some = passages.get(where={"document": name}, include=[])["ids"] if not is_whole else []
        one = IndexedDocument(
            document=name.partition(PIECE)[0],
            origin=data["origin"],
            kind=data["kind"].removeprefix("."),
            passages=data["passages"] if is_whole else len(some),
            indexed=datetime.fromtimestamp(data["indexed"], UTC) if is_whole else None,
        )
        if held := found.get(one.document):
            moments = (held.indexed, one.indexed)
            indexed = max(filter(None, moments)) if all(moments) else None
            more = {"passages": held.passages + one.passages, "indexed": indexed}
            one = one.model_copy(update=more)
        found[one.document] = one
    return [found[name] for name in sorted(found)]


def match(names: Sequence[str], known: Collection[str]) -> list[str]:
    """The documents of these names, and those below them: of a folder, a page, or an import.

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
    elif pieces := [one for one in known if one.partition(PIECE)[0] == name]:
        yield from pieces
    else:
        path = resolve(Path(name))
        paths = (one for one in known if not is_url(one) and Path(one).is_absolute())
        yield from (one for one in paths if Path(one).is_relative_to(path))


def digest(text: str) -> str:
    """A short name for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
