"""Documents as the index knows them: where they come from, and the mark that each one has.

A mark is the hash of a document's content and of how it was cut. The hash is empty from before the
first passage is written until after the last, so even after an interrupted update a document is
either whole or known to be incomplete. A document that is still to be read is marked as waiting. A
deleted one keeps a mark, so that copies of its words elsewhere can be deleted as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from citeproof.errors import InputError
from citeproof.memory.base import Mark
from citeproof.paths import resolve
from citeproof.tools.documents.sources import PIECE, Origin
from citeproof.tools.web import is_url, normalize

GONE, WAITING = "gone", "waiting"
"""Marks that are no hash."""


class IndexedDocument(BaseModel, frozen=True):
    """A document of the index."""

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


def document_of(name: str) -> str:
    """The document that this is, or is a piece of."""
    return name.partition(PIECE)[0]


def validators(marks: Mapping[str, Mark], cut: str) -> dict[str, dict[str, str]]:
    """Pages of the web, each with the validators that its site sent when it was read.

    Pages that are incomplete, or were cut with other settings, come without `etag` and `modified`,
    so that they are fetched again.
    """
    found: dict[str, dict[str, str]] = {}
    for name, mark in marks.items():
        if mark.get("origin") == "url":
            is_current = mark["hash"] and mark.get("cut") == cut
            names = ("etag", "modified", "links") if is_current else ("links",)
            found[name] = {own: str(mark.get(own, "")) for own in names}
    return found


def list_documents(marks: Mapping[str, Mark], count: Callable[[str], int]) -> list[IndexedDocument]:
    """The documents of the index, and those still to be read, by name; an import counts as one."""
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
    """The documents of these names, and those below them: of a folder, a page, or an import.

    Raises:
        InputError: There is no document of a name.
    """
    found: dict[str, None] = {}
    for name in names:
        if is_url(name):
            url = normalize(name)
            below = url.rstrip("/") + "/"
            some = [one for one in known if one == url or one.startswith(below)]
        elif not (some := [one for one in known if document_of(one) == name]):
            path = resolve(Path(name))
            paths = (one for one in known if not is_url(one) and Path(one).is_absolute())
            some = [one for one in paths if Path(one).is_relative_to(path)]
        if not some:
            raise InputError(
                f"There is no document {name} in the index",
                fix="Run `citeproof index --list` to see what there is.",
            )
        found |= dict.fromkeys(some)
    return list(found)
