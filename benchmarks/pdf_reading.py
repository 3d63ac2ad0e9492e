"""Compares how we read PDF files with poppler's `pdftotext`, and with pypdf if it is installed.

    python benchmarks/pdf_reading.py FOLDER [FOLDER ...] [-o TABLE.md]

For each file: its pages with text, the CPU seconds, the share of pdftotext's words that were not
read (headers and footers, which are left out on purpose, count as read), and the words of 26
letters or more, which are mostly words glued together.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path
from unittest.mock import patch

from common import table, write

from citeproof.errors import CiteproofError
from citeproof.tools.documents import pdf

HEAD = (
    *("file", "pages with text", "boxes", "CPU seconds (pypdf)", "words lost (pypdf)"),
    "glued (poppler, pypdf)",
)
_WORD = re.compile(r"[^\W_]{3,}")
_GLUED = re.compile(r"[^\W\d_]{26,}")
_HYPHENATED = re.compile(r"[-\u00ad]\n\s*(?=[a-zß-öø-ÿ])")
_LIGATURES = str.maketrans({"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff", "ﬃ": "ffi", "ﬄ": "ffl"})


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    wanted = parser.parse_args()
    if shutil.which("pdftotext") is None:
        parser.error("pdftotext is not installed")
    files = sorted({file.resolve() for root in wanted.folders for file in root.rglob("*.pdf")})
    rows, total = [], Counter[str]()
    for file in files:
        try:
            found = compare(file)
        except CiteproofError as error:
            what = error.what.removeprefix(f"{file} ")
            rows.append([file.name, f"{what}: {error.why}", "", "", "", ""])
        else:
            total += found
            rows.append([file.name, *cells(found)])
    rows.append([f"all {total['files']}", *cells(total)])
    write(wanted.out, table(HEAD, rows))


def compare(path: Path) -> Counter[str]:
    """The measurements of a file read in three ways, with times in milliseconds.

    Raises:
        CiteproofError: We cannot read the file.
    """
    data = path.read_bytes()
    begun = time.process_time()
    document = pdf.read_pdf(data, path)
    seconds = time.process_time() - begun
    found = Counter(
        files=1, ms=round(1000 * seconds), pages=len({part.page for part in document.parts})
    )
    found["boxes"] = sum(len(part.boxes) for part in document.parts)
    # Text left out on purpose does not count as lost.
    with patch.object(pdf, "without_furniture", lambda pages: pages):
        document = pdf.read_pdf(data, path)
    ours = "\n".join(part.text[part.start : part.end] for part in document.parts)
    begun = time.process_time()
    theirs = _pypdf(data)
    found["pypdf ms"] = round(1000 * (time.process_time() - begun))
    done = subprocess.run(["pdftotext", "-enc", "UTF-8", path, "-"], capture_output=True)
    poppler = _HYPHENATED.sub("", done.stdout.decode("utf-8", "replace"))
    words = _words(poppler)
    found["words"] = words.total()
    found["lost"] = (words - _words(ours)).total()
    found["pypdf lost"] = (words - _words(theirs)).total()
    for name, text in (("glued", ours), ("poppler glued", poppler), ("pypdf glued", theirs)):
        found[name] = len(_GLUED.findall(text))
    return found


def cells(found: Counter[str]) -> list[str]:
    """The cells of a row."""

    def share(name: str) -> str:
        return f"{found[name] / found['words']:.1%}" if found["words"] else "–"

    return [
        f"{found['pages']}",
        f"{found['boxes']}",
        f"{found['ms'] / 1000:.2f} ({found['pypdf ms'] / 1000:.2f})",
        f"{share('lost')} ({share('pypdf lost')})",
        f"{found['glued']} ({found['poppler glued']}, {found['pypdf glued']})",
    ]


def _pypdf(data: bytes) -> str:
    """The text by pypdf, or "" if it is not installed or fails on the file."""
    try:
        from pypdf import PdfReader

        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            reader.decrypt("")
        return _HYPHENATED.sub("", "\n".join(page.extract_text() for page in reader.pages))
    except Exception:
        return ""


def _words(text: str) -> Counter[str]:
    """Words with ligatures taken apart, since poppler keeps some."""
    return Counter(_WORD.findall(text.translate(_LIGATURES).casefold()))


if __name__ == "__main__":
    main()
