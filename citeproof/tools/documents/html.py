"""Reads HTML."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from citeproof.tools.documents.base import Document, decode, sections, unusable
from citeproof.tools.documents.html_layout import HEADINGS, LINES, LISTS, Layout
from citeproof.tools.documents.pieces import Pieces

__all__ = ["read_html"]

_DROPPED = ["script", "style", "noscript", "template", "svg", "nav", "button", "iframe", "title"]
"""`title`, not `head`: where the end of a head is left out, the parser puts all text into it."""
_UNMISTAKABLE = re.compile(r"ascii|utf[-_]?(?:8|16|32)", re.I)
"""Encodings that other bytes hardly ever pass for."""


def read_html(data: bytes, path: Path) -> Document:
    """HTML: text as a reader sees it, parted by its headings; scripts and menus left out.

    Raises:
        DocumentError: It is not text, or its markup is broken.
    """
    import bs4
    from bs4.builder import ParserRejectedMarkup
    from bs4.element import NavigableString

    if b"\x00" in data:
        decode(data, path)  # says what is wrong, unless it is UTF-16
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # XHTML is fine here, whatever bs4 thinks of it
        try:
            soup = bs4.BeautifulSoup(data, "html.parser")
        except ParserRejectedMarkup as error:
            fix = "Open it in a browser and save it anew."
            raise unusable(path, "its markup is broken", fix) from error
    name = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in [*soup(_DROPPED), *soup.find_all(hidden=True)]:
        tag.decompose()
    pieces = Pieces()
    layout = Layout()
    block: Any = None
    cell: Any = None
    apart = False
    for node in soup.descendants:
        if isinstance(node, bs4.Tag):
            if node.name in {"br", "hr"}:
                pieces.end_line("\n")
            elif node.name in LISTS and getattr(layout.place(node)[0], "name", "") not in LINES:
                pieces.end_line("\n\n")
            apart |= layout.enter(node, pieces.length)
        elif type(node) is NavigableString:
            inside, box = layout.place(node)
            text = str(node)
            if not text.strip() and (inside is not block or box is not cell or apart):
                continue  # between blocks, or between cells
            begins = inside is not block or (apart and box is cell)
            if begins:
                pieces.end_line("\n" if inside is not None and inside.name in LINES else "\n\n")
                cell = None
            if box is not cell and text.strip():
                said = begins and layout.has_said(inside, pieces.length)
                pieces.add(" |" * (0 if said else layout.bars(cell, box, begins)) + " ")
                cell = box
            block, apart = inside, False
            preformatted = inside is not None and inside.name == "pre"
            level = HEADINGS.get(inside.name, 0) if inside else 0
            pieces.add(text if preformatted else re.sub(r"\s+", " ", text), level)
    text, headings = pieces.result()
    title = name or next((name for *_, name in headings if name), path.stem)
    problems: list[str] = []
    read_as = soup.original_encoding or "unknown"
    if soup.declared_html_encoding is None and not _UNMISTAKABLE.match(read_as):
        problems.append(
            f"it does not say its encoding and was read as {read_as}, so letters may be wrong;"
            " save it as UTF-8"
        )
    return Document(str(path), title, sections(text, headings, title), tuple(problems))
