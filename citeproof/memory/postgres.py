"""Passages in PostgreSQL: searched by its full text and by pgvector, fused in one query.

A document and its passages are written in one transaction, so that it is there as a whole or as it
was before, whoever reads meanwhile and wherever a writer dies. Needs PostgreSQL 14 or later with
the extension pgvector.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from langchain_core.embeddings import Embeddings

from citeproof.errors import (
    CiteproofError,
    DocumentError,
    InputError,
    MissingExtraError,
    RetrievalError,
    StoreError,
)
from citeproof.memory.documents import VERSION, IndexedDocument, match
from citeproof.memory.ingest import IndexReport, Progress, Step
from citeproof.settings import RetrieverSettings
from citeproof.tools.documents.base import Document
from citeproof.tools.documents.files import find, find_gone
from citeproof.tools.documents.imports import Import, to_import
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.sources import PIECE, Source, file_source
from citeproof.tools.retrieval import check_k
from citeproof.tools.retrieval.embeddings import (
    embed_queries,
    embed_texts,
    embedder_name,
    similarity_of,
)
from citeproof.tools.retrieval.search_pool import searchable
from citeproof.tools.web import Web, is_url
from citeproof.types import Passage

__all__ = ["PostgresIndex"]

_DEPTH = 10
"""Candidates of each search, as a multiple of k."""
_LEAST_DEPTH = 50
_RANK = 60
"""Dampens ranks where they are fused (Cormack et al. 2009)."""
_PATIENCE = 10.0
"""Seconds to wait for a connection."""
_TABLES = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA IF NOT EXISTS citeproof;
CREATE TABLE IF NOT EXISTS {documents} (
    name text PRIMARY KEY, hash text NOT NULL, indexed timestamptz DEFAULT now()
);
CREATE TABLE IF NOT EXISTS {passages} (
    id text PRIMARY KEY,
    document text NOT NULL REFERENCES {documents} ON DELETE CASCADE,
    passage jsonb NOT NULL,
    words tsvector NOT NULL,
    vector vector({dimension}) NOT NULL
);
CREATE INDEX IF NOT EXISTS {by_document} ON {passages} (document);
CREATE INDEX IF NOT EXISTS {by_words} ON {passages} USING gin (words);
CREATE INDEX IF NOT EXISTS {by_vector} ON {passages} USING hnsw (vector {by_distance});
"""
_SEARCH = """
WITH question AS (
    SELECT replace(plainto_tsquery('english', %(query)s)::text, '&', '|')::tsquery AS words
), by_words AS (
    SELECT id, row_number() OVER (ORDER BY score DESC, id) AS place FROM (
        SELECT id, ts_rank_cd({passages}.words, question.words, 1) AS score
        FROM {passages}, question
        WHERE {passages}.words @@ question.words AND %(kind)s <> 'dense'
        ORDER BY score DESC, id LIMIT %(depth)s
    ) AS found
), by_vector AS (
    SELECT id, row_number() OVER (ORDER BY distance, id) AS place FROM (
        SELECT id, vector {distance} %(vector)s::vector AS distance FROM {passages}
        WHERE %(kind)s <> 'bm25'
        ORDER BY vector {distance} %(vector)s::vector LIMIT %(depth)s
    ) AS found
), fused AS (
    SELECT id, sum(1.0 / (%(rank)s + place)) AS score
    FROM (SELECT * FROM by_words UNION ALL SELECT * FROM by_vector) AS both_ways
    GROUP BY id ORDER BY score DESC, id LIMIT %(k)s
)
SELECT passage FROM fused JOIN {passages} USING (id) ORDER BY score DESC, id
"""


