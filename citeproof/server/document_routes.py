"""`/api/documents`: list, add, open and remove documents.

Added files are kept in a folder of the store.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fastapi import APIRouter, UploadFile
from starlette.responses import FileResponse, Response

from citeproof.errors import CiteproofError, InputError, StoreError
from citeproof.files import whole_file
from citeproof.memory.index import Index, IndexReport, Step
from citeproof.paths import is_file
from citeproof.server.errors import NotFoundError
from citeproof.server.opening import Opening
from citeproof.server.public import document_id
from citeproof.server.sse import EventStream, frame
from citeproof.text import file_name, plain
from citeproof.tools.documents.files import KNOWN_ENDINGS, READERS

_UNUSABLE = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
_TEXT = ("txt", "text", "md", "markdown", "rst", "csv", "tsv", "eml", "mbox", "jsonl", "ndjson")
_SHOWN = {
    **{f".{ending}": "text/plain; charset=utf-8" for ending in _TEXT},
    ".pdf": "application/pdf",
    ".html": "text/html; charset=utf-8",
    ".htm": "text/html; charset=utf-8",
    ".xhtml": "text/html; charset=utf-8",
}
"""File ending → media type; browsers download all other files."""
_SAVED = "application/octet-stream"
_LONGEST = 200
"""Most bytes of a file's name; systems allow 255, also for the draft that it is renamed from."""


async def name_of(index: Index, key: str) -> str:
    """Return the name of the document with this id, usually a path."""
    for one in await asyncio.to_thread(index.documents):
        if document_id(one.document) == key:
            return one.document
    raise NotFoundError("There is no such document", fix="List them first.")


class _Library:
    """The index, with a folder for the files that readers add."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()  # as the index names its documents
        self._lock = asyncio.Lock()

    def files(self, uploads: Sequence[tuple[str, bytes]]) -> dict[Path, bytes]:
        """Return the paths at which files are to be stored, with their content."""
        files = {self._folder / _safe(name): data for name, data in uploads}
        if len(files) < len(uploads):
            raise InputError("Two of the files have the same name", fix="Rename one of them.")
        return files

    async def add(self, index: Index, files: Mapping[Path, bytes]) -> AsyncIterator[str]:
        """Store files and read them into the index.

        A file with the same name is replaced, unless the new one cannot be read. Yields the events
        `progress` (how many passages of a document are stored), then `report`.
        """
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(step: Step) -> None:
            document = file_name(step.document)
            progress = {"document": document, "done": step.stored, "total": step.passages}
            loop.call_soon_threadsafe(queue.put_nowait, progress)

        def work() -> IndexReport:
            try:
                return _replace(index, files, tell)
            finally:
                loop.call_soon_threadsafe(queue.put_nowait, None)

        async with self._lock:
            # This finishes even if the client has gone, so no document stays incomplete.
            working = asyncio.ensure_future(asyncio.to_thread(work))
            try:
                while (told := await queue.get()) is not None:
                    yield frame(told, "progress")
            finally:
                await asyncio.shield(working)
            yield frame(_with_names(working.result()), "report")

    async def remove(self, index: Index, key: str) -> None:
        """Remove a document from the index, and delete its file if it was added here."""
        async with self._lock:
            name = await name_of(index, key)
            await asyncio.to_thread(index.remove, [name])
            if Path(name).parent == self._folder:
                await asyncio.to_thread(Path(name).unlink, missing_ok=True)


def _list_documents(index: Index) -> list[dict[str, Any]]:
    """List id, name, and the address of the file if it still exists."""
    names = [one.document for one in index.documents() if one.whole]
    often = Counter(map(file_name, names))
    return [
        {
            "id": (key := document_id(name)),
            "name": plain(file_name(name) if often[file_name(name)] == 1 else _with_folder(name)),
            "file": f"/api/documents/{key}/file" if _has_file(Path(name)) else None,
        }
        for name in sorted(names, key=lambda name: file_name(name).lower())
    ]


def _with_folder(name: str) -> str:
    """Return the name of a file with its folder's, as several have the same name."""
    return "/".join(Path(name).parts[-2:])


def _has_file(path: Path) -> bool:
    """Whether a document is a file that exists; texts, as from stdin, have no absolute path."""
    return path.is_absolute() and is_file(path)


