"""Opens the Chroma store that the settings name."""

from __future__ import annotations

import os
import uuid
from typing import Literal

from citeproof.memory.folder_store import FolderStore, ReadOnlyStore
from citeproof.memory.store import Store, chroma_settings, store_errors
from citeproof.paths import is_folder
from citeproof.settings import ChromaSettings

StoreName = Literal["index", "bank", "evidence"]

_SERVER_SYNC = 10_000
"""`sync_threshold` at a server, whose vector files cannot be protected and so are rarely written.
A starting server reads up to this many records from SQLite."""
_FIXES: dict[StoreName, str] = {
    "index": "Rebuild the index: citeproof index --rebuild PATH.",
    "bank": "Its cases can be moved to a new one: citeproof bank export --all --out CASES.jsonl, "
    "then citeproof bank import --rebuild CASES.jsonl.",
    "evidence": "Meanwhile answers are written without it.",
}


def open_store(settings: ChromaSettings, name: StoreName) -> Store:
    """Open the store of this name at the place in the settings; in a folder it has a subfolder.

    Raises:
        StoreError: The server does not answer.
    """
    import chromadb

    fix = _FIXES[name]
    if settings.in_memory:
        # All ephemeral clients of a process share one store, so each gets its own database.
        database = f"citeproof-{uuid.uuid4().hex}"
        chromadb.AdminClient(chroma_settings()).create_database(database)
        client = chromadb.EphemeralClient(settings=chroma_settings(), database=database)
        return Store(client, "in memory", fix)
    host, port, words = settings.host, settings.port, None
    if settings.serve and host is None:
        from citeproof.models.chroma_server import serve_folder

        folder = settings.path.absolute() / "served"
        with store_errors(f"in {folder}", fix):
            host, port, words = "127.0.0.1", serve_folder(folder), folder / "words"
    if host is None:
        path = settings.path.absolute() / name
        is_writable = not is_folder(path) or os.access(path, os.W_OK)
        return FolderStore(path, fix) if is_writable else ReadOnlyStore(path, fix)
    from platformdirs import user_cache_path

    with store_errors(f"at {host}:{port}", "Start it (chroma run), or correct `chroma.host`."):
        client = chromadb.HttpClient(
            host=host, port=port, ssl=settings.ssl, settings=chroma_settings()
        )
    words = words or user_cache_path("citeproof") / "words" / f"{host}-{port}"
    return Store(client, f"at {host}:{port}", fix, words=words, sync=_SERVER_SYNC)
