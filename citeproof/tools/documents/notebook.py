"""Reads Jupyter notebooks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from citeproof.errors import DocumentError
from citeproof.tools.documents.base import Document, decode, sections, unusable, whole
from citeproof.tools.documents.markdown import markdown_headings
from citeproof.tools.documents.outline import outline

_FIX = "Open it in Jupyter and save it anew."
_MOST_OUTPUT = 2_000
"""Characters of what a cell has printed; more is data rather than text."""


def read_ipynb(data: bytes, path: Path) -> Document:
    """A notebook: text, code and what the code printed, parted by the headings of the text.

    Raises:
        DocumentError: It is not a notebook.
    """
    try:
        book: Any = json.loads(decode(data, path))
        cells = book["cells"] if "cells" in book else book["worksheets"][0]["cells"]
        blocks = [block for cell in cells for block in _blocks(cell)]
    except DocumentError:
        raise
    except (ValueError, RecursionError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise unusable(path, f"it is not a sound notebook ({error!r})", _FIX) from error
    text = whole("\n\n".join(filter(str.strip, blocks)))
    headings = markdown_headings(text, 0)
    title = next((name for *_, level, name in headings if level == 1 and name), path.stem)
    terms, kept = outline(text)
    return Document(str(path), title, sections(text, sorted([*headings, *terms]), title, kept=kept))


def _blocks(cell: Any) -> list[str]:
    source = _join(cell.get("source", cell.get("input", "")))
    kind = cell["cell_type"]
    if kind == "heading":
        return [f"{'#' * int(cell.get('level', 1))} {source}"]
    if kind != "code":
        return [source]
    printed = []
    for output in cell.get("outputs", ()):
        said = _join(output.get("text") or output.get("data", {}).get("text/plain", ""))
        if said.strip() and len(said) <= _MOST_OUTPUT and not said.startswith("<"):
            printed.append(f"```\n{said.strip()}\n```")
    return [f"```\n{source}\n```" if source.strip() else "", *printed]


def _join(value: Any) -> str:
    return value if isinstance(value, str) else "".join(map(str, value))
