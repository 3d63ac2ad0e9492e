"""Runs a command that must not outlive the process that started it.

This is a separate program with the command as its arguments. A killed process runs no exit hooks,
but however it ends, its pipe to this program's standard input is closed. The command gets its own
process group. It receives SIGTERM when the pipe is closed or this program receives SIGTERM. The
rest of the group is killed `PATIENCE` seconds later, or when the command has ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

PATIENCE = 10.0
"""Seconds that the command has after SIGTERM to end by itself."""


def keep(command: list[str]) -> int:
    """Run the command until it ends or is ended; return its exit status as a shell would."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def listen() -> None:
        # Not through sys.stdin, whose lock the waiting thread would still hold at exit.
        while os.read(0, 1):
            pass
        told.set()

    def end() -> None:
        told.wait()
        child.terminate()
        time.sleep(PATIENCE)
        _kill_group(child.pid)

    for task in (listen, end):
        threading.Thread(target=task, daemon=True).start()
    code = child.wait()
    _kill_group(child.pid)
    return code if code >= 0 else 128 - code


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(leader, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
