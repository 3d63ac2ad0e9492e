"""Adds the pages of the site that are not in `docs/`: README as the start, and the API reference.

A hook of MkDocs. The reference follows `citeproof.__all__` and the modules below, so no page needs
updating by hand. Links that leave `docs/` lead to the repository.
"""

from __future__ import annotations

import posixpath
import re
import sys
import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = "https://github.com/citeproof/citeproof/blob/main"
MODULES = {
    "types": "What goes in and comes out",
    "settings": "Settings",
    "errors": "Errors",
    "runtime.events": "Events of a run",
    "testing": "Stand-ins for tests",
}
"""Modules whose public names are shown in full → title of their page."""
_LINK = re.compile(r"(\]\()(?!\w+:|#|/)([^)\s#]+)")


def on_config(config: Any) -> Any:
    """Make anchors as GitHub does, where the pages are also read."""
    config["mdx_configs"].setdefault("toc", {})["slugify"] = _anchor
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    from mkdocs.structure.files import File

    pages = {"index.md": _from_root((ROOT / "README.md").read_text(encoding="utf-8"))}
    for name, text in {**pages, **_reference()}.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links that leave `docs/` to the repository."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def outside(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[2]))
        inside = target.startswith("docs/") or link[2].startswith("reference/")
        return link[0] if inside else f"{link[1]}{SOURCE}/{target}"

    return _LINK.sub(outside, markdown)


def _anchor(heading: str, separator: str) -> str:
    kept = (c for c in heading.lower() if c in " -_" or unicodedata.category(c)[0] in "LMN")
    return "".join(c for c in kept if unicodedata.category(c) != "No").replace(" ", separator)


def _from_root(text: str) -> str:
    """A page of the repository's root, with links relative to `docs/`."""

    def moved(link: re.Match[str]) -> str:
        return f"{link[1]}{link[2][5:] if link[2].startswith('docs/') else f'../{link[2]}'}"

    return _LINK.sub(moved, text)


def _reference() -> dict[str, str]:
    """The pages of the reference, by name."""
    sys.path.insert(0, str(ROOT))
    import citeproof

    homes: dict[str, list[str]] = defaultdict(list)
    for name in citeproof.__all__:
        homes[citeproof._HOME[name]].append(name)
    methods = [home for home in homes if home.startswith("citeproof.graphs")]
    shown = {f"citeproof.{module}" for module in MODULES}
    tools = [home for home in homes if home not in {*methods, *shown}]
    nodes = sorted(path.stem for path in (ROOT / "citeproof/agents").glob("[a-z]*.py"))
    pages = {
        "graphs": _page("Graphs", [f"{home}.{name}" for home in methods for name in homes[home]]),
        "tools": _page("Tools", [f"{home}.{name}" for home in tools for name in homes[home]]),
        "nodes": _page("Nodes", [f"citeproof.agents.{node}" for node in nodes]),
    }
    for module, title in MODULES.items():
        pages[module.rpartition(".")[2]] = _page(title, [f"citeproof.{module}"])
    listed = "\n".join(
        f"- [{text.splitlines()[0][2:]}]({name}.md)" for name, text in sorted(pages.items())
    )
    pages["index"] = f"# Reference\nEvery public name, by topic.\n\n{listed}\n"
    return {f"reference/{name}.md": text for name, text in pages.items()}


def _page(title: str, names: list[str]) -> str:
    return "\n\n".join([f"# {title}", *(f"::: {name}" for name in names)])
