"""Starts a Chroma server for a folder, which all processes that use the folder share.

A separate process runs the server on a loopback port, restarts it if it dies, and stops it after
its last user has ended. Each user holds a shared lock in the folder as long as it runs, which the
system releases even if the user is killed; the separate process ends when it gets the exclusive
lock.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from filelock import FileLock, ReadWriteLock, Timeout

from citeproof.errors import StoreError
from citeproof.models.vllm import free_port
from citeproof.paths import python_environment

_PAUSE = 0.05
"""Seconds between two checks of a starting server."""
_PATIENCE = 60.0
"""Seconds within which a server must start."""
_IDLE = 1.0
"""Seconds between two checks whether the server still has users."""
_CHROMA = """
import os, signal, sys, threading
def end():
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end, daemon=True).start()
from chromadb.cli.cli import app
sys.argv[0] = "chroma"
app()
"""
"""Runs `chroma run`, and ends when its standard input is closed, which means its parent died."""

_using: dict[Path, ReadWriteLock] = {}
_guard = threading.Lock()


def serve_folder(folder: Path) -> int:
    """Return the port of the folder's server, after starting it if it isn't running.

    The server stops a few seconds after the last process that called this function.

    Raises:
        StoreError: The server does not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _guard:
        if folder not in _using:
            lock = ReadWriteLock(folder / "users.lock", is_singleton=False)
            lock.acquire_read(timeout=_PATIENCE)  # waits while a server is stopping
            _using[folder] = lock
    with FileLock(folder / "start.lock"):
        end = time.monotonic() + _PATIENCE
        program = None
        while not _answers(port := _port(folder)):
            if program is None or program.poll() is not None:
                program = _start(folder)
            if time.monotonic() > end:
                raise StoreError(
                    f"The Chroma server for {folder} does not start",
                    why=_log(folder),
                    fix="Start one yourself (chroma run), and name it with `chroma.host`.",
                )
            time.sleep(_PAUSE)
    return port


def _start(folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "server.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(folder)],
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # it keeps serving others when this process ends
        )


def _port(folder: Path) -> int:
    try:
        return int(json.loads((folder / "server.json").read_text("utf-8"))["port"])
    except (OSError, ValueError, KeyError):
        return 0


def _answers(port: int) -> bool:
    if not port:
        return False
    try:
        reply = httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=5, trust_env=False)
    except httpx.HTTPError:
        return False
    return reply.status_code == 200


def _log(folder: Path) -> str:
    with contextlib.suppress(OSError):
        lines = (folder / "server.log").read_text("utf-8", "replace").splitlines()
        return " ".join(lines[-3:])[-300:]
    return ""


def _run(folder: Path) -> None:
    users: Any = ReadWriteLock(folder / "users.lock", is_singleton=False)
    port = _port(folder) or free_port()  # clients look for the server at the old port
    server = None
    while True:
        if server is None or server.poll() is not None:
            server = _launch(folder, port)
            if not _wait(server, port):
                port = free_port()  # another program took the old one
                continue
            (folder / "server.json").write_text(json.dumps({"port": port, "pid": server.pid}))
        time.sleep(_IDLE)
        with contextlib.suppress(Timeout):
            users.acquire_write(timeout=0)
            break
    server.terminate()
    server.wait()
    (folder / "server.json").unlink(missing_ok=True)


def _launch(folder: Path, port: int) -> subprocess.Popen[bytes]:
    command = ["run", "--path", str(folder / "data"), "--host", "127.0.0.1", "--port", str(port)]
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _CHROMA, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # about twenty lines per request
    )


def _wait(server: subprocess.Popen[bytes], port: int) -> bool:
    while server.poll() is None:
        if _answers(port):
            return True
        time.sleep(_PAUSE)
    return False


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
