"""Where runs and conversations are kept step by step: a file of the store, or PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from citeproof.errors import MissingExtraError, StoreError

if TYPE_CHECKING:
    from citeproof.settings import Settings

_PATIENCE = 10
"""Seconds that PostgreSQL may take to answer."""


async def _no_rows(_: str) -> list[tuple[Any, ...]]:
    return []


class Opened(NamedTuple):
    """A checkpointer that is open."""

    saver: Any
    """LangGraph's."""
    rows: Callable[[str], Awaitable[list[tuple[Any, ...]]]] = _no_rows
    """The rows of a query to its tables, in SQL that both databases know."""


@dataclass(frozen=True)
class Checkpoints:
    """The checkpointer that the setting `checkpointer` names.

    Args:
        folder: Of the store; the file is `threads.sqlite` in it.
        where: `sqlite`, or the address of a PostgreSQL database.
    """

    folder: Path
    where: str = "sqlite"

    @classmethod
    def of(cls, settings: Settings) -> Checkpoints:
        """Those of these settings."""
        return cls(settings.chroma.path, settings.checkpointer)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Opened]:
        """Open it for the block, and make its tables where there are none.

        Raises:
            MissingExtraError: The checkpointer's package is not installed.
            StoreError: It cannot be reached, read or written.
        """
        opening = self._file() if self.where == "sqlite" else _database(self.where)
        async with opening as opened:
            yield opened

    @asynccontextmanager
    async def _file(self) -> AsyncIterator[Opened]:
        what = "To keep a run, citeproof needs LangGraph's SQLite checkpointer"
        with MissingExtraError.unless_installed("sqlite", what):
            from aiosqlite import Error
            from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
        file = self.folder / "threads.sqlite"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
                await saver.setup()

                async def rows(query: str) -> list[tuple[Any, ...]]:
                    return [tuple(row) for row in await saver.conn.execute_fetchall(query)]

                yield Opened(saver, rows)
        except (OSError, Error) as error:
            raise StoreError(
                f"The run cannot be kept in {file}",
                why=str(error),
                fix="Make sure that you may write there, or move the file away.",
            ) from error


@asynccontextmanager
async def _database(address: str) -> AsyncIterator[Opened]:
    what = "To keep runs in PostgreSQL, citeproof needs LangGraph's checkpointer for it"
    with MissingExtraError.unless_installed("postgres", what):
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from psycopg import AsyncConnection, Error
        from psycopg.rows import DictRow, dict_row
        from psycopg_pool import AsyncConnectionPool
    how: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    try:
        # A pool tries again behind the scenes; a connection says at once what is wrong.
        opening = AsyncConnection.connect(address, connect_timeout=_PATIENCE, **how)
        async with await opening as first:
            await AsyncPostgresSaver(first).setup()
        # A connection that the server has dropped meanwhile is replaced.
        check = AsyncConnectionPool.check_connection
        made: AsyncConnectionPool[AsyncConnection[DictRow]]
        made = AsyncConnectionPool(address, min_size=1, open=False, kwargs=how, check=check)
        async with made as pool:

            async def rows(query: str) -> list[tuple[Any, ...]]:
                async with pool.connection() as connection:
                    found = await connection.execute(query.encode())
                    return [tuple(row.values()) for row in await found.fetchall()]

            yield Opened(AsyncPostgresSaver(pool), rows)
    except Error as error:
        raise StoreError(
            "The run cannot be kept in PostgreSQL",
            why=" ".join(str(error).split()),
            fix="Make sure that the server of `checkpointer` runs and that you may write there.",
        ) from error
