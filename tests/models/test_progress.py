from __future__ import annotations

import pytest

from citeproof.models.progress import announced, rich_progress


def test_bars_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with rich_progress() as progress:
        progress("model [x]", 1, 2)
        progress("model [x]", 2, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "model [x]" in err


def test_a_start_is_told_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with rich_progress() as progress:
        progress("a server", 0, 0)
        progress("a server", 17, 0)
    _, err = capsys.readouterr()
    assert "a server" in err
    assert "17 s" in err
    assert announced("a server", 0) == "Waiting for a server"
    assert announced("a model", 3_400_000) == "Fetching a model (3 MB)"
