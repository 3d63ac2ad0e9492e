"""Finds the documents under files and folders, and reads them.

Folders are searched recursively; hidden files and folders are skipped, and so are the files with
which Office locks others (`~$report.docx`). A document is identified by its resolved path, so a
folder that is reached by two paths yields each document once. Each file has its own error, so one
bad file never stops the others from being read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from citeproof.errors import DocumentError, NoTextError
from citeproof.paths import resolve
from citeproof.settings import DocumentSettings
from citeproof.text import INVISIBLE
from citeproof.tools.documents.base import Document, Reader, unusable
from citeproof.tools.documents.epub import read_epub
from citeproof.tools.documents.html import read_html
from citeproof.tools.documents.jsonl import read_jsonl
from citeproof.tools.documents.mail import read_eml, read_mbox
from citeproof.tools.documents.markdown import read_markdown, read_mdx
from citeproof.tools.documents.notebooks import read_ipynb
from citeproof.tools.documents.opendocument import read_ods, read_odt
from citeproof.tools.documents.pdf import read_pdf
from citeproof.tools.documents.restructured import insert_files, read_rst
from citeproof.tools.documents.separated import read_csv
from citeproof.tools.documents.sheets import read_xlsx
from citeproof.tools.documents.slides import read_pptx
from citeproof.tools.documents.text import read_text
from citeproof.tools.documents.word import read_docx

MOST_BYTES = 200 * 1024 * 1024
"""Maximum file size, since a file is read into memory as a whole."""

READERS: dict[str, Reader] = {
    ".txt": read_text,
    ".text": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".mdx": read_mdx,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".docm": read_docx,
    ".odt": read_odt,
    ".pptx": read_pptx,
    ".xlsx": read_xlsx,
    ".xlsm": read_xlsx,
    ".ods": read_ods,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".epub": read_epub,
    ".eml": read_eml,
    ".mbox": read_mbox,
    ".rst": read_rst,
    ".ipynb": read_ipynb,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
}
"""File suffix → reader."""
KNOWN_ENDINGS = f"Known endings: {', '.join(sorted(READERS))}."
"""Advice for a file that no reader takes."""


@dataclass
class Found:
    """The files found under some paths."""

    files: list[Path] = field(default_factory=list)
    """Resolved paths, in order, without duplicates."""
    skipped: list[Path] = field(default_factory=list)
    """Files in a format that no reader supports."""
    links: list[Path] = field(default_factory=list)
    """Links that lead out of the named folder and were not followed."""
    errors: list[tuple[Path, str]] = field(default_factory=list)
    """Paths that do not exist or cannot be opened, each with its error message."""
    roots: list[Path] = field(default_factory=list)
    """The resolved search paths, and the targets of links that were followed."""


def find(paths: Sequence[Path], *, follow_links: bool = False) -> Found:
    """Find the documents among `paths`, and in the folders among them.

    A path that is itself a link is followed; links inside a folder that lead out of it only with
    `follow_links`.
    """
    found = Found(roots=[resolve(path) for path in paths])
    named, entered = tuple(found.roots), set[Path]()

    def walk(path: Path) -> Iterator[Path]:
        """Yield the files under a resolved path that was not visited before."""
        if path in entered:  # reached by two paths, or a link back to a parent folder
            return
        entered.add(path)
        try:
            if not path.is_dir():
                if path.is_file():
                    yield path
                else:
                    why = "is not a file" if path.exists() else "does not exist"
                    found.errors.append((path, f"{path} {why}. Check the path."))
                return
            entries = sorted(path.iterdir())
        except OSError as error:
            found.errors.append((path, f"{path} cannot be opened: {error.strerror}."))
            return
        for entry in entries:
            if entry.name.startswith((".", "~$")):
                continue
            real = resolve(entry)
            if real != entry and not any(map(real.is_relative_to, named)):
                if not follow_links:
                    found.links.append(entry)
                    continue
                found.roots.append(real)
            yield from walk(real)

    for file in (file for root in named for file in walk(root)):
        (found.files if file.suffix.lower() in READERS else found.skipped).append(file)
    return found


def find_gone(known: Iterable[str], found: Found) -> Iterator[str]:
    """Yield the known documents under the paths of a new search that no longer exist."""
    files = set(map(str, found.files))
    # An unreadable folder may still hold its files. A named folder that is missing may be on an
    # unmounted drive; a named file that is missing was deleted.
    closed = [path for path, _ in found.errors if str(path) not in known]
    for name in known:
        path = Path(name)
        under = any(path.is_relative_to(root) for root in found.roots)
        hidden = any(path.is_relative_to(folder) for folder in closed)
        if name not in files and under and not hidden:
            yield name


def load(path: Path) -> bytes:
    """Read the bytes of a document, with the files that reStructuredText includes.

    Raises:
        NoTextError: The file is empty.
        DocumentError: The file cannot be opened, is larger than `MOST_BYTES`, or its name is not
            UTF-8.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"{path!r} cannot be read", why="its name is not UTF-8", fix="Rename it."
        ) from error
    try:
        if not path.is_file():
            missing = "there is no such file" if not path.exists() else "it is not a file"
            raise unusable(path, missing, "Check the path.")
        if (size := path.stat().st_size) > MOST_BYTES:
            raise DocumentError(
                f"{path} is too large",
                why=f"it has {size / 2**20:,.0f} MB, and the limit is {MOST_BYTES / 2**20:,.0f}",
                fix="Split it.",
            )
        data = path.read_bytes()
        if path.suffix.lower() == ".rst":
            data = insert_files(data, path)
    except OSError as error:
        why = error.strerror or str(error)
        raise unusable(path, why, "Check that you may read it.") from error
    if not data.strip():
        raise NoTextError(f"{path} is empty", fix="Fill it, or leave it out.")
    return data


def parse(data: bytes, path: Path, settings: DocumentSettings | None = None) -> Document:
    """Parse a document; the path's suffix selects the reader, the settings one of several.

    Raises:
        NoTextError: The bytes hold no text.
        DocumentError: The bytes are not in that format, or nothing in them can be read.
        MissingExtraError: The format needs an extra that is not installed.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise unusable(path, "its format is unknown", KNOWN_ENDINGS)
    if reader is read_pdf and settings is not None and settings.pdf == "docling":
        from citeproof.tools.documents.docling_pdf import read_with_docling

        reader = partial(read_with_docling, models=settings.docling_models)
    document = reader(data, path)
    if reader is not read_jsonl:  # its objects are kept verbatim
        document = _without_invisible(document)
    if not any(part.text[part.start : part.end].strip() for part in document.parts):
        why = "; ".join(document.problems[:3])
        error = DocumentError if why else NoTextError
        raise error(f"{path} holds no text", why=why, fix="Leave it out.")
    return document


def _without_invisible(document: Document) -> Document:
    """Blank the characters that people do not see but a language model reads.

    In texts each becomes a space, so offsets stay valid; `problems` says how many there were.
    """
    found = 0
    texts: dict[str, str] = {}
    for text in {part.text for part in document.parts}:
        texts[text], count = INVISIBLE.subn(" ", text)
        found += count
    without = partial(INVISIBLE.sub, "")
    parts = tuple(
        replace(
            part,
            text=texts[part.text],
            title=without(part.title),
            headings=tuple(map(without, part.headings)),
            location=without(part.location),
        )
        for part in document.parts
    )
    told = f"{found} invisible characters (tags, or controls of direction) in it were blanked"
    problems = (*document.problems, told) if found else document.problems
    return replace(document, title=without(document.title), parts=parts, problems=problems)
