"""Reads documents whose passages are cited by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from citeproof.errors import CiteproofError, InputError
from citeproof.paths import is_folder, resolve
from citeproof.settings import DocumentSettings
from citeproof.tools.documents.base import Document
from citeproof.tools.documents.encodings import decode
from citeproof.tools.documents.files import KNOWN_ENDINGS, READERS, find, load, parse
from citeproof.tools.documents.jsonl import read_jsonl
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.sandbox import read_safely
from citeproof.tools.passage_ids import tell_apart
from citeproof.types import Passage


@dataclass(frozen=True)
class NumberedPassages:
    """The passages that the numbers of a text can cite."""

    passages: dict[int, list[Passage]]
    """Number, from 1 → its passages; none if there is nothing to read. Every id belongs to one
    passage."""
    files: tuple[Path, ...]
    """The files that they come from, in order, as absolute paths."""
    problems: tuple[str, ...] = ()
    """Parts that could not be read, and why."""


def read_numbered(
    documents: Path | Sequence[Path],
    passage_words: int = 100,
    settings: DocumentSettings | None = None,
) -> NumberedPassages:
    """Read the passages of files and folders, by the numbers that cite them.

    In a JSON lines file each object has a number: the third line that is not blank is [3], even if
    the second holds no text. Any other file is [1]. In a folder each file of a known kind has a
    number, in the order in which `citeproof index` reads them, even if some cannot be read. Each
    further file or folder continues the numbers of the one before.

    A passage has about `passage_words` words; an object of JSON lines is kept whole up to four
    times as many.

    Raises:
        InputError: There is no passage.
        DocumentError: A given file cannot be read; one inside a folder only adds to `problems`.
        MissingExtraError: A file's format needs an extra that is not installed.
    """
    given = [documents] if isinstance(documents, Path) else documents
    groups: list[Sequence[Passage]] = []
    files: list[Path] = []
    problems: list[str] = []

    def read(path: Path) -> list[Passage]:
        return cut(read_safely(load(path), path, settings), passage_words)

    for path in map(resolve, given):
        if is_folder(path):
            found = find([path])
            files += found.files
            problems += [message for _, message in found.errors]
            groups += _folder(path, found.files, problems, read)
        else:
            files.append(path)
            is_lines = READERS.get(path.suffix.lower()) is read_jsonl
            groups += _objects(path, passage_words) if is_lines else [read(path)]
    numbered = dict(enumerate(tell_apart(groups), start=1))
    return NumberedPassages(numbered, tuple(files), tuple(problems))


def _folder(
    path: Path, files: Sequence[Path], problems: list[str], read: Callable[[Path], list[Passage]]
) -> list[Sequence[Passage]]:
    groups: list[Sequence[Passage]] = []
    for file in files:
        try:
            groups.append(read(file))
        except CiteproofError as error:
            groups.append(())  # later files keep their numbers
            problems.append(str(error))
    if not any(groups):
        raise InputError(
            f"{path} holds no document that can be read",
            why="; ".join(problem.rstrip(".") for problem in problems[:3]),
            fix=KNOWN_ENDINGS,
        )
    return groups


def _objects(path: Path, passage_words: int) -> list[Sequence[Passage]]:
    """Read the passages of each object of a JSON lines file; one without text has none."""
    data = load(path)
    parse(data, path)  # the whole file first, for errors that name the line
    lines = [line for line in decode(data, path).split("\n") if line.strip()]
    groups: list[Sequence[Passage]] = []
    for number, line in enumerate(lines, start=1):
        parts = read_jsonl(line.encode(), path).parts
        named = [replace(part, id=part.id or f"{path.name}:{number}") for part in parts]
        groups.append(cut(Document(str(path), path.stem, tuple(named)), passage_words))
    return groups
