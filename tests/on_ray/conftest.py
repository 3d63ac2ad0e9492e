from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _ray() -> Iterator[None]:
    """One Ray for all tests, because it takes seconds to start."""
    ray = pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
        runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parents[2])}},
    )
    yield
    ray.shutdown()


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    """A folder in which actors leave the ids of their processes."""
    folder = tmp_path / "pids"
    folder.mkdir()
    return folder