class PostgresIndex:
    """An index of passages in a database, and a retriever over it. Threads may share it.

    Connections are made when they are needed, and again after the server was away. Its writing
    methods raise `StoreError` where the database cannot be used, and block.

    Args:
        url: As in `postgresql://user@host/database`.
        settings: The kind of search, and how documents are cut.
        embeddings: What the vectors are from.
        collection: Name of the table in the schema `citeproof`.

    Raises:
        MissingExtraError: psycopg is not installed.
    """

    def __init__(
        self,
        url: str,
        settings: RetrieverSettings,
        embeddings: Embeddings,
        *,
        collection: str = "passages",
    ) -> None:
        try:
            from psycopg.sql import SQL, Identifier, Literal
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise MissingExtraError(
                "A PostgreSQL index needs psycopg, which is not installed",
                fix='Run: pip install "citeproof[postgres]"',
            ) from error
        self._settings = settings
        self._embeddings = embeddings
        parts = urlsplit(url)
        self._where = f"{parts.hostname or 'this machine'}{parts.path}"
        self._sql, self._literal = SQL, Literal
        self._names: dict[str, Any] = {
            name: Identifier("citeproof", f"{collection}{ending}")
            for name, ending in (("passages", ""), ("documents", "_documents"))
        }
        self._names |= {
            name: Identifier(f"{collection}_{name}")
            for name in ("by_document", "by_words", "by_vector")
        }
        inner = similarity_of(embeddings) == "inner_product"
        self._names["distance"] = SQL("<#>" if inner else "<=>")
        self._names["by_distance"] = SQL("vector_ip_ops" if inner else "vector_cosine_ops")
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=8,
            timeout=_PATIENCE,
            reconnect_timeout=_PATIENCE,
            check=ConnectionPool.check_connection,
            open=False,
        )
        self._opening = threading.Lock()
        # It tells of each attempt to connect; what comes of it is told by our error.
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)

    @property
    def embeddings(self) -> Embeddings:
        """What makes vectors."""
        return self._embeddings

    async def retrieve(self, query: str, k: int) -> list[Passage]:
        """At most `k` passages, the best first; none for an empty query.

        Raises:
            InputError: `k` is less than 1.
            RetrievalError: The database cannot be reached, or has no index.
        """
        check_k(k)
        if not query.strip():
            return []
        try:
            return await asyncio.to_thread(self._search, query, k)
        except StoreError as error:
            raise RetrievalError(error.what, why=error.why, fix=error.fix) from error

    def add(
        self,
        passages: Sequence[Passage],
        vectors: Any = None,
        *,
        name: str = "passages",
        progress: Progress | None = None,
    ) -> IndexReport:
        """Store passages as they are, in place of what had this name.

        Args:
            passages: Each with an id of its own.
            vectors: An array of shape (passages, dimension); by default they are embedded.
            name: What they are known by.
            progress: Called with each step.

        Raises:
            InputError: Vectors and passages, or vectors and embedding model, do not fit.
        """
        if vectors is None:
            vectors = embed_texts(self._embeddings, list(map(searchable, passages)))
        return self.add_import(to_import(passages, vectors, name), progress=progress)

    def add_import(self, given: Import, *, progress: Progress | None = None) -> IndexReport:
        """Index passages that come with vectors, in place of what had the import's name."""
        dimension = self._prepare()
        if given.dimension != dimension:
            raise InputError(
                f"The vectors of {given.name} do not fit the embedding model",
                why=f"they have {given.dimension} numbers, and not {dimension}",
                fix="Set `embedding.model` to the model that the vectors are from.",
            )
        held = [name for name in self._marks() if name.partition(PIECE)[0] == given.name]
        gone = sorted(set(held) - set(given.pieces))
        return self._write(given.read(), gone, progress)

    def update(
        self,
        documents: Sequence[Path | str],
        *,
        web: Web | None = None,
        follow_links: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Bring the index in line with files and folders; only what changed is read again.

        Raises:
            InputError: A document is a page of the web.
        """
        if any(is_url(str(one)) for one in documents):
            raise InputError(
                "Pages of the web cannot be indexed in PostgreSQL",
                fix="Save them, and index the files.",
            )
        self._prepare()
        found = find(list(map(Path, documents)), follow_links=follow_links)
        gone = list(find_gone(self._marks(), found))
        report = self._write(map(file_source, found.files), gone, progress)
        skipped, errors = tuple(map(str, found.skipped)), tuple(report.errors)
        errors += tuple((str(path), why) for path, why in found.errors if str(path) not in gone)
        return IndexReport(**{**vars(report), "skipped": skipped, "errors": errors})

    def add_sources(
        self, sources: Sequence[Source], *, progress: Progress | None = None
    ) -> IndexReport:
        """Index documents that are neither files nor pages."""
        self._prepare()
        return self._write(sources, (), progress)

    def documents(self) -> list[IndexedDocument]:
        """The documents, by name; the pieces of an import count as one."""
        counts = self._fill(
            "SELECT split_part(name, {piece}, 1), max(indexed), sum((SELECT count(*) "
            "FROM {passages} WHERE document = name)) FROM {documents} GROUP BY 1 ORDER BY 1",
            piece=self._literal(PIECE),
        )
        return [
            IndexedDocument(
                document=name,
                origin="file" if Path(name).is_absolute() else "text",
                kind=Path(name).suffix.removeprefix("."),
                passages=int(passages),
                indexed=indexed,
            )
            for name, indexed, passages in self._rows(counts)
        ]

    def remove(self, names: Sequence[Path | str]) -> list[str]:
        """Remove documents: files, all in a folder, and texts and imports by their names.

        Raises:
            InputError: One is not in the index; then nothing is removed.
        """
        chosen = match(list(map(str, names)), self._marks())
        self._drop(chosen)
        return chosen

    def retriever(self) -> PostgresIndex:
        """What searches the index: itself."""
        return self

    def count(self) -> int:
        """How many passages there are."""
        return sum(rows for (rows,) in self._rows(self._fill("SELECT count(*) FROM {passages}")))

    def get(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in this order; unknown ids are left out."""
        query = self._fill("SELECT passage FROM {passages} WHERE id = ANY(%s)")
        held = {one.id: one for one in self._read(query, [list(ids)])}
        return [held[key] for key in ids if key in held]

    def document(self, name: str) -> list[Passage]:
        """The passages of a document, by its path or its source, in its order; none if unknown."""
        select = "SELECT passage FROM {passages} WHERE "
        found = self._read(self._fill(select + "document = %s"), [name])
        found = found or self._read(self._fill(select + "passage ->> 'source' = %s"), [name])
        return sorted(found, key=lambda one: (one.source, one.page or 0, one.start))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _read(self, query: Any, values: Sequence[Any]) -> list[Passage]:
        return [Passage.model_validate(data) for (data,) in self._rows(query, values)]

    def _rows(self, query: Any, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a query; none where there is no index yet."""
        table = self._names["passages"]
        with self._using() as connection:
            look = "SELECT to_regclass(%s) IS NOT NULL"
            [is_there] = connection.execute(look, [table.as_string(connection)]).fetchone()
            return list(connection.execute(query, values)) if is_there else []

    def _search(self, query: str, k: int) -> list[Passage]:
        kind, depth = self._settings.kind, max(_LEAST_DEPTH, _DEPTH * k)
        vector = None
        if kind != "bm25":
            vector = json.dumps(embed_queries(self._embeddings, [query])[0])
        values: dict[str, Any] = {"query": query, "vector": vector, "kind": kind}
        values |= {"k": k, "depth": depth, "rank": _RANK}
        reach = str(min(depth, 1000))  # pgvector's own limit
        with self._using() as connection:
            if vector is not None:
                self._check_model(connection)
            connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", [reach])
            rows = connection.execute(self._fill(_SEARCH), values).fetchall()
        return [Passage.model_validate(data) for (data,) in rows]

    def _prepare(self) -> int:
        """Make the tables if need be, and give the length of the embedding model's vectors."""
        dimension = len(embed_queries(self._embeddings, ["length"])[0])
        with self._using() as connection:
            # Two that make the same table at once are in each other's way, also with IF NOT EXISTS.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('citeproof'))")
            connection.execute(self._fill(_TABLES, dimension=self._literal(dimension)))
            if self._check_model(connection) is None:
                name = self._literal(embedder_name(self._embeddings))
                connection.execute(self._fill("COMMENT ON TABLE {passages} IS {name}", name=name))
        return dimension

    def _check_model(self, connection: Any) -> str | None:
        """The model that the vectors are from, if there are any; a `StoreError` for another one."""
        table, name = self._names["passages"], embedder_name(self._embeddings)
        look = "SELECT obj_description(to_regclass(%s), 'pg_class')"
        [held] = connection.execute(look, [table.as_string(connection)]).fetchone()
        if held not in (None, name):
            raise StoreError(
                f"The index {self._where} does not fit the model",
                why=f"its vectors are from {held}, and the settings say {name}",
                fix="Set `embedding.model` to that model, or `chroma.collection` to another name.",
            )
        return None if held is None else str(held)

    def _marks(self) -> dict[str, str]:
        with self._using() as connection:
            return dict(connection.execute(self._fill("SELECT name, hash FROM {documents}")))

    def _write(
        self, sources: Iterable[Source], gone: Sequence[str], progress: Progress | None
    ) -> IndexReport:
        told, marks = progress or (lambda step: None), self._marks()
        done: dict[str, list[Any]] = {name: [] for name in ("added", "updated", "unchanged")}
        done |= {"errors": [], "problems": []}
        self._drop(gone)
        for source in sources:
            told(Step(source.name, "reading"))
            try:
                data = source.load()
                mark = self._mark(source, data)
                if marks.get(source.name) == mark:
                    done["unchanged"].append(source.name)
                    told(Step(source.name, "done"))
                    continue
                parsed = source.read(data)
            except (DocumentError, MissingExtraError) as error:
                done["errors"].append((source.name, str(error)))
                told(Step(source.name, "done"))
                continue
            passages = self._passages(parsed)
            if isinstance(parsed, Document):
                done["problems"] += [(source.name, problem) for problem in parsed.problems]
            self._store(source, mark, passages)
            done["updated" if source.name in marks else "added"].append(source.name)
            told(Step(source.name, "done", len(passages), len(passages)))
        lists = {name: tuple(own) for name, own in done.items()}
        return IndexReport(removed=tuple(gone), passages=self.count(), **lists)

    def _drop(self, names: Sequence[str]) -> None:
        with self._using() as connection:
            drop = self._fill("DELETE FROM {documents} WHERE name = ANY(%s)")
            connection.execute(drop, [list(names)])

    def _mark(self, source: Source, data: bytes) -> str:
        cutting = f"{VERSION}|{self._settings.passage_words}|{source.kind}|"
        return hashlib.sha256(cutting.encode() + data).hexdigest()

    def _passages(self, parsed: Document | list[Passage]) -> list[Passage]:
        if isinstance(parsed, list):
            return parsed
        return cut(parsed, self._settings.passage_words)

    def _store(self, source: Source, mark: str, passages: Sequence[Passage]) -> None:
        """Put a document in the place of what it was."""
        texts = list(map(searchable, passages))
        vectors = source.vectors
        if vectors is None:
            fix = "What is indexed so far is kept; run the same again to go on."
            vectors = embed_texts(self._embeddings, texts, fix=fix)
        rows = (
            (one.id, source.name, one.model_dump_json(), text, json.dumps(list(map(float, vector))))
            for one, text, vector in zip(passages, texts, vectors, strict=True)
        )
        with self._using() as connection:
            connection.execute(
                self._fill(
                    "INSERT INTO {documents} VALUES (%s, %s) ON CONFLICT (name) "
                    "DO UPDATE SET hash = excluded.hash, indexed = now()"
                ),
                [source.name, mark],
            )
            connection.execute(
                self._fill("DELETE FROM {passages} WHERE document = %s"), [source.name]
            )
            with connection.cursor() as cursor:
                cursor.executemany(
                    self._fill(
                        "INSERT INTO {passages} "
                        "VALUES (%s, %s, %s::jsonb, to_tsvector('english', %s), %s::vector) "
                        "ON CONFLICT (id) DO UPDATE SET document = excluded.document, "
                        "passage = excluded.passage, words = excluded.words, "
                        "vector = excluded.vector"
                    ),
                    rows,
                )

    def _fill(self, text: str, **more: Any) -> Any:
        return self._sql(text).format(**self._names, **more)

    @contextmanager
    def _using(self) -> Iterator[Any]:
        """A connection for one transaction."""
        import psycopg
        from psycopg_pool import PoolTimeout

        with self._opening:
            self._pool.open()
        try:
            with self._pool.connection() as connection:
                yield connection
        except CiteproofError:
            raise
        except psycopg.errors.UndefinedTable as error:
            raise StoreError(
                f"There is no index in {self._where}", fix="Make one: citeproof index DOCS."
            ) from error
        except (PoolTimeout, psycopg.OperationalError) as error:
            raise StoreError(
                f"The PostgreSQL server of {self._where} does not answer",
                why=_line(error),
                fix="Start it, or correct `retriever.source`; what was indexed is kept.",
            ) from error
        except psycopg.Error as error:
            raise StoreError(
                f"The index in {self._where} cannot be used",
                why=_line(error),
                fix="It needs PostgreSQL with pgvector, and a user who may make tables.",
            ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
