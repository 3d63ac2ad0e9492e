"""Passages in PostgreSQL, searched by its full-text search and by pgvector.

A document and its passages are written in one transaction, so a reader sees either the old or the
new document, even if a writer dies. Needs PostgreSQL 14 or later with the extension pgvector.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from langchain_core.embeddings import Embeddings

from citeproof.errors import CiteproofError, MissingExtraError, StoreError
from citeproof.memory.base import Change, Mark, check_model, used_after_close
from citeproof.memory.documents import GONE
from citeproof.text import plain
from citeproof.tools.retrieval.embeddings import embed_queries, embedder_name, similarity_of
from citeproof.tools.retrieval.search_pool import Candidate, searchable
from citeproof.types import Passage

_log = logging.getLogger("citeproof")

_PATIENCE = 10.0
"""Seconds to wait for a connection."""
_LEAST_REACH, _MOST_REACH = 100, 1000
"""Bounds of the number of rows that a vector search examines (`hnsw.ef_search`). These include rows
that were deleted but not vacuumed yet. The upper bound is pgvector's."""
_TABLES = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA IF NOT EXISTS citeproof;
CREATE TABLE IF NOT EXISTS {documents} (name text PRIMARY KEY, mark jsonb NOT NULL);
CREATE TABLE IF NOT EXISTS {passages} (
    id text PRIMARY KEY,
    document text NOT NULL REFERENCES {documents} ON DELETE CASCADE,
    passage jsonb NOT NULL,
    words tsvector NOT NULL,
    vector vector({dimension}) NOT NULL
);
CREATE INDEX IF NOT EXISTS {by_hash} ON {documents} ((mark->>'hash'));
CREATE INDEX IF NOT EXISTS {by_document} ON {passages} (document);
CREATE INDEX IF NOT EXISTS {by_words} ON {passages} USING gin (words);
CREATE INDEX IF NOT EXISTS {by_vector} ON {passages} USING hnsw (vector {by_distance});
"""
_SEARCH = """
WITH question AS (
    SELECT replace(plainto_tsquery('english', %(query)s)::text, '&', '|')::tsquery AS words
), found AS (
    (SELECT id FROM {passages}, question
     WHERE {passages}.words @@ question.words AND %(by_words)s
     ORDER BY ts_rank_cd({passages}.words, question.words, 1) DESC, id LIMIT %(depth)s)
    UNION
    (SELECT id FROM {passages} WHERE %(vector)s::vector IS NOT NULL
     ORDER BY vector {distance} %(vector)s::vector LIMIT %(depth)s)
)
SELECT id, coalesce({nearest} - (vector {distance} %(vector)s::vector), 0),
       CASE WHEN %(by_words)s THEN ts_rank_cd({passages}.words, question.words, 1) ELSE 0 END
