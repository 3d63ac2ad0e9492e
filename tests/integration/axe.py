"""axe-core, which finds accessibility problems of a page: fetched from npm once, never shipped."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_cache_path

from tests.integration.chromium import Tab

VERSION = "4.14.1"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def script() -> str:
    """The source of axe-core; skips the test if neither the cache nor npm has it."""
    kept = user_cache_path("citeproof-tests") / f"axe-core-{VERSION}.min.js"
    if not kept.is_file():
        _fetch(kept)
    return kept.read_text("utf-8")


def _fetch(kept: Path) -> None:
    if (npm := shutil.which("npm")) is None:
        pytest.skip("axe-core is not here, and neither is npm")
    kept.parent.mkdir(parents=True, exist_ok=True)
    command = [npm, "pack", "--silent", f"axe-core@{VERSION}"]
    done = subprocess.run(command, cwd=kept.parent, capture_output=True, timeout=120, check=False)
    archive = kept.parent / f"axe-core-{VERSION}.tgz"
    if done.returncode or not archive.is_file():
        pytest.skip("npm does not give axe-core")
    with tarfile.open(archive) as packed:
        member = packed.extractfile("package/axe.min.js")
        assert member is not None
        kept.write_bytes(member.read())
    archive.unlink()


def findings(page: Tab) -> list[dict[str, Any]]:
    """The violations that axe-core finds on a page, with their elements."""
    page.call("Runtime.evaluate", expression=script())
    told: str = page.call(
        "Runtime.evaluate",
        expression=f"axe.run({{ runOnly: {json.dumps(_RULES)} }}).then((found) => JSON.stringify("
        "found.violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map((one) =>"
        "[one.target.join(' '), one.failureSummary]) }))))",
        awaitPromise=True,
        returnByValue=True,
    )["result"]["value"]
    found: list[dict[str, Any]] = json.loads(told)
    return found
