"""Searches by words: BM25 over stemmed words, in SQLite's FTS5.

Rows are added and deleted one by one, so the cost of a new document does not grow with the index.
Processes that share the file see each other's changes immediately.

A table counts the rows that have each word, since FTS5 itself would first read all places of all
words of a query. If these are too many, candidates are found by the rarer words only, and ranked by
all words. So a search costs about the same however many rows there are.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from citeproof.errors import StoreError
from citeproof.tools.sentences import MARKS, UNSPACED, stems

# Scripts without spaces are searched character by character.
_TOKEN = re.compile(rf"[{UNSPACED}]|(?:[^\W{UNSPACED}][{MARKS}]*)+")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their "
        "then there these they this to was will with",
    )
)
_VERSION = 2
"""Increases when the tokens or tables change, so that files of other versions are rebuilt."""
_TABLES = f"""
    CREATE TABLE note (text TEXT, rows INTEGER, tokens INTEGER);
    INSERT INTO note VALUES ('', 0, 0);
    CREATE TABLE frequency (token TEXT PRIMARY KEY, rows INTEGER) WITHOUT ROWID;
    CREATE TABLE row (number INTEGER PRIMARY KEY, id TEXT UNIQUE, document TEXT, tokens TEXT);
    CREATE INDEX row_document ON row (document);
    CREATE VIRTUAL TABLE word USING fts5(
        tokens, content=row, content_rowid=number, tokenize="ascii tokenchars '_'"
    );
    PRAGMA user_version = {_VERSION};
"""
_BEST = """
    SELECT row.id, row.tokens
    FROM (SELECT rowid, rank FROM word WHERE word MATCH ? ORDER BY rank LIMIT ?)
    JOIN row ON row.number = rowid ORDER BY rank
"""
_MOST_ROWS = 50_000
"""Most rows that a search looks at; if all words of a query are frequent, those of one word."""
_DEPTH = 200
"""Fewest candidates if they are found by the rarer words only."""
_K1, _B = 1.2, 0.75
"""BM25's parameters, as in FTS5."""
_CACHE = 64 * 1024
"""KB of the file that a process keeps in memory."""
_WAIT = 60.0
"""Seconds that a process waits for the change of another one."""


class Row(NamedTuple):
    """A text that is found by its words."""

    id: str
    document: str
    """The document that it is part of; rows are deleted by document."""
    text: str


