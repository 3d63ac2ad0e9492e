"""Reads Jupyter notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citeproof.text import whole
from citeproof.tools.documents.base import Document, unusable
from citeproof.tools.documents.encodings import decode
from citeproof.tools.documents.html import read_markup
from citeproof.tools.documents.markdown import split_front_matter
from citeproof.tools.documents.markdown_page import render, show_code

_FIX = "Open it in Jupyter and save it again."
_MOST_OUTPUT = 2_000
"""Maximum characters of a cell's output; a longer one is data rather than text."""


def read_ipynb(data: bytes, path: Path) -> Document:
    """Read a notebook: text, code, printed output and errors, split at headings of the text."""
    try:
        book: Any = json.loads(decode(data, path))
        cells = [(cell["cell_type"] == "code", list(_texts(cell))) for cell in book["cells"]]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise unusable(path, f"it is not a valid notebook ({error!r})", _FIX) from error
    title, page = "", list[str]()
    for is_code, texts in cells:
        if is_code:
            page += [show_code(whole(text)) for text in texts if text.strip()]
        else:
            body = whole(texts[0])
            if not (title or any(page)):
                title, body = split_front_matter(body)
            page.append(render(body))
    return read_markup("".join(page), path, (), title)


def _texts(cell: Any) -> Iterator[str]:
    """Yield the source of a cell, then what it printed."""
    yield _join(cell.get("source", ""))
    for output in cell.get("outputs", ()):
        said = _join(output.get("text") or output.get("data", {}).get("text/plain", ""))
        if "ename" in output:
            said = f"{output['ename']}: {output.get('evalue', '')}"
        if len(said) <= _MOST_OUTPUT and not said.startswith("<"):
            yield said.strip()


def _join(value: Any) -> str:
    return value if isinstance(value, str) else "".join(map(str, value))
