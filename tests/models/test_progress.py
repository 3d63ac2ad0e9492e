from __future__ import annotations

import pytest

from citeproof.models.progress import rich_progress


def test_bars_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with rich_progress() as progress:
        progress("model [x]", 1, 2)
        progress("model [x]", 2, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "model [x]" in err
