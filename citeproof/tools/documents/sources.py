"""Documents to index: files, web pages and texts, each with a name that identifies it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from langchain_core.documents import Document as LangChainDocument

from citeproof.errors import InputError
from citeproof.settings import DocumentSettings
from citeproof.state.documents import to_passage
from citeproof.text import is_web
from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.files import load
from citeproof.tools.documents.sandbox import read_safely
from citeproof.types import Passage

Origin = Literal["file", "url", "text"]
PIECE = "#piece-"
"""Separates the name of an import from the number of its piece."""


@dataclass(frozen=True)
class Source:
    """A document that may have to be indexed."""

    name: str
    """Its key: a path, a URL, or a given name."""
    origin: Origin
    kind: str
    """Its format, as a file suffix with the dot."""
    load: Callable[[], bytes]
    """Returns its bytes; raises `DocumentError`."""
    read: Callable[[bytes], Document | list[Passage]]
    """Turns the bytes into a document to cut, or into finished passages. Raises `DocumentError` or
    `MissingExtraError`."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Stored with its mark in the index."""
    vectors: Any = None
    """A row for each of its passages; None if they still need embedding."""


def file_source(path: Path, settings: DocumentSettings) -> Source:
    """Create the source of a file from its resolved path; the settings select the reader."""
    return Source(
        name=str(path),
        origin="file",
        kind=path.suffix.lower(),
        load=lambda: load(path),
        read=lambda data: read_safely(data, path, settings),
    )


def named_source(
    name: str,
    data: bytes,
    origin: Origin,
    kind: str,
    settings: DocumentSettings,
    *,
    notes: Mapping[str, str] | None = None,
) -> Source:
    """Create the source of a document that is not a file, but is read like a file of this kind."""
    known = Path(name if name.lower().endswith(kind) else name.rstrip("/") + kind)

    def read(given: bytes) -> Document:
        return replace(read_safely(given, known, settings), source=name)

    return Source(name, origin, kind, lambda: data, read, notes or {})


def text_sources(
    texts: Sequence[str | LangChainDocument], ids: Sequence[str] | None
) -> list[Source]:
    """Create a source for each text or LangChain document.

    Raises:
        InputError: A text is empty, an id occurs twice, or there are more or fewer ids than texts.
    """
    if ids is not None and len(ids) != len(texts):
        raise InputError(f"There are {len(ids)} ids for {len(texts)} texts")
    found: dict[str, Source] = {}
    for place, text in enumerate(texts):
        given = LangChainDocument(page_content=text) if isinstance(text, str) else text
        if not given.page_content.strip():
            raise InputError(f"Text {place + 1} is empty", fix="Leave it out.")
        name = ids[place] if ids is not None else to_passage(given).id
        if ids is not None and name in found:
            raise InputError(f"The id {name!r} is given twice", fix="Give each text its own.")
        found.setdefault(check_name(name), _text_source(name, given))
    return list(found.values())


def check_name(name: str) -> str:
    """Return the name if a text may have it.

    Raises:
        InputError: The name is empty, or would be taken for a web page or a file.
    """
    if not name.strip() or is_web(name) or Path(name).is_absolute():
        raise InputError(f"A text cannot be called {name!r}", why="it is empty, a URL or a path")
    return name


def _text_source(name: str, given: LangChainDocument) -> Source:
    passage = to_passage(given)
    key = f"{passage.title}\n{passage.source}\n{passage.page}\n{passage.text}".encode()

    def read(_: bytes) -> Document:
        text, title = passage.text, passage.title
        part = Part(text, 0, 0, len(text), title, page=passage.page, source=passage.source)
        return Document(name, title, (part,))

    return Source(name, "text", ".txt", lambda: key, read)
