"""A PostgreSQL server from the package pgserver."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Server:
    """PostgreSQL in its own folder."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.user: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            os.chown(folder, 65534, 65534)
            self.user = {"user": 65534, "group": 65534, "extra_groups": []}
        self.url = f"postgresql://citeproof@/postgres?host={folder}"

    def do(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), "-D", str(self.folder / "data"), *arguments]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            subprocess.run(
                command, cwd=self.folder, stdout=log, stderr=log, check=True, **self.user
            )

    def start(self) -> None:
        self.do("pg_ctl", "-w", "-o", f"-c listen_addresses= -k {self.folder}", "start")

    def kill(self) -> None:
        self.do("pg_ctl", "-m", "immediate", "stop")


@contextmanager
def running_server() -> Iterator[Server]:
    """A server for the duration of the block; skips the test if pgserver is not installed."""
    pgserver = pytest.importorskip("pgserver")
    programs = Path(pgserver.__file__).parent / "pginstall" / "bin"
    # Not in pytest's folder, which other users may not enter; also, sockets need a short path.
    folder = Path(tempfile.mkdtemp(prefix="citeproof-"))
    made = Server(programs, folder)
    try:
        made.do("initdb", "-U", "citeproof", "-A", "trust", "-N")
        made.start()
        try:
            yield made
        finally:
            made.kill()
    finally:
        shutil.rmtree(folder)
        (folder.parent / f"{folder.name}.log").unlink()
