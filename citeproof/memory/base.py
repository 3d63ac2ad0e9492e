"""The interface of an index's storage: passages, and a mark for each document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from citeproof.errors import StoreError
from citeproof.tools.retrieval.search_pool import Candidate
from citeproof.types import Passage

Mark = Mapping[str, Any]
"""The record of a document: its `hash`, `origin` and `kind`. A completely written document also has
the number of its `passages`, the time `indexed`, and how it was `cut`."""


def check_model(what: str, held: str, given: str, fix: str) -> None:
    """Raise a `StoreError` if the given embedding model is not the one of the stored vectors."""
    if held != given:
        why = f"its vectors are from {held or 'no model'}, and the settings say {given or 'none'}"
        raise StoreError(f"{what} does not fit the model", why=why, fix=fix)


def used_after_close(what: str) -> StoreError:
    """Return the error for a store that is used although it was closed."""
    return StoreError(
        f"{what} was closed",
        why="its Toolbox, index or memory was used after `close` or its `with` block",
        fix="Use it before that, or open it again; nothing is damaged.",
    )


class Change(NamedTuple):
    """A change that is written as a unit."""

    begun: Mapping[str, Mark] = {}
    """Marks of documents, written first."""
    emptied: Collection[str] = ()
    """Documents whose passages are deleted, except those in `kept`."""
    kept: Collection[str] = ()
    """Ids of passages."""
    rows: Sequence[tuple[str, Passage]] = ()
    """Passages, each with its document."""
    vectors: Sequence[Any] | None = None
    """One per row; None in an index that has words only."""
    ended: Mapping[str, Mark] | None = None
    """Marks written last; None if more changes of the same documents follow."""


class PassageStore(Protocol):
    """Passages with vectors, and marks of documents. Its methods block, and raise `StoreError`."""

    needs_vectors: bool
    """Whether passages need vectors even if they are searched by their words only."""

    def updating(self, *, rebuild: bool, rows: int = 0) -> AbstractContextManager[PassageStore]:
        """Hold the exclusive right to change the passages, and yield the store to write to.

        A rebuild starts empty and replaces the old passages only if it succeeds. `rows` is the
        approximate number of passages to come, if known.
        """

    def write(self, changes: Iterable[Change], embedder: str) -> None:
        """Write changes whose vectors are from this embedding model.

        Readers see them as one where possible. An error in the iterable ends the writing.
        """

    def embedder(self) -> str | None:
        """Return the name of the vectors' model, "" for no model; None if there is no index."""

    def marks(
        self, names: list[str] | None = None, *, hashes: list[str] | None = None
    ) -> dict[str, Mark]:
        """Return the marks of existing documents: of all, or those with these names or hashes."""

    def held(self, ids: list[str]) -> dict[str, tuple[str, Passage]]:
        """Return passages by id in the given order, each with its document."""

    def passages(
        self, document: str | None = None, *, with_vectors: bool = False
    ) -> Iterator[tuple[Passage, Any]]:
        """Yield all passages, or those of a document or a source, each with its vector or None."""

    def count(self, document: str | None = None) -> int:
        """Count all passages, or those of a document."""

    def candidates(
        self, queries: Sequence[str], vectors: Sequence[Any] | None, depth: int, *, words: bool
    ) -> list[list[Candidate]]:
        """Return for each query the top `depth` passages by vector and the top `depth` by words.

        Without vectors only words are searched, and the cosines are 0; without `words` only
        vectors are searched, and the word scores are 0.
        """

    def close(self) -> None:
        """Release the store."""
