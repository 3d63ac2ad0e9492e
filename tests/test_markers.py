"""What `make test` leaves out, and that it leaves out no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import MARKED, TESTS, markers_of


def test_every_marked_place_exists() -> None:
    assert [one for own in MARKED.values() for one in own if not (TESTS / one).exists()] == []


@pytest.mark.parametrize(
    ("file", "markers"),
    [
        ("integration/test_vtg.py", {"llm", "models"}),
        ("integration/test_new.py", {"models"}),
        ("integration/test_postgres.py", {"services"}),
        ("memory/test_processes.py", {"slow"}),
        ("robustness/test_fuzz.py", {"slow"}),
        ("memory/test_bank.py", set()),
        ("test_types.py", set()),
    ],
)
def test_markers_go_by_place(file: str, markers: set[str]) -> None:
    assert markers_of(Path(file)) == markers


def test_a_file_says_where_it_stands(request: pytest.FixtureRequest) -> None:
    assert not {own.name for own in request.node.iter_markers()} & MARKED.keys()
