"""`/api/documents`: list, add, look at and remove what the answers rest on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter, UploadFile
from starlette.responses import FileResponse, JSONResponse, Response

from citeproof.errors import InputError
from citeproof.memory.index import Index, IndexReport
from citeproof.paths import is_file
from citeproof.server.errors import NotFoundError
from citeproof.server.library import Library, list_documents
from citeproof.server.opening import Opening
from citeproof.server.sse import EventStream, frame

_TEXT = ("txt", "text", "md", "markdown", "rst", "csv", "tsv", "eml", "mbox", "jsonl", "ndjson")
_SHOWN = {
    **{f".{ending}": "text/plain; charset=utf-8" for ending in _TEXT},
    ".pdf": "application/pdf",
    ".html": "text/html; charset=utf-8",
    ".htm": "text/html; charset=utf-8",
    ".xhtml": "text/html; charset=utf-8",
}
"""File ending → what a browser is told; all others are saved."""
_SAVED = "application/octet-stream"


def document_routes(opening: Opening, library: Library) -> APIRouter:
    """The routes."""
    router = APIRouter(prefix="/api/documents")

    @router.get("", summary="List the documents")
    async def documents() -> dict[str, Any]:
        """Their ids, names, and the addresses of their files."""
        return {"documents": await asyncio.to_thread(list_documents, await _index(opening))}

    @router.post("", summary="Add documents", response_model=None)
    async def add(files: list[UploadFile]) -> Response:
        """Server-sent events: `progress`, then `report`."""
        uploads = [(file.filename or "", await file.read()) for file in files]
        return EventStream(_frames(opening, library, uploads))

    @router.delete("/{key}", summary="Remove a document", response_model=None)
    async def remove(key: str) -> Response:
        """A file that was added here is deleted; any other stays where it is."""
        await library.remove(await _index(opening), key)
        return JSONResponse({"removed": key})

    @router.get("/{key}/file", summary="A document's file", response_model=None)
    async def file(key: str) -> Response:
        """The indexed document, as a file whose content cannot run."""
        path = Path(await library.name(await _index(opening), key))
        if not is_file(path):
            raise NotFoundError("The file is no longer there")
        kind = _SHOWN.get(path.suffix.lower(), _SAVED)
        place = "attachment" if kind == _SAVED else "inline"
        # A PDF viewer does not run in a sandbox; it has no scripts of the page's either.
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
            why="a retriever of its own searches them, and no index of citeproof's",
            fix="Use that retriever's own tools.",
        )
    return index


async def _frames(
    opening: Opening, library: Library, uploads: Sequence[tuple[str, bytes]]
) -> AsyncIterator[str]:
    if not opening.state()["ready"]:
        yield frame({}, "waiting")
    async for told in library.add(await _index(opening), uploads):
        if isinstance(told, IndexReport):
            yield frame(asdict(told), "report")
        else:
            yield frame(told, "progress")
