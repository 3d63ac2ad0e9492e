"""Every notebook runs on the embedded models, and is stored with what such a run has shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_notebooks import FOLDER, RUN, every, read

pytestmark = pytest.mark.timeout(1800)


@every
def test_it_is_stored_as_it_ran(path: Path) -> None:
    assert RUN["faults"](read(path)) == [], "run: make notebooks"


def test_one_runs() -> None:
    """The cells of all run on scripted models elsewhere."""
    notebook = RUN["executed"](FOLDER / "calm.ipynb")
    assert RUN["code"](notebook)
    RUN["clean"](notebook)
    assert RUN["faults"](notebook) == []
