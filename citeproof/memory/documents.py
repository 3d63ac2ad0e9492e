"""Documents as the index knows them: their origin, and the mark that each one has.

A mark holds a hash of the document's content and of how it was cut. The hash is empty while the
passages are written, so after an interrupted update a document is either complete or known to be
incomplete. A document that has not been read yet is marked as waiting. A deleted document keeps a
mark, so that copies of its words elsewhere can be deleted too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from citeproof.errors import InputError
from citeproof.memory.base import Mark
from citeproof.paths import resolve
from citeproof.text import is_web
from citeproof.tools.documents.sources import PIECE, Origin
from citeproof.tools.web import normalize

GONE, WAITING = "gone", "waiting"
"""Values that a mark has in place of a hash."""


class IndexedDocument(BaseModel, frozen=True):
    """A document in the index."""

    document: str
    """Its path, its URL, or its given name."""
    origin: Origin
    kind: str
    """Its format, such as `pdf`, `md` or `html`."""
    passages: int
    indexed: datetime | None
    """When it was last written; None while it is incomplete."""

    @property
    def whole(self) -> bool:
        """Whether all of its passages are stored."""
        return self.indexed is not None


def document_of(name: str) -> str:
    """Return the name of the document that this name, or the piece of this name, belongs to."""
    return name.partition(PIECE)[0]


def validators(marks: Mapping[str, Mark], cut: str) -> dict[str, dict[str, str]]:
    """Return the web pages among the documents, each with the validators that its site sent.

    Pages that are incomplete or were cut with other settings lack `etag` and `modified`, so they
    are fetched again.
    """
    found: dict[str, dict[str, str]] = {}
    for name, mark in marks.items():
        if mark.get("origin") == "url":
            is_current = mark["hash"] and mark.get("cut") == cut
            names = ("etag", "modified", "links") if is_current else ("links",)
            found[name] = {own: str(mark.get(own, "")) for own in names}
    return found


def list_documents(marks: Mapping[str, Mark], count: Callable[[str], int]) -> list[IndexedDocument]:
    """List the documents by name, including those not read yet; an import counts as one."""
    found: dict[str, IndexedDocument] = {}
    for name, mark in marks.items():
        is_whole = mark["hash"] not in ("", WAITING)
        own = found.get(document_of(name))
        passages = mark["passages"] if is_whole else count(name)
        indexed = datetime.fromtimestamp(mark["indexed"], UTC) if is_whole else None
        if own and own.indexed and indexed:
            indexed = max(own.indexed, indexed)
        found[document_of(name)] = IndexedDocument(
            document=document_of(name),
            origin=mark["origin"],
            kind=mark["kind"].removeprefix("."),
            passages=passages + (own.passages if own else 0),
            indexed=None if own and not own.whole else indexed,
        )
    return [found[name] for name in sorted(found)]


def match(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return the documents with these names and those below them, in a folder, page or import.

    Raises:
        InputError: No document matches a name.
    """
    found: dict[str, None] = {}
    for name in names:
        if is_web(name):
            url = normalize(name)
            below = url.rstrip("/") + "/"
            some = [one for one in known if one == url or one.startswith(below)]
        elif not (some := [one for one in known if document_of(one) == name]):
            path = resolve(Path(name))
            some = [one for one in known if Path(one).is_relative_to(path)]
        if not some:
            raise InputError(
                f"There is no document {name} in the index",
                fix="Run `citeproof index --list` to see what there is.",
            )
        found |= dict.fromkeys(some)
    return list(found)