class Words:
    """Texts by their words; threads may share an instance.

    Words are folded to lower case without accents and stemmed; English stop words are dropped.

    Args:
        path: The file, which is created if missing and rebuilt if damaged; None keeps all in
            memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.RLock()
        with self._errors(), self._hold_file():
            self._db = self._connect()
            try:
                self._prepare()
            except sqlite3.DatabaseError as error:
                if path is None or isinstance(error, sqlite3.OperationalError):
                    raise  # it is locked, or the disk is full
                self._db.close()
                path.unlink()
                self._db = self._connect()
                self._prepare()

    @property
    def note(self) -> str:
        """The last note of `change`; empty at first."""
        with self._lock, self._errors():
            return str(self._db.execute("SELECT text FROM note").fetchone()[0])

    def change(self, documents: Iterable[str], rows: Iterable[Row], note: str = "") -> None:
        """Replace all rows of these documents by other rows, in one transaction.

        The new rows also replace rows of other documents with the same id. The note is stored with
        the change.
        """
        with self._lock, self._errors(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            gone = [text for name in documents for text in self._delete("document", name)]
            added = []
            for row in rows:
                gone += self._delete("id", row.id)
                added.append(self._insert(row))
            self._count(gone, -1)
            self._count(added, 1)
            if note:
                self._db.execute("UPDATE note SET text = ?", [note])

    def clear(self) -> None:
        """Delete all rows and the note."""
        with self._lock, self._errors():
            self._make_tables()

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """Return the k best texts that share a word with the query, and their scores."""
        with self._snapshot():
            frequencies = self._frequencies(query)
            if not frequencies:
                return []
            chosen: list[str] = []
            looked_at = 0
            for token, rows in sorted(frequencies.items(), key=lambda one: one[1]):
                looked_at += rows
                if chosen and looked_at > _MOST_ROWS:
                    break
                chosen.append(f'"{token}"')
            depth = k if len(chosen) == len(frequencies) else max(_DEPTH, 4 * k)
            found = self._db.execute(_BEST, [" OR ".join(chosen), depth]).fetchall()
            score = self._scorer(frequencies)
        scored = [(key, score(text)) for key, text in found]
        return sorted(scored, key=lambda pair: pair[1], reverse=True)[:k]

    def scores(self, query: str, ids: Collection[str]) -> dict[str, float]:
        """Return the scores of texts by id; those without a word of the query are left out."""
        with self._snapshot():
            score = self._scorer(self._frequencies(query))
            found = [
                row
                for key in ids
                for row in self._db.execute("SELECT id, tokens FROM row WHERE id = ?", [key])
            ]
        scored = ((key, score(text)) for key, text in found)
        return {key: value for key, value in scored if value > 0}

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _scorer(self, frequencies: Mapping[str, int]) -> Callable[[str], float]:
        """Return a function that computes the BM25 of a row's tokens as FTS5 does.

        `frequencies` says how many rows have each word of the query.
        """
        rows, total = self._db.execute("SELECT rows, tokens FROM note").fetchone()
        mean = total / max(rows, 1)
        weights = {
            token: max(math.log((rows - held + 0.5) / (held + 0.5)), 1e-6)
            for token, held in frequencies.items()
        }

        def score(text: str) -> float:
            held = text.split()
            counts = Counter(token for token in held if token in weights)
            damping = _K1 * (1 - _B + _B * len(held) / max(mean, 1e-9))
            parts = (weights[one] * n * (_K1 + 1) / (n + damping) for one, n in counts.items())
            return float(sum(parts))

        return score

    def _frequencies(self, query: str) -> dict[str, int]:
        """Return the query's words that occur, with the number of rows that have them."""
        find = "SELECT token, rows FROM frequency WHERE token = ? AND rows > 0"
        return dict(
            row for token in dict.fromkeys(tokens(query)) for row in self._db.execute(find, [token])
        )

    def _insert(self, row: Row) -> str:
        """Insert a row whose id is free, and return its tokens."""
        text = " ".join(tokens(row.text))
        insert = "INSERT INTO row (id, document, tokens) VALUES (?, ?, ?)"
        number = self._db.execute(insert, [row.id, row.document, text]).lastrowid
        self._db.execute("INSERT INTO word (rowid, tokens) VALUES (?, ?)", [number, text])
        return text

    def _delete(self, column: str, value: str) -> list[str]:
        """Delete the rows with this value, and return the tokens of each."""
        found = f"SELECT number, tokens FROM row WHERE {column} = ?"
        rows = self._db.execute(found, [value]).fetchall()
        # FTS5 keeps no copy of the texts, so it needs the tokens to forget.
        forget = "INSERT INTO word (word, rowid, tokens) VALUES ('delete', ?, ?)"
        self._db.executemany(forget, rows)
        self._db.execute(f"DELETE FROM row WHERE {column} = ?", [value])
        return [text for _, text in rows]

    def _count(self, texts: Sequence[str], sign: int) -> None:
        """Update the counts for rows that are added, or deleted if the sign is -1."""
        split = [text.split() for text in texts]
        changes = Counter(token for held in split for token in set(held))
        self._db.executemany(
            "INSERT INTO frequency VALUES (?, ?) "
            "ON CONFLICT (token) DO UPDATE SET rows = rows + excluded.rows",
            [(token, sign * count) for token, count in sorted(changes.items())],
        )
        self._db.execute(
            "UPDATE note SET rows = rows + ?, tokens = tokens + ?",
            [sign * len(texts), sign * sum(map(len, split))],
        )

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Read a single state of the file, whatever other processes change meanwhile."""
        with self._lock, self._errors(), self._db:
            self._db.execute("BEGIN")
            yield

    @contextmanager
    def _hold_file(self) -> Iterator[None]:
        """Keep other processes from opening the file meanwhile."""
        if self._path is None:
            yield
            return

        self._path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite does not wait if two processes switch a new file to WAL: "database is locked".
        with FileLock(f"{self._path}.lock", timeout=_WAIT):
            yield

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self._path or ":memory:", timeout=_WAIT, isolation_level=None, check_same_thread=False
        )

    def _prepare(self) -> None:
        if self._path is not None:
            self._db.execute("PRAGMA journal_mode = WAL")  # searches never wait
            self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(f"PRAGMA cache_size = -{_CACHE}")
        if self._db.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            self._make_tables()

    def _make_tables(self) -> None:
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for table in ("note", "frequency", "row", "word"):
                self._db.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in _TABLES.split(";"):
                self._db.execute(statement)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"The words in {self._path or 'memory'} cannot be used",
                why=str(error),
                fix="Make sure that you may write there, and that the disk is not full. You may "
                "delete the file; it is then rebuilt.",
            ) from error


def tokens(text: str) -> list[str]:
    """Return the searchable form of a text: its words, folded and stemmed, without stop words."""
    found = _TOKEN.findall(_fold(text.lower()))
    return stems(word for word in found if word not in _STOP_WORDS)


def _fold(text: str) -> str:
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", re.sub(r"[\u0300-\u036f]", "", parts))
