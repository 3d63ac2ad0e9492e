from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.postgres import Server, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as made:
        yield made


@pytest.fixture
def collection() -> str:
    return f"t{uuid4().hex[:12]}"
