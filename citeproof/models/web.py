"""Get a model's files from a web folder, taking up where a broken download stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from citeproof.models.manifest import ModelFile, Web

__all__ = ["SourceFailed", "client", "download"]

_PATIENCE = 8.0
_ATTEMPTS = 4


class SourceFailed(Exception):  # noqa: N818  (a reason to try the next source, never shown raw)
    """This source does not give the model; the message says why."""


def client() -> httpx.Client:
    """A client that gives up quickly where nobody answers, and heeds proxy variables."""
    timeout = httpx.Timeout(30.0, connect=5.0)
    return httpx.Client(timeout=timeout, follow_redirects=True)


def download(
    source: Web,
    files: tuple[ModelFile, ...],
    folder: Path,
    step: Callable[[int], None],
    connect: Callable[[], httpx.Client] = client,
) -> None:
    """Fill `folder` with the files; what is there of a file already is kept and continued.

    Args:
        source: Where the files are.
        files: What to get.
        folder: Where they go; files are complete by size, not yet by hash.
        step: Told how many bytes of all files there are now.
        connect: Makes the client; passed in by tests.

    Raises:
        SourceFailed: Nobody answers, or what is sent is not the file.
        OSError: The disk cannot be written.
    """
    try:
        http = connect()
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise SourceFailed(f"the proxy settings cannot be used ({error})") from error
    with http:
        _within(_PATIENCE, lambda: http.head(source.url + files[0].name))
        before = 0
        for file in files:
            path = folder / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            for have in _one(http, source.url + file.name, file, path):
                step(before + have)
            before += file.size


def _one(http: httpx.Client, url: str, file: ModelFile, path: Path) -> Iterator[int]:
    for attempt in range(1, _ATTEMPTS + 1):
        have = path.stat().st_size if path.exists() else 0
        if have > file.size:
            path.unlink()
            have = 0
        yield have
        if have == file.size:
            return
        try:
            yield from _stream(http, url, file, path, have)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if attempt == _ATTEMPTS:
                raise SourceFailed(_reason(error)) from error
    if path.stat().st_size != file.size:
        raise SourceFailed(f"the server ended {file.name} too early, again and again")


def _stream(http: httpx.Client, url: str, file: ModelFile, path: Path, have: int) -> Iterator[int]:
    # A compressed reply would have another length, and could not be continued.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with http.stream("GET", url, headers=headers) as reply:
        if reply.status_code not in (200, 206):
            raise SourceFailed(f"HTTP status {reply.status_code} for {file.name}")
        start = reply.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if reply.status_code == 206 and not start:
            raise SourceFailed("the server sent another range than was asked for")
        if reply.status_code == 200:
            have = 0
        length = reply.headers.get("Content-Length")
        if length is not None and int(length) != file.size - have:
            raise SourceFailed(
                f"the server sends {length} bytes for {file.name}, not {file.size - have} "
                "(the sign-in page of a network, or another version of the file)"
            )
        with path.open("ab" if have else "wb") as out:
            for chunk in reply.iter_bytes():
                have += len(chunk)
                if have > file.size:
                    raise SourceFailed(f"the server sends more than {file.size} bytes")
                out.write(chunk)
                yield have


def _within(seconds: float, call: Callable[[], object]) -> None:
    """Make the first call in a thread that is left behind when it takes too long.

    The connect timeout bounds neither the name look-up nor several addresses tried in turn:
    behind a firewall that drops packets, that would be a minute of silence.
    """
    failure: list[Exception] = []

    def run() -> None:
        try:
            call()
        except Exception as error:
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True, name="citeproof-probe")
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise SourceFailed(f"no answer within {seconds:.0f} seconds")
    if failure:
        raise SourceFailed(_reason(failure[0])) from failure[0]


def _reason(error: Exception) -> str:
    return f"no connection ({str(error) or type(error).__name__})"
