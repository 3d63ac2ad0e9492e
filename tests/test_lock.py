"""The lock holds what `pyproject.toml` asks for, at the versions that are tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNLOCKED = {"citeproof", "torch"}


def names(requirements: list[str]) -> dict[str, str]:
    """Name of each requirement, as package indexes spell it → the version behind `==`."""
    found = {}
    for one in requirements:
        name, _, version = re.sub(r"[\[;,<>].*", "", one.replace(">=", "<")).partition("==")
        found[re.sub(r"[-_.]+", "-", name).strip().lower()] = version
    return found


def test_the_lock_is_up_to_date() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lock = tomllib.loads((ROOT / "pylock.toml").read_text("utf-8"))["packages"]
    locked = {own["name"]: own["version"] for own in lock}
    extras = project["optional-dependencies"]
    [own] = [one for one in extras["dev"] if one.startswith("citeproof[")]
    parts = re.findall(r"[\w-]+", own)[1:]
    wanted = names(project["dependencies"] + extras["dev"] + [r for p in parts for r in extras[p]])
    assert sorted(wanted.keys() - locked.keys() - UNLOCKED) == [], "run: make lock"
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = names([line for line in lines if not line.startswith("#")])
    assert {n: v for n, v in pinned.items() if locked.get(n, v) != v} == {}, "run: make lock"
    assert "torch" not in locked
