"""Documents to be indexed: files, pages and texts, each with the name it is known by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from langchain_core.documents import Document as LangChainDocument

from citeproof.errors import InputError
from citeproof.settings import DocumentSettings
from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.files import load
from citeproof.tools.documents.sandbox import read_safely
from citeproof.tools.retrieval.langchain import to_passage
from citeproof.tools.web import is_url
from citeproof.types import Passage

Origin = Literal["file", "url", "text"]
PIECE = "#piece-"
"""Stands between the name of an import and the number of its piece."""


@dataclass(frozen=True)
class Source:
    """A document that may have to be indexed."""

    name: str
    """Its key: a path, a URL, or the name that it was given."""
    origin: Origin
    kind: str
    """Its format, as a file ending with the dot."""
    load: Callable[[], bytes]
    """Raises `DocumentError`."""
    read: Callable[[bytes], Document | list[Passage]]
    """Turns its bytes into a document, which is cut, or into passages as they are. Raises
    `DocumentError` or `MissingExtraError`."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Kept with its mark."""
    vectors: Any = None
    """A row for each of its passages; None where they are to be embedded."""


def file_source(path: Path, settings: DocumentSettings | None = None) -> Source:
    """A file, by its resolved path, and what the settings have it read with."""
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
    settings: DocumentSettings | None = None,
    *,
    notes: Mapping[str, str] | None = None,
) -> Source:
    """A document that is no file, read as a file of this kind would be."""
    known = Path(name if name.lower().endswith(kind) else name.rstrip("/") + kind)

    def read(given: bytes) -> Document:
        return replace(read_safely(given, known, settings), source=name)

    return Source(name, origin, kind, lambda: data, read, notes or {})


def text_sources(
    texts: Sequence[str | LangChainDocument], ids: Sequence[str] | None
) -> list[Source]:
    """Texts and LangChain documents, each a document of its own.

    Raises:
        InputError: One is empty, or there are more or fewer ids, or one id twice.
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
    """A name that a text may have, as it is.

    Raises:
        InputError: It is empty, or would be taken for a page or a file.
    """
    if not name.strip() or is_url(name) or Path(name).is_absolute():
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
