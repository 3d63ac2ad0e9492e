"""The index: passages of the user's documents, searched by their vectors and by their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from citeproof.actors import Actors
from citeproof.errors import InputError, SettingsError
from citeproof.memory.base import PassageStore, check_model
from citeproof.memory.chroma import ChromaPassages
from citeproof.memory.documents import IndexedDocument, list_documents, match, validators
from citeproof.memory.ingest import IndexReport, Progress, Step, Update, how_cut
from citeproof.settings import ChromaSettings, DocumentSettings, RetrieverSettings
from citeproof.text import is_web
from citeproof.tools.documents.files import find
from citeproof.tools.documents.imports import Import, to_import
from citeproof.tools.documents.sources import Source, text_sources
from citeproof.tools.retrieval import HybridRetriever, Kind
from citeproof.tools.retrieval.embeddings import embed_queries, embed_texts, embedder_name
from citeproof.tools.retrieval.search_pool import Candidate, searchable
from citeproof.tools.web import Fetched, Web, fetch_pages
from citeproof.types import Passage

__all__ = ["Index", "IndexReport", "IndexedDocument", "Step", "Web"]


class Index:
    """Passages by id, and two searches over them: by vectors and by words. Create it with `open`.

    All methods block; async code uses `retriever()`. Any number of threads and processes may search
    an index while one process updates it: each search sees what was written before it, and waits at
    most until one batch of passages is stored. Methods raise `StoreError` if the store cannot be
    used, and `ModelError` if the embedding model fails.

    Args:
        place: The store of the passages.
        settings: The kind of search, and how documents are cut.
        embeddings: The embedding model. May be None if the kind is `bm25`; a new index then has
            words only.
        rebuild: Start the next update with an empty index.
        actors: Actors that read and cut documents instead of this process; they are sent the
            documents' bytes.
        documents: How documents are read.
    """

    def __init__(
        self,
        place: PassageStore,
        settings: RetrieverSettings,
        embeddings: Embeddings | None,
        *,
        rebuild: bool = False,
        actors: Actors[Any] | None = None,
        documents: DocumentSettings | None = None,
    ) -> None:
        self._place = place
        self._settings = settings
        self.embeddings = embeddings
        """The embedding model; None if the index is searched by words only."""
        self._rebuild = rebuild
        self._actors = actors
        self._documents = documents or DocumentSettings()

    @classmethod
    def open(
        cls,
        chroma: ChromaSettings,
        settings: RetrieverSettings,
        embeddings: Embeddings | None = None,
        *,
        rebuild: bool = False,
        actors: Actors[Any] | None = None,
        documents: DocumentSettings | None = None,
    ) -> Index:
        """Open the index in Chroma; the first update creates it.

        Raises:
            SettingsError: The kind of search needs embeddings, and none are given.
            StoreError: The stored vectors are from another model.
        """
        if embeddings is None and settings.kind != "bm25":
            raise SettingsError(
                f"A retriever of the kind {settings.kind!r} needs an embedding model",
                fix="Give one, or set `retriever.kind` to `bm25`.",
            )
        place = ChromaPassages(chroma, embeddings)
        more: dict[str, Any] = {"rebuild": rebuild, "actors": actors, "documents": documents}
        index = cls(place, settings, embeddings, **more)
        with ExitStack() as opened:
            opened.callback(index.close)
            if not rebuild and settings.kind != "bm25":
                index._check_model(place.embedder())
            opened.pop_all()
        return index

    def update(
        self,
        documents: Sequence[Path | str],
        *,
        web: Web | None = None,
        follow_links: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Synchronise the index with documents: files, folders, and web pages.

        Only documents that changed since the last update are embedded and written. Files that have
        disappeared from these folders are removed, and so are pages that their site no longer has;
        all other documents stay. An interrupted update keeps the documents that it finished, and
        the next call repeats the rest. A rebuild replaces the old index only when it is complete.

        Args:
            documents: Paths, and URLs as strings.
            web: How URLs are fetched. By default only the given pages are fetched, and only from
                public addresses.
            follow_links: Follow links inside a folder that lead out of it.
            progress: Called with each step.

        Raises:
            InputError: A URL is invalid, or a rebuild would leave nothing.
        """
        urls = [str(one) for one in documents if is_web(str(one))]
        paths = [Path(one) for one in documents if not is_web(str(one))]
        found = find(paths, follow_links=follow_links)
        # A rebuild doesn't read the old index, which may be damaged.
        marks = self._place.marks() if urls and not self._rebuild else {}
        fetched = fetch_pages(urls, web or Web(), validators(marks, how_cut(self._settings)))
        first: list[Fetched] = []  # fetched before locking: all may be refused or unchanged
        for page in fetched:
            first.append(page)
            if page.state == "read":
                break
            if progress is not None:
                progress(Step(page.url, "done"))
        is_needed = bool(found.files) or any(page.state == "read" for page in first)
        if self._rebuild and not is_needed and self.count():
            raise InputError(
                "The index was not rebuilt",
                why="; ".join(page.why for page in first) or "there is no document to read",
                fix="The old index is unchanged.",
            )

        with self._updating(progress, is_needed=is_needed) as update:
            if paths:  # found again: another process may have updated the index meanwhile
                update.add_files(find(paths, follow_links=follow_links))
            if urls:
                update.add(update.find_sources(chain(first, fetched)))
            return update.report()

    def add(
        self,
        texts: Sequence[str | Document] | Sequence[Passage],
        vectors: Any = None,
        *,
        ids: Sequence[str] | None = None,
        name: str = "passages",
        progress: Progress | None = None,
    ) -> list[str]:
        """Index texts and LangChain documents, or passages; return their ids.

        Each text is a separate document and is cut into passages like a file. It replaces an
        earlier text with the same id; an unchanged text is not written again. The passages take
        over `title`, `source` and `page` from the metadata.

        Passages are stored as they are. Together they form the document called `name`, and replace
        an earlier document of this name. Unchanged passages are not written again, so an
        interrupted call can be repeated.

        Args:
            texts: The texts, documents or passages.
            vectors: For passages: an array of shape (passages, dimension), from the embedding model
                that the index is searched with. By default the passages are embedded.
            ids: The ids of texts. By default a document's own id, or else one made from source and
                text.
            name: The name of the passages' document.
            progress: Called with each step.

        Raises:
            InputError: A text is empty or has the id of a file or page, a passage has the id of one
                of another document, or the vectors don't fit the passages or the embedding model.
        """
        passages = [one for one in texts if isinstance(one, Passage)]
        if vectors is not None or passages:
            if len(passages) < len(texts) or ids is not None:
                raise InputError("Only passages can have vectors", fix="Give `Passage` objects.")
            if vectors is None:
                embeddings = self._need_embeddings()
                vectors = np.asarray(embed_texts(embeddings, list(map(searchable, passages))))
            report = self.add_import(to_import(passages, vectors, name), progress=progress)
            _refuse_errors(report)
            return [passage.id for passage in passages]
        sources = text_sources([one for one in texts if not isinstance(one, Passage)], ids)
        _refuse_errors(self.add_sources(sources, progress=progress))
        return [source.name for source in sources]

    def add_sources(
        self, sources: Sequence[Source], *, progress: Progress | None = None
    ) -> IndexReport:
        """Index documents that are neither files nor pages; for texts, use `add`."""
        with self._updating(progress, is_needed=bool(sources)) as update:
            update.add(sources, [source.name for source in sources])
            return update.report()

    def add_import(self, given: Import, *, progress: Progress | None = None) -> IndexReport:
        """Index passages that come with vectors; for passages in memory, use `add`.

        Raises:
            InputError: The vectors' length differs from the embedding model's, or a line is
                invalid.
            SettingsError: The index was opened without an embedding model.
        """
        embeddings = self._need_embeddings()
        length = len(embed_queries(embeddings, ["length"])[0])
        if given.rows and given.dimension != length:
            raise InputError(
                f"The vectors of {given.name} do not fit the embedding model",
                why=f"they have {given.dimension} numbers, and those of "
                f"{embedder_name(embeddings)} have {length}",
                fix="Set `embedding.model` to the model that the vectors are from.",
            )
        with self._updating(progress, is_needed=bool(given.rows), rows=given.rows) as update:
            update.add_import(given)
            return update.report()

    def remove(self, names: Sequence[Path | str]) -> list[str]:
        """Remove documents: files, whole folders, pages and those below them, and texts by id.

        Files need not exist any more.

        Returns:
            The removed documents.

        Raises:
            InputError: A name is not in the index; nothing is removed.
        """
        chosen = match(list(map(str, names)), self._place.marks())
        with self._updating(None, is_needed=bool(chosen)) as update:
            update.drop(chosen)
        return chosen

    def documents(self) -> list[IndexedDocument]:
        """Return the documents by name; after an interrupted update some may be incomplete."""
        return list_documents(self._place.marks(), self._place.count)

    def count(self) -> int:
        """Return the number of passages."""
        return self._place.count()

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """Return the passages with these ids, in this order; unknown ids are skipped."""
        return [passage for _, passage in self._place.held(list(ids)).values()]

    def document(self, name: str) -> list[Passage]:
        """Return a document's passages in order, by its path or source; none if it is unknown."""
        found = (passage for passage, _ in self._place.passages(name))
        return sorted(found, key=lambda one: (one.source, one.page or 0, one.start))

    def passages(self) -> Iterator[Passage]:
        """Iterate over all passages."""
        return (passage for passage, _ in self._place.passages())

    def retriever(self, kind: Kind | None = None) -> HybridRetriever:
        """Return a retriever over the index; the kind defaults to that of the settings."""
        return HybridRetriever(self, kind or self._settings.kind)

    def candidates(
        self, queries: Sequence[str], depth: int, kind: Kind = "fused"
    ) -> list[list[Candidate]]:
        """Return for each query the top `depth` passages of each search that the kind includes.

        Raises:
            SettingsError: The kind searches vectors, and the index has none or was opened without
                embeddings.
        """
        vectors = None if kind == "bm25" else self._vectors(queries)
        return self._place.candidates(queries, vectors, depth, words=kind != "dense")

    def close(self) -> None:
        """Release the store."""
        self._place.close()

    @contextmanager
    def _updating(
        self, progress: Progress | None, *, is_needed: bool, rows: int = 0
    ) -> Iterator[Update]:
        """Lock the index for one update; without documents no index is created."""
        told, place = progress or (lambda step: None), self._place
        with ExitStack() as held:
            if is_needed or self.count():
                turn = place.updating(rebuild=self._rebuild, rows=rows)
                place = held.enter_context(turn)
            given = (self.embeddings, self._settings, told, self._actors, self._documents)
            yield Update(place, *given)
        self._rebuild = False

    def _vectors(self, queries: Sequence[str]) -> list[list[float]] | None:
        """Return the queries' vectors; None, without loading a model, if there is no index."""
        if (embedder := self._place.embedder()) is None:
            return None
        if self.embeddings is None or not embedder:
            raise SettingsError(
                "The index was built or opened without an embedding model",
                fix="Search it with the kind `bm25`, or give a model and rebuild the index: "
                "citeproof index --rebuild PATH.",
            )
        self._check_model(embedder)
        return embed_queries(self.embeddings, queries)

    def _check_model(self, held: str | None) -> None:
        fix = (
            "Set `embedding.model` to that model, or rebuild the index: "
            "citeproof index --rebuild PATH; in PostgreSQL, index under another "
            "`chroma.collection`."
        )
        if held is not None:
            check_model("The index", held, embedder_name(self.embeddings), fix)

    def _need_embeddings(self) -> Embeddings:
        is_of_words = self._settings.kind == "bm25" and not self._place.needs_vectors
        if self.embeddings is None or is_of_words:
            raise SettingsError(
                "Vectors cannot be indexed without an embedding model",
                why="questions could not be compared with them",
                fix="Set `embedding.model` to the model that they are from.",
            )
        return self.embeddings


def _refuse_errors(report: IndexReport) -> None:
    """Raise an `InputError` for the first document that could not be indexed."""
    for _, why in report.errors:
        raise InputError(why)
