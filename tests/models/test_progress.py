from __future__ import annotations

from citeproof.models.progress import announced


def test_what_begins_is_told_in_a_line() -> None:
    assert announced("a server", 0) == "Waiting for a server"
    assert announced("a model", 3_400_000) == "Fetching a model (3 MB)"
