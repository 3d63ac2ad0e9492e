"""The bookmarks of a PDF as headings of its pages."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from citeproof.text import plain
from citeproof.tools.documents.base import whole

if TYPE_CHECKING:
    from pypdfium2 import PdfDest, PdfDocument

_TOP = 0.85
"""A bookmark that leads above this share of a page's height leads to its top."""


def read_headings(document: PdfDocument) -> list[tuple[str, ...]]:
    """For each page the headings that all of it stands under, from the outermost.

    Of a page on which a section ends and another one begins, what both have in common. The
    caller holds PDFium's lock.
    """
    begun: dict[int, list[tuple[bool, list[str]]]] = {}
    path: list[str] = []
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        path = [*path[: bookmark.level], plain(whole(bookmark.get_title()))]
        if target is not None and (page := target.get_index()) is not None:
            begun.setdefault(page, []).append((_leads_to_top(document, page, target), path))
    found: list[tuple[str, ...]] = []
    above: list[str] = []
    for number in range(len(document)):
        here = begun.get(number, [])
        there = [names for _, names in here]
        if not (here and here[0][0]):
            there.insert(0, above)
        levels = takewhile(lambda level: len(set(level)) == 1, zip(*there, strict=False))
        found.append(tuple(level[0] for level in levels if level[0]))
        above = here[-1][1] if here else above
    return found


def _leads_to_top(document: PdfDocument, page: int, target: PdfDest) -> bool:
    from pypdfium2 import raw

    kind, place = target.get_view()
    if kind == raw.PDFDEST_VIEW_XYZ and len(place) > 1:
        height = place[1]
    elif kind in (raw.PDFDEST_VIEW_FITH, raw.PDFDEST_VIEW_FITBH) and place:
        height = place[0]
    else:
        return True
    return bool(height > _TOP * document.get_page_size(page)[1])
