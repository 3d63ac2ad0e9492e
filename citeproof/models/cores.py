"""Counts the CPU cores that this process may really use."""

from __future__ import annotations

import os
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def cores(cpus: Path = _CPUS, quota: Path = _QUOTA) -> int:
    """Return the physical cores that the scheduler and the container's CPU quota allow.

    More threads than cores wait for each other: llama.cpp with 64 threads in a container with two
    CPUs is many times slower than with two. `OMP_NUM_THREADS` can lower the number; Ray sets it
    to an actor's share.
    """
    share = os.environ.get("OMP_NUM_THREADS", "")
    there = _there(cpus, quota)
    return max(1, min(there, int(share))) if share.isdigit() else there


def _there(cpus: Path, quota: Path) -> int:
    if not hasattr(os, "sched_getaffinity"):  # macOS, Windows
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    siblings = {_read(cpus / f"cpu{n}/topology/thread_siblings_list") or str(n) for n in allowed}
    limit, _, period = _read(quota).partition(" ")
    if limit.isdigit() and period.isdigit():
        return max(1, min(len(siblings), int(limit) // int(period)))
    return len(siblings)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
