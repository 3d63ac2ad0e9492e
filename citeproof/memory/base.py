"""The contract of a place where an index keeps its passages, and the marks of its documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from citeproof.errors import StoreError
from citeproof.tools.retrieval.search_pool import Candidate
from citeproof.types import Passage

Mark = Mapping[str, Any]
"""The record of a document: its `hash`, `origin` and `kind`, and once it is whole the number of its
`passages`, the time `indexed` and how it was `cut`."""


def check_model(what: str, held: str, given: str, fix: str) -> None:
    """Refuse, by a `StoreError`, another embedding model than the one that is held."""
    if held != given:
        why = f"its vectors are from {held or 'no model'}, and the settings say {given or 'none'}"
        raise StoreError(f"{what} does not fit the model", why=why, fix=fix)


class Change(NamedTuple):
    """A change that is written as one."""

    begun: Mapping[str, Mark] = {}
    """Marks of documents, written first."""
    emptied: Collection[str] = ()
    """Documents whose passages are deleted, but for those `kept`."""
    kept: Collection[str] = ()
    rows: Sequence[tuple[str, Passage]] = ()
    """Passages, each with its document."""
    vectors: Sequence[Any] | None = None
    """One for each row; None in an index of words only."""
    ended: Mapping[str, Mark] | None = None
    """Marks that are written last; None if the change is part of an unfinished one."""


class PassageStore(Protocol):
    """Passages with vectors, and marks of documents. Its methods block, and raise `StoreError`."""

    needs_vectors: bool
    """Whether passages have vectors also where they are searched by their words only."""

    def updating(self, *, rebuild: bool, rows: int = 0) -> AbstractContextManager[PassageStore]:
        """The only turn to change the passages; gives the store to write to.

        A rebuild begins with nothing, and replaces what there was if all ends well. `rows` is
        about how many passages are coming, if that is known.
        """

    def together(self) -> AbstractContextManager[object]:
        """Group changes of one or several documents, so that others see them as one if possible."""

    def write(self, change: Change, embedder: str) -> None:
        """Make a change, with vectors of this embedding model."""

    def embedder(self) -> str | None:
        """The name of the vectors' model, "" for none; None if nothing is there."""

    def marks(
        self, names: Sequence[str] | None = None, *, of_hash: str | None = None
    ) -> dict[str, Mark]:
        """The marks of existing documents: of all, of those named, or of this hash."""

    def held(self, ids: Sequence[str]) -> dict[str, tuple[str, Passage]]:
        """Passages by their ids, each with its document, in this order."""

    def passages(
        self, document: str | None = None, *, with_vectors: bool = False
    ) -> Iterator[tuple[Passage, Any]]:
        """All passages, or those of a document or a source; each with its vector, or None."""

    def count(self, document: str | None = None, *, of_whole: bool = False) -> int:
        """How many passages there are, or a document has, or all whole documents have."""

    def candidates(
        self, queries: Sequence[str], vectors: Sequence[Any] | None, depth: int, *, words: bool
    ) -> list[list[Candidate]]:
        """For each query the first `depth` passages by its vector, and by its words.

        Without vectors it is searched by words alone, and the cosines are 0; without `words` by
        vectors alone, and the word scores are 0.
        """

    def close(self) -> None:
        """Let go of the place."""
