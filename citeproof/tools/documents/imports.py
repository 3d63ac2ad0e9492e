"""Imports passages together with their vectors: from Python, JSONL with NumPy, or Parquet.

An import is split into pieces of `ROWS` passages, each a document of the index. A million passages
are thus read and stored piece by piece, and an interrupted import resumes where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from citeproof.errors import InputError, MissingExtraError
from citeproof.tools.documents.jsonl import read_object
from citeproof.tools.documents.sources import PIECE, Source, check_name
from citeproof.types import Passage

ROWS = 1000
"""Passages per piece."""


class Import(NamedTuple):
    """Passages with vectors, under one name."""

    name: str
    rows: int
    """Number of passages."""
    dimension: int
    """Length of a vector."""
    read: Callable[[], Iterator[Source]]
    """Reads the pieces lazily; raises `InputError`."""

    @property
    def pieces(self) -> list[str]:
        """The names of the pieces."""
        return [f"{self.name}{PIECE}{number:06}" for number in range(-(-self.rows // ROWS))]


def to_import(passages: Sequence[Passage], vectors: Any, name: str = "passages") -> Import:
    """Create an import from passages in memory and an array of shape (passages, dimension).

    Raises:
        InputError: The array does not hold one row of floats for each passage.
    """
    rows = _check(np.asanyarray(vectors), len(passages), "passages")
    return _beside(name, rows, lambda: iter(passages))


def open_batches(
    name: str, rows: int, dimension: int, batches: Callable[[], Iterator[tuple[list[Passage], Any]]]
) -> Import:
    """Create an import from batches of `ROWS` passages with vectors; the last may be smaller.

    `batches` is called once for each pass over them.
    """
    return Import(
        check_name(name),
        rows,
        dimension,
        lambda: (_piece(name, number, *batch) for number, batch in enumerate(batches())),
    )


def open_import(path: Path, vectors: str, name: str | None = None) -> Import:
    """Open a file of passages and their vectors; neither is read into memory as a whole.

    Args:
        path: JSON lines (objects with `text`, and optionally `id`, `title` and `source`), or a
            Parquet file with columns of these names.
        vectors: An .npy file with a float16 or float32 row for each passage; for Parquet, the
            name of the column that holds the vectors.
        name: The import's name in the index, by default the file's name.

    Raises:
        InputError: A file cannot be read, or the vectors do not match the passages.
        MissingExtraError: The file is Parquet, and pyarrow is not installed.
    """
    if not path.is_file():
        raise InputError(f"There is no file {path}", fix="Check the path.")
    known = check_name(name or path.name)
    if path.suffix.lower() == ".parquet":
        return _open_parquet(path, vectors, known)
    try:
        array = np.load(vectors, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"The vectors {vectors} cannot be read",
            why=str(error),
            fix="Name an .npy file, as numpy.save writes it.",
        ) from error
    with path.open("rb") as lines:
        count = sum(1 for line in lines if line.strip())
    return _beside(known, _check(array, count, f"lines of {path}"), partial(_read_lines, path))


def _beside(name: str, vectors: Any, read: Callable[[], Iterator[Passage]]) -> Import:
    def batches() -> Iterator[tuple[list[Passage], Any]]:
        passages = read()
        for place in range(0, len(vectors), ROWS):
            yield list(islice(passages, ROWS)), vectors[place : place + ROWS]

    rows, dimension = vectors.shape
    return open_batches(name, rows, dimension, batches)


def _piece(name: str, number: int, passages: list[Passage], vectors: Any) -> Source:
    first = number * ROWS + 1
    rows = np.asarray(vectors, np.float32)
    if not np.isfinite(rows).all():
        bad = first + int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise InputError(f"Vector {bad} of {name} cannot be stored", why="it is not finite")
    if len({passage.id for passage in passages}) < len(passages):
        raise InputError(
            f"Passages {first} to {first + len(passages) - 1} of {name} cannot be stored",
            why="two of them have the same id",
            fix="Give each passage an id of its own.",
        )

    def load() -> bytes:
        texts = "\n".join(passage.model_dump_json() for passage in passages)
        return texts.encode() + rows.tobytes()

    return Source(
        f"{name}{PIECE}{number:06}", "text", ".jsonl", load, lambda _: passages, vectors=rows
    )


def _check(vectors: Any, count: int, of: str) -> Any:
    """Return the vectors if they are one row of floats for each passage."""
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise InputError(
            "The vectors cannot be used",
            why=f"they are an array of shape {vectors.shape} of {vectors.dtype}",
            fix="Give a row of float16 or float32 for each passage.",
        )
    if len(vectors) != count:
        raise InputError(
            f"There are {len(vectors):,} vectors for {count:,} {of}",
            fix="Give a vector for each, in the same order.",
        )
    return vectors


def _read_lines(path: Path) -> Iterator[Passage]:
    with path.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                part = read_object(line, f"{path}, line {number}")
                yield _passage(vars(part), f"line {number}", path)


def _passage(row: Mapping[str, Any], place: str, path: Path) -> Passage:
    text, title, source, own = (
        "" if row.get(key) is None else str(row[key]) for key in ("text", "title", "source", "id")
    )
    if not text.strip():
        raise InputError(f"{path}, {place}, cannot be used", why="its text is empty")
    source = source or str(path)
    key = own or Passage.make_id(source, text)
    return Passage(id=key, text=text, title=title, source=source, end=len(text))


def _open_parquet(path: Path, column: str, name: str) -> Import:
    with MissingExtraError.unless_installed("parquet", "Parquet cannot be read"):
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    try:
        file = parquet.ParquetFile(path)
    except (OSError, arrow.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read", why=str(error)) from error
    names = file.schema_arrow.names
    if missing := [wanted for wanted in ("text", column) if wanted not in names]:
        raise InputError(
            f"{path} has no column {missing[0]!r}",
            fix=f"It has: {', '.join(names)}. --vectors names the one with the vectors.",
        )
    kept = [own for own in ("id", "text", "title", "source") if own in names]
    first = next(file.iter_batches(1, columns=[column]), None)
    dimension = len(first.column(0)[0].as_py() or ()) if first is not None else 0

    def rows() -> Iterator[tuple[Passage, Any]]:
        place = 0
        for batch in file.iter_batches(ROWS, columns=[*kept, column]):
            flat = np.asarray(batch.column(column).flatten())
            if flat.size != len(batch) * dimension:
                raise InputError(
                    f"{path} cannot be used", why=f"not every vector has {dimension} numbers"
                )
            vectors = flat.reshape(-1, dimension)
            for row, vector in zip(batch.select(kept).to_pylist(), vectors, strict=True):
                place += 1
                yield _passage(row, f"row {place}", path), vector

    def batches() -> Iterator[tuple[list[Passage], Any]]:
        found = rows()  # Arrow's batches follow the file's row groups and may be shorter
        while some := list(islice(found, ROWS)):
            yield [passage for passage, _ in some], np.stack([vector for _, vector in some])

    return open_batches(name, file.metadata.num_rows, dimension, batches)
