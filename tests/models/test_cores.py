from __future__ import annotations

import os
from pathlib import Path

import pytest

from citeproof.models.cores import cores

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="only Linux tells which cores are allowed"
)


@pytest.fixture
def cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four physical cores with two threads each, six of the threads allowed."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 4, 5, 6}, raising=False)
    for n in range(8):
        topology = tmp_path / f"cpu{n}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{n % 4},{n % 4 + 4}\n")
    return tmp_path


def test_threads_of_one_core_count_once(cpus: Path) -> None:
    assert cores(cpus, cpus / "none") == 3


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("max 100000", 3), ("200000 100000", 2), ("50000 100000", 1), ("900000 100000", 3)],
)
def test_a_container_has_fewer(cpus: Path, quota: str, expected: int) -> None:
    (cpus / "cpu.max").write_text(quota)
    assert cores(cpus, cpus / "cpu.max") == expected


def test_without_topology_each_cpu_counts(cpus: Path, tmp_path: Path) -> None:
    assert cores(tmp_path / "none", tmp_path / "none") == 6
