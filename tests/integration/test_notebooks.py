"""Every notebook runs on the embedded models, and is stored with what such a run has shown."""

from __future__ import annotations

import runpy
from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
RUN = runpy.run_path(str(FOLDER / "run.py"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_as_it_ran(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert RUN["faults"](notebook) == [], "run: make notebooks"


def test_one_runs() -> None:
    """It takes a minute; the cells of all run on scripted models elsewhere."""
    notebook = RUN["executed"](FOLDER / "vtg.ipynb")
    assert RUN["code"](notebook)
    RUN["clean"](notebook)
    assert RUN["faults"](notebook) == []
