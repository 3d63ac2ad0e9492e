"""Reads what openpyxl does not give of the sheets of a workbook that it only reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citeproof.text import whole
from citeproof.tools.documents.archives import Archive

_UNCOMPUTED = re.compile(
    rb'<c\b(?![^>]*\bt="str")[^>]*>\s*<f\b(?:[^>]*/>|[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>'
)
"""A formula without a value. The value of one of type `str` may be an empty text."""
_MOST_MERGED = 1_000
_MOST_NOTES = 10_000
_THREAD = "[Threaded comment]"
"""Begins a notice to old versions of Excel, which the comment follows."""


@dataclass(frozen=True)
class Besides:
    """What a sheet has besides the values of its cells."""

    merged: tuple[tuple[int, int, int, int], ...] = ()
    """First column, first row, last column and last row of each merged cell."""
    uncomputed: int = 0
    """Number of formulas without a value."""
    comments: tuple[tuple[int, str, str], ...] = ()
    """Row, author and cell, and text of each comment."""
    boxes: tuple[str, ...] = ()
    """The texts of text boxes and shapes."""


def read_besides(archive: Archive, name: str) -> Besides:
    """Read what a worksheet has besides values; `name` is its member of the archive."""
    data, related = archive.read(name), archive.related(name)
    comments = _comments(archive, related["comments"]) if "comments" in related else ()
    boxes = _boxes(archive, related["drawing"]) if "drawing" in related else ()
    uncomputed = sum(1 for _ in _UNCOMPUTED.finditer(data))
    return Besides(tuple(_merged(data)), uncomputed, tuple(comments), tuple(boxes))


def _merged(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    from openpyxl.utils import range_boundaries

    found = data.partition(b"<mergeCells")[2].split(b'ref="')[1:_MOST_MERGED]
    ranges = (one.partition(b'"')[0].decode("ascii", "replace") for one in found)
    yield from (range_boundaries(one) for one in ranges if ":" in one)


def _comments(archive: Archive, name: str) -> Iterator[tuple[int, str, str]]:
    root = archive.xml(name)
    authors = [author.text or "" for author in root.iter("{*}author")]
    for comment in [*root.iter("{*}comment")][:_MOST_NOTES]:
        text = " ".join(whole("".join(comment.itertext("{*}t"))).split())
        if text.startswith(_THREAD):
            text = text.rpartition("Comment: ")[2]
        place = comment.get("authorId", "")
        author = authors[int(place)] if place.isdigit() and int(place) < len(authors) else ""
        author = "" if author.startswith("tc=") else author  # the id of a thread
        cell = comment.get("ref", "")
        row = re.sub(r"\D", "", cell)[:7]
        if text:
            by = f" by {author}" if author else ""
            yield int(row or 0), f"Comment{by} on {cell}", text.removeprefix(f"{author}: ")


def _boxes(archive: Archive, name: str) -> Iterator[str]:
    for box in [*archive.xml(name).iter("{*}txBody")][:_MOST_NOTES]:
        lines = ("".join(one.itertext("{*}t")) for one in box.iter("{*}p"))
        if text := " ".join(whole(" ".join(lines)).split()):
            yield text
