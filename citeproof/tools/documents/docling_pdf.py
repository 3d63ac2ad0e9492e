"""Reads PDF with docling's models for layout, tables and text recognition (extra `docling`)."""

from __future__ import annotations

import io
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from citeproof.errors import MissingExtraError, ModelError
from citeproof.pdfium import LOCK, open_pdf
from citeproof.text import whole
from citeproof.tools.documents.base import (
    Document,
    Part,
    name_places,
    sections,
    unusable,
    usable_title,
)
from citeproof.tools.documents.docling_blocks import (
    Block,
    insert_note,
    noted_blocks,
    read_blocks,
)
from citeproof.tools.documents.pdf_flow import place_box
from citeproof.tools.documents.pieces import Pieces
from citeproof.types import Box


def read_with_docling(data: bytes, path: Path, models: Path | None = None) -> Document:
    """Read a PDF with docling: parts between the headings that it finds, each on one page.

    A sentence has the rectangle of its paragraph, a table row that of its cells. Without a folder
    of `models`, they come from the Hugging Face Hub.

    Raises:
        DocumentError: The file is broken, encrypted, or holds no text.
        MissingExtraError: The extra `docling` is not installed.
        ModelError: The models cannot be loaded.
    """
    with open_pdf(path, data) as own, LOCK:  # tells broken files from encrypted ones
        named = usable_title(whole(own.get_metadata_value("Title")))
        pages, notes = len(own), list(noted_blocks(own))
    result = _convert(data, path, models)
    blocks = list(read_blocks(result.document))
    for note in notes:
        insert_note(blocks, note)
    blocks.sort(key=lambda block: block.page)
    problems = tuple(_problems(result, blocks, pages))
    spoken = [block for block in blocks if block.lines]
    if not spoken:
        why = "; ".join(["docling finds no text in it", *problems[:3]])
        raise unusable(path, why, 'Try `documents.pdf = "pdfium"`.')
    title = named or next((block.text for block in spoken if block.level == 1), path.stem)
    return Document(str(path), title, tuple(_parts(spoken, title)), problems)


def _convert(data: bytes, path: Path, models: Path | None) -> Any:
    with MissingExtraError.unless_installed(
        "docling", "PDF cannot be read with docling", 'set documents.pdf to "pdfium"'
    ):
        from docling.datamodel.base_models import DocumentStream
    result = _converter(models).convert(
        DocumentStream(name=f"{path.stem}.pdf", stream=io.BytesIO(data)), raises_on_error=False
    )
    if result.status not in ("success", "partial_success"):
        told = "; ".join(_errors(result)) or str(result.status.value)
        raise unusable(path, f"docling gave up ({told})", 'Try `documents.pdf = "pdfium"`.')
    return result


@lru_cache(maxsize=1)
def _converter(models: Path | None) -> Any:
    """Return a converter with its models loaded."""
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.pipeline_options import PdfPipelineOptions
    from docling.document_converter import DocumentConverter, PdfFormatOption

    how = PdfFormatOption(pipeline_options=PdfPipelineOptions(artifacts_path=models))
    converter = DocumentConverter([InputFormat.PDF], {InputFormat.PDF: how})
    try:
        converter.initialize_pipeline(InputFormat.PDF)
    except Exception as error:  # from the hub, torch and several model libraries
        raise ModelError(
            "The models of docling cannot be loaded",
            why=" ".join(str(error).split())[:300],
            fix="Fetch them with: docling-tools models download -o FOLDER; and set "
            "documents.docling_models to FOLDER.",
        ) from error
    return converter


def _parts(blocks: Sequence[Block], title: str) -> Iterator[Part]:
    pieces, boxes, pages = Pieces(), list[Box](), dict[int, int]()
    for block, following in zip_longest(blocks, blocks[1:]):
        gap = "\n" if block.listed else "\n\n"
        pieces.end_line(gap)
        start = place = pieces.place
        pages.setdefault(block.page, start)
        if block.rows:
            pieces.rows(line for line, _ in block.lines)
        else:
            pieces.add(block.text)
        if _heads(block, following):
            pieces.heading(start, block.level)
        pieces.end_line(gap)
        for line, area in block.lines:
            boxes += place_box(place, place + len(line), area) if area else []
            place += len(line) + 1
    text, headings, kept = pieces.result()
    bounds = sorted([*headings, *((place, place, 0, "") for place in pages.values())])
    numbers, starts = list(pages), list(pages.values())
    for part in sections(text, bounds, title, kept=kept):
        page = numbers[bisect_right(starts, part.start) - 1]
        own = tuple(box for box in boxes if part.start <= box.start < part.end)
        yield replace(part, page=page, boxes=own)


def _heads(block: Block, following: Block | None) -> bool:
    """Return whether a block is a heading with text below it; without any, it is plain text."""
    return (
        block.level > 0
        and following is not None
        and (not following.level or following.level > block.level)
    )


def _problems(result: Any, blocks: Sequence[Block], pages: int) -> Iterator[str]:
    """Yield messages about parts that are missing or may be wrong."""
    errors = list(_errors(result))
    yield from errors
    if result.status == "partial_success" and not errors:
        yield "docling did not read all of it"
    said = {block.page for block in blocks if block.lines}
    empty = [number for number in range(1, pages + 1) if number not in said]
    guessed = [
        number
        for number, scores in sorted(result.confidence.pages.items())
        if number in said and not math.isnan(scores.ocr_score)
    ]
    pictured = sorted({block.page for block in blocks if not block.lines})
    yield from name_places(
        {
            "no text on page {}: blank, or a scan in which none was recognised": empty,
            "text of page {} was recognised in a picture, and may have errors": guessed,
            "a picture or table on page {}: what it shows was not read": pictured,
        }
    )


def _errors(result: Any) -> Iterator[str]:
    for error in result.errors:
        where = f"page {error.page_no}: " if error.page_no else ""
        yield where + " ".join(error.error_message.split())[:200]
