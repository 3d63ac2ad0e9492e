from __future__ import annotations

from citeproof.models.progress import announce


def test_what_begins_is_told_in_a_line() -> None:
    assert announce("a server", 0) == "Waiting for a server"
    assert announce("a model", 3_400_000) == "Fetching a model (3 MB)"
