"""Compares how PDF files are read with poppler's `pdftotext`, and with pypdf where it is installed.

    python benchmarks/pdf_reading.py FOLDER [FOLDER ...] [-o TABLE.md]

For each file: its pages with text, the seconds of CPU time, the share of pdftotext's words that
were not read (headers and footers, which are left out on purpose, count as read), and the words of
26 letters or more, which mostly are words glued together.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from citeproof.errors import CiteproofError
from citeproof.tools.documents import pdf

_WORD = re.compile(r"[^\W_]{3,}")
_GLUED = re.compile(r"[^\W\d_]{26,}")
_HYPHENATED = re.compile(r"[-\u00ad]\n\s*(?=[a-zß-öø-ÿ])")


class Row(NamedTuple):
    """Measurements of one file."""

    name: str
    pages: int
    boxes: int
    seconds: float
    pypdf_seconds: float
    words: int
    lost: int
    pypdf_lost: int
    glued: int
    poppler_glued: int
    pypdf_glued: int
    note: str = ""


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    wanted = parser.parse_args()
    if shutil.which("pdftotext") is None:
        parser.error("pdftotext is not installed")
    files = sorted({file.resolve() for root in wanted.folders for file in root.rglob("*.pdf")})
    table = "\n".join(_table([compare(file) for file in files]))
    print(table)
    if wanted.out:
        wanted.out.write_text(table + "\n", encoding="utf-8")


def compare(path: Path) -> Row:
    """Read a file three ways."""
    data = path.read_bytes()
    poppler = _poppler(path)
    (theirs, pypdf_seconds) = _timed(lambda: _pypdf(data))
    note, pages, boxes, ours = "", 0, 0, ""
    begun = time.process_time()
    try:
        document = pdf.read_pdf(data, path)
    except CiteproofError as error:
        note = f"{error.what.removeprefix(f'{path} ')}: {error.why}"
    else:
        pages, boxes = len(document.parts), sum(len(part.boxes) for part in document.parts)
    seconds = time.process_time() - begun
    if not note:
        # Text that is left out on purpose does not count as lost.
        with patch.object(pdf, "without_furniture", lambda pages: pages):
            document = pdf.read_pdf(data, path)
        ours = "\n".join(part.text[part.start : part.end] for part in document.parts)
    words = _words(poppler)
    return Row(
        path.name,
        pages,
        boxes,
        seconds,
        pypdf_seconds,
        words.total(),
        (words - _words(ours)).total(),
        (words - _words(theirs)).total(),
        len(_GLUED.findall(ours)),
        len(_GLUED.findall(poppler)),
        len(_GLUED.findall(theirs)),
        note,
    )


def _poppler(path: Path) -> str:
    done = subprocess.run(["pdftotext", "-enc", "UTF-8", path, "-"], capture_output=True)
    return _HYPHENATED.sub("", done.stdout.decode("utf-8", "replace"))


def _pypdf(data: bytes) -> str:
    try:
        from pypdf import PdfReader
    except ImportError:
        return ""
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        reader.decrypt("")
    texts = []
    for page in reader.pages:
        texts.append(page.extract_text())
    return _HYPHENATED.sub("", "\n".join(texts))


def _timed(read: Callable[[], str]) -> tuple[str, float]:
    begun = time.process_time()
    try:
        text = read()
    except Exception:  # whatever breaks another reader is no error of the comparison
        text = ""
    return text, time.process_time() - begun


def _words(text: str) -> Counter[str]:
    """Words, with their ligatures apart, as poppler writes them or not."""
    for ligature, letters in {"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff", "ﬃ": "ffi", "ﬄ": "ffl"}.items():
        text = text.replace(ligature, letters)
    return Counter(_WORD.findall(text.casefold()))


def _table(rows: Sequence[Row]) -> Iterator[str]:
    head = "file | pages with text | boxes | CPU seconds (pypdf) | words lost (pypdf)"
    yield f"| {head} | glued (poppler, pypdf) |"
    yield "|---|---:|---:|---:|---:|---:|"
    for row in [*rows, _sum(rows)]:
        share = f"{_share(row.lost, row.words)} ({_share(row.pypdf_lost, row.words)})"
        cells = [
            row.name,
            f"{row.pages}",
            f"{row.boxes}",
            f"{row.seconds:.2f} ({row.pypdf_seconds:.2f})",
            share,
            f"{row.glued} ({row.poppler_glued}, {row.pypdf_glued})",
        ]
        if row.note:
            cells[1:] = [row.note, "", "", "", ""]
        yield f"| {' | '.join(cells)} |"


def _sum(rows: Iterable[Row]) -> Row:
    read = [row for row in rows if not row.note]
    fields = Row._fields[1:-1]
    totals: dict[str, Any] = {name: sum(getattr(row, name) for row in read) for name in fields}
    return Row(f"all {len(read)}", **totals)


def _share(part: int, all_: int) -> str:
    return f"{part / all_:.1%}" if all_ else "–"


if __name__ == "__main__":
    main()
