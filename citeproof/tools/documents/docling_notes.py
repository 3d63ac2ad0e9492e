"""Puts the values of form fields and the texts of notes among docling's blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from citeproof.pdfium import Area, Displayed
from citeproof.tools.documents.docling_blocks import Block
from citeproof.tools.documents.pdf_notes import read_notes

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument


def noted_blocks(document: PdfDocument) -> Iterator[Block]:
    """A block for each field that is filled in, and for each note. PDFium's lock is held."""
    from pypdfium2 import PdfiumError

    for number in range(len(document)):
        try:
            page = document[number]
        except PdfiumError:
            continue  # docling says what it makes of such a page
        for note in read_notes(page, Displayed(page)):
            yield Block(number + 1, (note.text,), (note.area,))
        page.close()


def insert(blocks: list[Block], note: Block) -> None:
    """Put a field or note into the line left of it, or behind the block that begins above it."""
    [said], [area] = note.lines, note.areas
    assert area
    own = [(n, block) for n, block in enumerate(blocks) if block.page == note.page]
    middle = (area.top + area.bottom) / 2
    place, highest = min((n for n, _ in own), default=len(blocks)), -1.0
    for n, block in own:
        placed = list(zip(block.lines, block.areas, strict=True))
        if any(said in line and around and around.holds(area) for line, around in placed):
            return  # docling has read it: the form was made part of the page
        for _, around in placed[-1:]:
            if around and not block.rows and _beside(around, area):
                lines, areas = (*block.lines, said), (*block.areas, area)
                blocks[n] = replace(block, lines=lines, areas=areas)
                return
        for _, around in placed[:1]:
            if around and highest <= around.top <= middle:
                place, highest = n + 1, around.top
    blocks.insert(place, note)


def _beside(line: Area, note: Area) -> bool:
    return line.left < note.left and note.top <= (line.top + line.bottom) / 2 <= note.bottom