FROM found JOIN {passages} USING (id), question ORDER BY 2 DESC, 3 DESC, 1
"""
_MARKS = """
SELECT name, mark FROM {documents}
WHERE (%(names)s::text[] IS NULL OR name = ANY(%(names)s))
AND (%(hashes)s::text[] IS NULL OR mark->>'hash' = ANY(%(hashes)s))
"""
_HELD = "SELECT id, document, passage FROM {passages} WHERE id = ANY(%(ids)s)"
_PASSAGES = """
SELECT passage, CASE WHEN %(vectors)s THEN vector::text END FROM {passages}
WHERE %(name)s::text IS NULL OR document = %(name)s OR passage->>'source' = %(name)s
"""
_COUNT = "SELECT count(*) FROM {passages} WHERE %(name)s::text IS NULL OR document = %(name)s"
_INSERT = """
INSERT INTO {passages} VALUES (%s, %s, %s::jsonb, to_tsvector('english', %s), %s::vector)
ON CONFLICT (id) DO UPDATE SET document = excluded.document, passage = excluded.passage,
words = excluded.words, vector = excluded.vector
"""
_MARK = """
INSERT INTO {documents} VALUES (%s, %s::jsonb)
ON CONFLICT (name) DO UPDATE SET mark = excluded.mark
"""
_CLEAR = "DELETE FROM {passages} WHERE document = ANY(%s) AND id <> ALL(%s)"
_IS_GONE = f"mark->>'hash' = '{GONE}'"


class PostgresPassages:
    """A `PassageStore` of two tables: the passages, and the marks of documents.

    It connects when needed, and reconnects after the server was unavailable.

    Args:
        url: The URL of the database, such as `postgresql://user@host/database`.
        embeddings: The embedding model of the vectors.
        collection: The name of the table in the schema `citeproof`.

    Raises:
        MissingExtraError: psycopg is not installed.
    """

    needs_vectors = True

    def __init__(self, url: str, embeddings: Embeddings, collection: str = "passages") -> None:
        what = "A PostgreSQL index needs packages of its own"
        with MissingExtraError.unless_installed("postgres", what):
            from psycopg.sql import SQL, Identifier
            from psycopg_pool import ConnectionPool
        parts = urlsplit(url)
        self._where = f"{parts.hostname or 'this machine'}{parts.path}"
        self._embeddings = embeddings
        self._sql = SQL
        by = ("by_hash", "by_document", "by_words", "by_vector")
        is_inner = similarity_of(embeddings) == "inner_product"
        self._names: dict[str, Any] = {
            "passages": Identifier("citeproof", collection),
            "documents": Identifier("citeproof", f"{collection}_documents"),
            **{name: Identifier(f"{collection}_{name}") for name in by},
            "distance": SQL("<#>" if is_inner else "<=>"),
            "by_distance": SQL("vector_ip_ops" if is_inner else "vector_cosine_ops"),
            "nearest": SQL("0" if is_inner else "1"),
        }
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=8,
            timeout=_PATIENCE,
            reconnect_timeout=_PATIENCE,
            check=ConnectionPool.check_connection,
            open=False,
        )
        # The pool logs each attempt to connect; our error reports the outcome.
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)

    @contextmanager
    def updating(self, *, rebuild: bool, rows: int = 0) -> Iterator[PostgresPassages]:
        """Hold the exclusive right to change the passages, and yield the store to write to."""
        name = embedder_name(self._embeddings)
        dimension = len(embed_queries(self._embeddings, ["length"])[0])
        with self._using() as connection:
            # Concurrent creation of the same table fails, even with IF NOT EXISTS.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('citeproof'))")
            connection.execute(self._fill(_TABLES, dimension=dimension))
            if (held := self._comment(connection)) is None:
                comment = "COMMENT ON TABLE {passages} IS {name}"
                connection.execute(self._fill(comment, name=name))
        fix = "Set `embedding.model` to that model, or `chroma.collection` to another name."
        check_model(f"The index {self._where}", name if held is None else held, name, fix)
        mine = [f"citeproof {self._names['passages']}"]
        with self._using() as turn:
            lock = "SELECT pg_try_advisory_xact_lock(hashtext(%s))"
            if not turn.execute(lock, mine).fetchone()[0]:
                _log.warning("Waiting: another process updates the index in %s.", self._where)
                turn.execute(lock.replace("_try", ""), mine)
            yield self

    def write(self, changes: Iterable[Change], embedder: str) -> None:
        """Write changes in one transaction."""
        with self._using() as connection, connection.cursor() as cursor:
            for change in changes:
                marks = {**change.begun, **(change.ended or {})}
                named = [(name, json.dumps(dict(mark))) for name, mark in marks.items()]
                rows = [
                    (one.id, name, one.model_dump_json(), searchable(one), _literal(vector))
                    for (name, one), vector in zip(change.rows, change.vectors or (), strict=True)
                ]
                cursor.executemany(self._fill(_MARK), named)
                cursor.execute(self._fill(_CLEAR), [list(change.emptied), list(change.kept)])
                cursor.executemany(self._fill(_INSERT), rows)
                cursor.execute(self._fill(f"DELETE FROM {{documents}} WHERE {_IS_GONE}"))

    def embedder(self) -> str | None:
        """Return the name of the vectors' model; None if there is no index."""
        with self._using() as connection:
            return self._comment(connection)

    def marks(
        self, names: list[str] | None = None, *, hashes: list[str] | None = None
    ) -> dict[str, Mark]:
        """Return the marks of documents: of all, or those with these names or hashes."""
        return dict(self._all(_MARKS, {"names": names, "hashes": hashes}))

    def held(self, ids: list[str]) -> dict[str, tuple[str, Passage]]:
        """Return passages by id in the given order, each with its document."""
        rows = self._all(_HELD, {"ids": ids})
        found = {key: (name, Passage.model_validate(data)) for key, name, data in rows}
        return {key: found[key] for key in ids if key in found}

    def passages(
        self, document: str | None = None, *, with_vectors: bool = False
    ) -> Iterator[tuple[Passage, Any]]:
        """Yield all passages, or those of a document or a source, each with its vector or None."""
        for data, vector in self._all(_PASSAGES, {"name": document, "vectors": with_vectors}):
            yield Passage.model_validate(data), vector and json.loads(vector)

    def count(self, document: str | None = None) -> int:
        """Count all passages, or those of a document."""
        return sum(number for (number,) in self._all(_COUNT, {"name": document}))

    def candidates(
        self, queries: Sequence[str], vectors: Sequence[Any] | None, depth: int, *, words: bool
    ) -> list[list[Candidate]]:
        """Return for each query the top `depth` passages by vector and the top `depth` by words."""
        found = []
        with self._using() as connection:
            reach = str(min(max(2 * depth, _LEAST_REACH), _MOST_REACH))
            connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", [reach])
            for query, vector in zip(queries, vectors or [None] * len(queries), strict=True):
                given = {"query": query, "depth": depth, "by_words": words}
                given["vector"] = vector and _literal(vector)
                rows = connection.execute(self._fill(_SEARCH), given)
                found.append([Candidate(*row) for row in rows])
        return found

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()

    def _all(self, query: str, values: dict[str, Any]) -> list[Any]:
        """Return the rows of a query; none if there is no index yet."""
        with self._using() as connection:
            if self._comment(connection) is None:
                return []
            return list(connection.execute(self._fill(query), values))

    def _comment(self, connection: Any) -> str | None:
        """Return the embedding model, a comment on the table of passages; None without a table."""
        table = self._names["passages"].as_string(connection)
        row = connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [table])
        return row.fetchone()[0]  # type: ignore[no-any-return]

    def _fill(self, text: str, **more: Any) -> Any:
        return self._sql(text).format(**self._names, **more)

    @contextmanager
    def _using(self) -> Iterator[Any]:
        """Yield a connection for one transaction."""
        import psycopg
        from psycopg_pool import PoolClosed, PoolTimeout

        try:
            self._pool.open()
            with self._pool.connection() as connection:
                yield connection
        except CiteproofError:
            raise
        except PoolClosed as error:
            raise used_after_close(f"The index in {self._where}") from error
        except psycopg.errors.UndefinedTable as error:
            raise StoreError(
                f"There is no index in {self._where}", fix="Make one: citeproof index DOCS."
            ) from error
        except (PoolTimeout, psycopg.OperationalError) as error:
            raise StoreError(
                f"The PostgreSQL server of {self._where} does not answer",
                why=plain(str(error))[:300],
                fix="Start it, or correct `retriever.source`; what was indexed is kept.",
            ) from error
        except psycopg.Error as error:
            raise StoreError(
                f"The index in {self._where} cannot be used",
                why=plain(str(error))[:300],
                fix="It needs PostgreSQL with pgvector, and a user who may create tables.",
            ) from error


def _literal(vector: Sequence[float]) -> str:
    return json.dumps(list(map(float, vector)))
