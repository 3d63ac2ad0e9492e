"""Imports go one way, from the layers above to those below, and nowhere in a circle."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = (
    ("errors", "files", "guard", "named", "paths", "text", "markdown"),
    ("pdfium",),
    ("types",),
    ("pages",),
    ("settings", "settings_sources", "settings_toml", "trust"),
    ("state", "parameters", "prompts", "models", "actors"),
    ("runtime",),
    ("tools", "cases", "runtime.moments"),
    ("memory",),
    ("tools.toolbox", "testing", "integrations.tracing"),
    ("agents",),
    ("graphs",),
    ("compose", "doctor", "asking"),
    ("evaluation",),
    ("integrations",),
    ("console",),
    ("server",),
    ("commands",),
    ("cli", ""),
    ("__main__",),
)
"""Parts of citeproof, the lowest first; a longer name goes before a shorter one, "" is the package.

A module imports from its own layer and from those below, be it at its top, inside a function, or
for type checkers only.
"""


class Import(NamedTuple):
    """A module that another one imports."""

    source: str
    target: str
    place: str
    """File and line."""


def modules(root: Path) -> dict[str, Path]:
    """Name of each module, without `citeproof.` → its file; "" is the package."""
    named = {}
    for file in sorted((root / "citeproof").rglob("*.py")):
        parts = file.relative_to(root / "citeproof").with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return named


def imports(known: dict[str, Path]) -> list[Import]:
    """All imports of one module by another, wherever they stand."""
    found = []
    for source, file in known.items():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        statements = (n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom))
        for node in statements:
            for target in dict.fromkeys(home(name, known) for name in names(node)):
                if target != source:
                    place = f"{file.relative_to(known[''].parents[1])}:{node.lineno}"
                    found.append(Import(source, target, place))
    return found


def home(name: str, known: dict[str, Path]) -> str:
    """The module that a name is imported from."""
    module = name.removeprefix("citeproof").removeprefix(".")
    while module not in known:
        module = module.rpartition(".")[0]
    return module


def names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """What a statement imports of citeproof."""
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        found = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        found = [alias.name for alias in node.names]
    return [name for name in found if name.partition(".")[0] == "citeproof"]


def layer(module: str) -> int:
    """The number of the layer that a module is in."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        for number, members in enumerate(LAYERS):
            if ".".join(parts[:length]) in members:
                return number
    raise AssertionError(f"citeproof.{module} is in no layer of {Path(__file__).name}")


def upward(found: list[Import]) -> list[str]:
    """Imports of what stands above."""
    return [
        f"{own.place} imports citeproof.{own.target}, but "
        f"{', '.join(LAYERS[layer(own.target)])} stands above "
        f"{', '.join(LAYERS[layer(own.source)])}"
        for own in found
        if layer(own.target) > layer(own.source)
    ]


def circle(found: list[Import]) -> str:
    """A circle of imports, or nothing."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for own in found:
        order.add(own.source, own.target)
    try:
        order.prepare()
    except CycleError as error:
        return " ← ".join(error.args[1])
    return ""


@pytest.fixture(scope="module")
def found() -> list[Import]:
    return imports(modules(ROOT))


def test_imports_go_to_layers_below(found: list[Import]) -> None:
    assert upward(found) == []


def test_imports_make_no_circle(found: list[Import]) -> None:
    assert circle(found) == ""


def test_a_wrong_import_would_be_found(tmp_path: Path) -> None:
    wrong = {
        "tools/rouge.py": "def ask():\n    from citeproof.agents import planner\n",
        "agents/planner.py": "from citeproof.tools.rouge import ask\nimport citeproof.errors\n",
        "errors.py": "if TYPE_CHECKING:\n    from citeproof.types import Usage\n",
        **dict.fromkeys(("agents/__init__.py", "types.py", "__init__.py"), ""),
    }
    for name, text in wrong.items():
        file = tmp_path / "citeproof" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    found = imports(modules(tmp_path))
    assert upward(found) == [
        "citeproof/errors.py:2 imports citeproof.types, "
        "but types stands above errors, files, guard, named, paths, text, markdown",
        "citeproof/tools/rouge.py:2 imports citeproof.agents.planner, "
        "but agents stands above tools, cases, runtime.moments",
    ]
    assert set(circle(found).split(" ← ")) == {"tools.rouge", "agents.planner"}
    with pytest.raises(AssertionError, match=r"citeproof\.new\.module is in no layer"):
        layer("new.module")
