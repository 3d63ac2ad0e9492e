"""Runs a command that must not outlive the process that asked for it.

Started as a program of its own, with the command as its arguments: an exit hook does not run in
a process that is killed, but the pipe to this one's standard input is closed however that process
ends. The command gets a process group of its own. It is told to end (SIGTERM) when the pipe is
closed, or when this program is told so itself; what is left of the group `PATIENCE` seconds
later, or when the command has ended, is killed.
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
"""Seconds that the command has to end by itself."""


def keep(command: list[str]) -> int:
    """Run the command until it ends or has to; returns its exit status, as a shell gives it."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def listen() -> None:
        # Not through sys.stdin, whose lock a thread that waits here would hold at the exit.
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
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left
        os.killpg(leader, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
