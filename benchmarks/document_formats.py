"""Reads real files of every format, and counts words that only a reference reader finds.

    python benchmarks/document_formats.py FOLDER [FOLDER ...] [--most 40] [--only .pdf .html]

The reference is pandoc, for PDF pdftotext, for slides and sheets the text in their XML. Both
programs must be on the PATH. A word has at least three letters or digits. Lists the files that lose
words without an error or a reported problem.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import subprocess
import zipfile
from collections import Counter
from html import unescape
from pathlib import Path

from common import table, write

from citeproof.errors import CiteproofError
from citeproof.tools.documents.files import load
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.sandbox import read_safely

WORD = re.compile(r"[^\W_]{3,}")
RUN = re.compile(r"<(?:\w+:)?t(?:\s[^<>]*)?>([^<>]*)<")
"""A run of text in the XML of slides and sheets."""
LINE = re.compile(r"</a:p>|<a:br\b|</si>")
"""The end of a line, within which runs are joined."""
HYPHENATED = re.compile(r"[-\u00ad]\n\s*")
PANDOC = {
    ".html": "html",
    ".docx": "docx",
    ".odt": "odt",
    ".epub": "epub",
    ".ipynb": "ipynb",
    ".rst": "rst",
    ".md": "markdown",
}
SHEETS = {".pptx": r"ppt/slides/slide\d+\.xml", ".xlsx": r"xl/sharedStrings\.xml"}
COLUMNS = ("read", "refused", "with problems", "words", "lost", "lost in silence")
FEW = 5
"""Files that lose at most this many words are not listed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=40, help="files of a format, chosen at random")
    parser.add_argument("--only", nargs="+", help="file endings, such as .pdf")
    chosen = parser.parse_args()
    kinds: dict[str, list[Path]] = {kind: [] for kind in (*PANDOC, ".pdf", *SHEETS)}
    for folder in chosen.folders:
        for file in sorted(folder.rglob("*")):
            if file.suffix.lower() in kinds and file.is_file():
                kinds[file.suffix.lower()].append(file)
    rows = []
    for kind, files in kinds.items():
        random.Random(0).shuffle(files)
        if files and kind in (chosen.only or kinds):
            found = measure(kind, files[: chosen.most])
            rows.append([kind[1:], *(f"{found[name]:,}" for name in COLUMNS)])
    write(None, table(["format", *COLUMNS], rows))


def measure(kind: str, files: list[Path]) -> Counter[str]:
    """Counts by column; prints each file that loses words silently."""
    counts: Counter[str] = Counter()
    for file in files:
        try:
            document = read_safely(load(file), file)
        except CiteproofError as error:
            counts["refused"] += 1
            print(f"  {file}: {error.why or error}")
            continue
        ours = " ".join(f"{passage.title} {passage.text}" for passage in cut(document))
        there = words(reference(kind, file))
        lost = there - words(ours)
        counts["read"] += 1
        counts["with problems"] += bool(document.problems)
        counts["words"] += there.total()
        counts["lost"] += lost.total()
        if lost.total() > max(FEW, there.total() / 50) and not document.problems:
            counts["lost in silence"] += lost.total()
            most = " ".join(f"{word}*{count}" for word, count in lost.most_common(12))
            print(f"  {file}: {lost.total()} of {there.total()}: {most}")
    return counts


def words(text: str) -> Counter[str]:
    return Counter(WORD.findall(HYPHENATED.sub("", text).lower()))


def reference(kind: str, file: Path) -> str:
    """The text of a file as another program reads it."""
    if kind in SHEETS:
        with zipfile.ZipFile(io.BytesIO(file.read_bytes())) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(SHEETS[kind], name)]
            lines = [line for name in names for line in LINE.split(archive.read(name).decode())]
        return unescape("\n".join("".join(RUN.findall(line)) for line in lines))
    command = ["pandoc", "-f", PANDOC.get(kind, ""), "-t", "plain", "--wrap=none", str(file)]
    if kind == ".pdf":
        command = ["pdftotext", "-enc", "UTF-8", str(file), "-"]
    done = subprocess.run(["timeout", "300", *command], capture_output=True)
    if done.returncode:
        print(f"  {file}: the reference fails: {done.stderr.decode()[:200].strip()}")
    return done.stdout.decode("utf-8", "replace")


if __name__ == "__main__":
    main()