def _replace(
    index: Index, files: Mapping[Path, bytes], tell: Callable[[Step], None]
) -> IndexReport:
    """Store files and read them; if one cannot be read, its earlier version stays, if any."""
    before = {path: path.read_bytes() for path in files if is_file(path)}
    try:
        _store(files)
        report = index.update([*files], progress=tell)
    except Exception:
        _restore([*files], before)
        raise
    # A file whose content was known under a name that is gone counts as moved.
    report = replace(report, added=(*report.added, *(new for _, new in report.moved)))
    known = {*report.added, *report.updated, *report.unchanged}
    if back := _restore([path for path in files if str(path) not in known], before):
        passages = index.update(back).passages
        removed = tuple(name for name in report.removed if Path(name) not in back)
        report = replace(report, removed=removed, passages=passages)
    return report


def _restore(paths: Sequence[Path], before: Mapping[Path, bytes]) -> list[Path]:
    """Remove files, or put back their earlier versions; return those that have one."""
    for path in paths:
        path.unlink(missing_ok=True)
    back = {path: before[path] for path in paths if path in before}
    _store(back)
    return [*back]


def _with_names(report: IndexReport) -> dict[str, Any]:
    """Return the report with file names instead of paths."""

    def named(told: str | tuple[str, str]) -> str | tuple[str, str]:
        if isinstance(told, str):
            return file_name(told)
        path, why = told
        return file_name(path), why.replace(path, file_name(path))

    lists = asdict(replace(report, moved=(), left_out=()))
    passages = lists.pop("passages")
    return {key: [*map(named, own)] for key, own in lists.items()} | {"passages": passages}


def _safe(name: str) -> str:
    """Return a safe file name for whatever name the reader's file has."""
    last = name.replace("\\", "/").rpartition("/")[2]
    end = _UNUSABLE.sub("_", plain(last)).encode()[-_LONGEST:]
    safe = end.decode(errors="ignore").lstrip(".")
    if Path(safe).suffix.lower() not in READERS or not Path(safe).stem:
        raise InputError(f"{safe or 'A file without a name'} cannot be read", fix=KNOWN_ENDINGS)
    return safe


def _store(files: Mapping[Path, bytes]) -> None:
    try:
        for path, data in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(data)
    except (OSError, CiteproofError) as error:
        why = str(getattr(error, "why", error))
        raise StoreError("The file cannot be stored", why=why) from error


def document_routes(opening: Opening, folder: Path) -> APIRouter:
    """Build the routes; added files are kept in the folder."""
    library = _Library(folder)
    router = APIRouter(prefix="/api/documents")

    @router.get("", summary="List the documents")
    async def documents() -> dict[str, Any]:
        """List ids, names and the addresses of files."""
        return {"documents": await asyncio.to_thread(_list_documents, await _index(opening))}

    @router.post("", summary="Add documents", response_model=None)
    async def add(files: list[UploadFile]) -> Response:
        """Stream the events `progress`, then `report`."""
        given = library.files([(file.filename or "", await file.read()) for file in files])

        async def frames() -> AsyncIterator[str]:
            if not opening.state()["ready"]:
                yield frame({}, "waiting")
            async for told in library.add(await _index(opening), given):
                yield told

        return EventStream(frames())

    @router.delete("/{key}", summary="Remove a document")
    async def remove(key: str) -> dict[str, Any]:
        """Remove a document; its file is deleted only if it was added here."""
        await library.remove(await _index(opening), key)
        return {"removed": key}

    @router.get("/{key}/file", summary="A document's file", response_model=None)
    async def file(key: str) -> Response:
        """Return the indexed file, with a policy that keeps its content from running."""
        path = Path(await name_of(await _index(opening), key))
        if not _has_file(path):
            raise NotFoundError("The file is no longer there")
        kind = _SHOWN.get(path.suffix.lower(), _SAVED)
        place = "attachment" if kind == _SAVED else "inline"
        # PDF viewers do not work in a sandbox, and do not run scripts in the page's context.
        policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
        headers = {} if kind == "application/pdf" else {"content-security-policy": policy}
        return FileResponse(
            path,
            media_type=kind,
            filename=path.name,
            content_disposition_type=place,
            headers=headers,
        )

    return router


async def _index(opening: Opening) -> Index:
    index = (await opening.tools()).index
    if index is None:
        raise InputError(
            "The documents of this server can neither be listed nor changed here",
            why="the server searches them with a retriever of its own, not an index of citeproof",
            fix="Use that retriever's own tools.",
        )
    return index
