"""Reads what openpyxl does not give of the sheets of a workbook that it only reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citeproof.text import whole
from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.workbook import Comment, Merged, Sheet

_UNCOMPUTED = re.compile(
    rb'<c\b(?![^>]*\bt="str")[^>]*>\s*<f\b(?:[^>]*/>|[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>'
)
"""A formula without a value. The value of one of type `str` may be an empty text."""
_MOST_MERGED = 1_000
_MOST_NOTES = 10_000
_THREAD = "[Threaded comment]"
"""Begins a notice to old versions of Excel, which the comment follows."""


def read_besides(archive: Archive, name: str, sheet: Sheet) -> None:
    """Read into `sheet` what a worksheet has besides values; `name` is its archive member."""
    data, related = archive.read(name), archive.related(name)
    sheet.merged += _merged(data)
    sheet.uncomputed = sum(1 for _ in _UNCOMPUTED.finditer(data))
    if "comments" in related:
        sheet.comments += _comments(archive, related["comments"])
    if "drawing" in related:
        sheet.boxes += _boxes(archive, related["drawing"])


def _merged(data: bytes) -> Iterator[Merged]:
    from openpyxl.utils import range_boundaries

    found = data.partition(b"<mergeCells")[2].split(b'ref="')[1:_MOST_MERGED]
    ranges = (one.partition(b'"')[0].decode("ascii", "replace") for one in found)
    yield from (range_boundaries(one) for one in ranges if ":" in one)


def _comments(archive: Archive, name: str) -> Iterator[Comment]:
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
            yield int(row or 0), cell, author, text.removeprefix(f"{author}: ")


def _boxes(archive: Archive, name: str) -> Iterator[str]:
    for box in [*archive.xml(name).iter("{*}txBody")][:_MOST_NOTES]:
        lines = ("".join(one.itertext("{*}t")) for one in box.iter("{*}p"))
        if text := " ".join(whole(" ".join(lines)).split()):
            yield text
