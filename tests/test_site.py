"""The documentation as a site: every page, link, anchor and name of the reference is found."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import citeproof

ROOT = Path(__file__).parents[1]
PLACES = (ROOT / ".venv-docs/bin/mkdocs", shutil.which("mkdocs"), os.environ.get("MKDOCS"))
MKDOCS = next((str(place) for place in PLACES if place and Path(place).exists()), None)


@pytest.mark.skipif(MKDOCS is None, reason="the group `docs` is not installed: make site")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [str(MKDOCS), "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING -" not in done.stderr
    pages = "".join(page.read_text("utf-8") for page in tmp_path.glob("reference/*/*.html"))
    assert [name for name in citeproof.__all__ if f".{name}" not in pages] == []
