"""Reads Word (extra `office`)."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

from citeproof.errors import DocumentError, MissingExtraError
from citeproof.tools.documents.base import Document, sections, unusable
from citeproof.tools.documents.pdf import JUNK_TITLE
from citeproof.tools.documents.pieces import Pieces

__all__ = ["read_docx"]

_MOST_UNPACKED = 1 << 30
_RUNS = ".//w:r[not(ancestor::w:del or ancestor::w:moveFrom or ancestor::w:txbxContent)]"
"""What a paragraph says once tracked changes are accepted."""
_BODY = (
    "./w:p | ./w:tbl | .//w:sdtContent[not(ancestor::w:tbl or ancestor::w:p"
    " or ../w:sdtPr/w:docPartObj)]/*[self::w:p or self::w:tbl]"
)
"""Paragraphs and tables, those in content controls as well; no table of contents."""


def read_docx(data: bytes, path: Path) -> Document:
    """Word: paragraphs and table rows in order, parted by the heading styles.

    Raises:
        DocumentError: The file is not a Word document, or unpacks to more than a gigabyte.
        MissingExtraError: The extra `office` is not installed.
    """
    with MissingExtraError.unless_installed("office", "Word files cannot be read"):
        import docx
        from docx.table import Table
        from docx.text.paragraph import Paragraph
    pieces = Pieces()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
        if unpacked > _MOST_UNPACKED:
            raise unusable(path, "it unpacks to more than a gigabyte", "Split it.")
        document = docx.Document(io.BytesIO(data))
        for element in document.element.body.xpath(_BODY):
            if element.tag.endswith("}p"):
                style = Paragraph(element, document._body).style
                level = re.fullmatch(r"Heading ([1-9])|Title", (style and style.name) or "")
                pieces.end_line("\n\n")
                pieces.add(_runs(element), int(level[1] or 1) if level else 0)
            else:
                for row in Table(element, document._body).rows:
                    pieces.end_line("\n")
                    # A merged cell stands in each of its columns.
                    cells = dict.fromkeys(cell._tc for cell in row.cells)
                    pieces.add(" | ".join("\n".join(map(_runs, c.xpath(".//w:p"))) for c in cells))
        title = (document.core_properties.title or "").strip()
    except DocumentError:
        raise
    except Exception as error:  # zip, XML and missing-part errors of three libraries
        fix = "Open it in Word or LibreOffice and save it as .docx anew."
        raise unusable(path, f"it is not a sound Word document ({error})", fix) from error
    text, headings = pieces.result()
    if JUNK_TITLE.search(title) or title == "Word Document":
        title = next((name for *_, name in headings if name), path.stem)
    return Document(str(path), title, sections(text, headings, title))


def _runs(paragraph: Any) -> str:
    return "".join(run.text for run in paragraph.xpath(_RUNS))
