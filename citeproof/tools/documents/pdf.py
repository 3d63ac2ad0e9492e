"""Reads PDF (extra `pdf`)."""

from __future__ import annotations

import io
import logging
import re
import statistics
from pathlib import Path

from citeproof.errors import DocumentError, MissingExtraError
from citeproof.tools.documents.base import Document, Part, unusable, whole

__all__ = ["JUNK_TITLE", "read_pdf"]

_MOST_NAMED = 8
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zß-öø-ÿ])")
_LISTED = re.compile(r"\s*(?:[-*•‣▪]|\d{1,3}[.)])\s")
JUNK_TITLE = re.compile(r"^(?:microsoft word\b|untitled|\W*$)|\.(?:docx?|tex|dvi|indd|pdf)$", re.I)


def read_pdf(data: bytes, path: Path) -> Document:
    """PDF: one part for each page. One that cannot be read or has no text is in `problems`.

    Raises:
        DocumentError: The file is broken, encrypted, or holds no text.
        MissingExtraError: The extra `pdf` is not installed.
    """
    with MissingExtraError.unless_installed("pdf", "PDF files cannot be read"):
        from pypdf import PdfReader
    # It logs what it repairs, to a terminal that did not ask; what it cannot repair is raised.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    texts: list[str] = []
    problems: list[str] = []
    empty: list[int] = []
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise unusable(path, "it is encrypted", "Save it without a password.")
        for number, page in enumerate(reader.pages, start=1):
            try:
                texts.append(_flowing(page.extract_text()))
            except Exception as error:  # a damaged page breaks pypdf in many ways
                texts.append("")
                problems.append(f"page {number} cannot be read and was left out: {error}")
            else:
                if not texts[-1].strip():
                    empty.append(number)
        title = whole(str((reader.metadata and reader.metadata.title) or "")).strip()
    except DocumentError:
        raise
    except Exception as error:  # so does a damaged file; the others are still to be indexed
        fix = "Open it in a PDF viewer and save it anew."
        raise unusable(path, f"the PDF is broken or encrypted ({error})", fix) from error
    if not any(page_text.strip() for page_text in texts):
        fix = "If it is a scan, put it through text recognition first (such as ocrmypdf)."
        raise unusable(path, "no page holds any text", fix)
    if empty:
        named = ", ".join(map(str, empty[:_MOST_NAMED]))
        more = f" and {len(empty) - _MOST_NAMED} more" if len(empty) > _MOST_NAMED else ""
        problems.append(
            f"no text on page {named}{more}: blank, or a scan that needs text recognition"
        )
    title = path.stem if JUNK_TITLE.search(title) else title
    text = "\f".join(texts)
    parts: list[Part] = []
    start = 0
    for number, page_text in enumerate(texts, start=1):
        if page_text.strip():
            parts.append(Part(text, start, start, start + len(page_text), title, page=number))
        start += len(page_text) + 1
    return Document(str(path), title, tuple(parts), tuple(problems))


def _flowing(page: str) -> str:
    """Joins the lines of a page that its layout broke, and the words that it hyphenated."""
    lines = _HYPHENATED.sub("", whole(page).replace("\x00", "")).split("\n")
    filled = [len(line) for line in lines if line.strip()]
    full = 0.6 * statistics.median(filled) if filled else 0
    text = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        ends = len(line) < full or line.rstrip().endswith((".", "!", "?", ":"))
        goes_on = following[:1].islower() or not ends
        joined = goes_on and following.strip() and line.strip() and not _LISTED.match(following)
        text += line + (" " if joined else "\n")
    return text.rstrip("\n")
