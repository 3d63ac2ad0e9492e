"""The output of every reader: a document in parts, each with offsets into its text.

As JSON it goes from a reading process to the main one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from citeproof import errors
from citeproof.errors import DocumentError
from citeproof.types import Box

Heading: TypeAlias = tuple[int, int, int, str]
"""Where it begins, where the text below it begins, its level from 1, and its name."""
TERM = 7
"""The level of what names a list or a definition: under all headings."""
_JUNK = re.compile(
    r"^(?:microsoft word\b|word document$|untitled|powerpoint|pr[eé]sentation\d*$|unbenannt"
    r"|slide \d*$|document\d*$|\W*$)|\.(?:docx?|tex|dvi|indd|pdf|pptx?|odt)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Part:
    """A stretch of a document that passages do not cross: a section, a page, an object."""

    text: str
    """The whole text that the offsets point into."""
    start: int
    body: int
    """Where the text after the part's own heading begins."""
    end: int
    title: str = ""
    headings: tuple[str, ...] = ()
    """The headings above the part, from the outermost, without the document's title."""
    page: int | None = None
    location: str = ""
    """Where the part stands in a format without pages, as in `slide 4`."""
    boxes: tuple[Box, ...] = ()
    """Where its lines stand on the page, in order; offsets are into the whole text."""
    kept: tuple[tuple[int, int], ...] = ()
    """Stretches that no passage cuts unless they are too long for one: table rows, the line that
    introduces a list with its first item. In order, without overlap."""
    rows: tuple[int, ...] = ()
    """The row number of each kept stretch, in a sheet; a passage's location then names them."""
    id: str = ""
    """The part's own id, if its document gives it one."""
    source: str = ""
    """Where the part comes from, if its document says so."""


@dataclass(frozen=True)
class Document:
    """The content of one file."""

    source: str
    title: str
    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    """Parts that could not be read, while the rest could."""


class Reader(Protocol):
    """Reads one format. A function with these arguments is one."""

    def __call__(self, data: bytes, path: Path) -> Document:
        """The document that the bytes of a file are.

        Args:
            data: The whole file.
            path: Where it lies: the document's source, and its title where it names none.

        Raises:
            DocumentError: They are not of the format, or hold no text.
            MissingExtraError: The format needs an extra that is not installed.
        """
        ...


def sections(
    text: str,
    headings: Sequence[Heading],
    title: str,
    begin: int = 0,
    *,
    kept: Sequence[tuple[int, int]] = (),
    location: str = "",
) -> tuple[Part, ...]:
    """Parts between headings.

    A heading without a body of its own goes on in the headings of those below it. One whose end
    is its start keeps its words in the body: a term before its definition. One without a name
    ends those of its level. If there is nothing but headings, the whole text is one part.
    """
    parts: list[Part] = []
    above: list[tuple[int, str]] = []
    bounds = [(begin, begin, 0, ""), *headings, (len(text), len(text), 0, "")]
    stretches = iter(kept)
    held = next(stretches, None)
    for (start, body, level, name), (end, *_) in pairwise(bounds):
        if level:
            above = [*(outer for outer in above if outer[0] < level), (level, name)]
        own: list[tuple[int, int]] = []
        while held and held[0] < end:
            if start <= held[0] and held[1] <= end:
                own.append(held)
            held = next(stretches, None)
        if text[body:end].strip():
            names = [name for _, name in above if name]
            names = list(dropwhile(lambda name: _repeats(name, title), names))
            parts.append(
                Part(
                    text, start, body, end, title, tuple(names), location=location, kept=tuple(own)
                )
            )
    return tuple(parts) or (Part(text, begin, begin, len(text), title, location=location),)


def outlined(
    path: Path,
    text: str,
    headings: Sequence[Heading],
    kept: Sequence[tuple[int, int]],
    *,
    title: str = "",
    problems: Sequence[str] = (),
    begin: int = 0,
) -> Document:
    """A document of `sections`; without a title it is called like its first heading."""
    named = (name for *_, level, name in headings if level < TERM and name)
    title = title or next(named, path.stem)
    parts = sections(text, headings, title, begin, kept=kept)
    return Document(str(path), title, parts, tuple(problems))


def _repeats(name: str, title: str) -> bool:
    """Whether a heading says no more than the title, as in `Locks` under `Locks - The manual`."""
    plain, whole_title = " ".join(name.split()).casefold(), " ".join(title.split()).casefold()
    rest = whole_title[len(plain) :].lstrip()
    return whole_title.startswith(plain) and not rest[:1].isalnum()


def whole(text: str) -> str:
    """A text without halves of surrogate pairs, which no store and no tokenizer takes.

    JSON may hold such halves, and PDFs with odd fonts do.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def unusable(path: Path, why: str, fix: str) -> DocumentError:
    """The error of a file that its reader cannot use."""
    return DocumentError(f"{path} cannot be read", why=why, fix=fix)


def left_out(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The problem of a document with things that are no text: kind → how many there are."""
    told = ", ".join(f"{kind} ({count})" for kind, count in counts.items() if count)
    return (f"left out, since they cannot be read as text: {told}",) if told else ()


def number(value: str, otherwise: int = 1) -> int:
    """A number that a file gives as text, unless it is none or absurd."""
    value = value.strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else otherwise


def usable_title(title: str) -> str:
    """The title, or nothing if a program made it up."""
    plain = " ".join(title.split())
    return "" if _JUNK.search(plain) else plain


def to_json(result: Document | errors.CiteproofError) -> bytes:
    """A document, or why it cannot be read; a text that several parts share is written once."""
    if isinstance(result, errors.CiteproofError):
        told = (type(result).__name__, result.what, result.why, result.fix)
        return json.dumps({"error": told}).encode()
    texts = {text: n for n, text in enumerate(dict.fromkeys(part.text for part in result.parts))}
    parts = [
        {**vars(own), "text": texts[own.text], "boxes": [box.model_dump() for box in own.boxes]}
        for own in result.parts
    ]
    return json.dumps({**vars(result), "parts": parts, "texts": list(texts)}).encode()


def from_json(data: bytes) -> Document:
    """Read the JSON of `to_json`.

    Raises:
        CiteproofError: It was an error.
    """
    value: dict[str, Any] = json.loads(data)
    if "error" in value:
        kind, what, why, fix = value["error"]
        raise getattr(errors, kind)(what, why=why, fix=fix)
    texts = value.pop("texts")
    parts = tuple(_part(texts[one["text"]], one) for one in value["parts"])
    return Document(**value | {"parts": parts, "problems": tuple(value["problems"])})


def _part(text: str, value: dict[str, Any]) -> Part:
    lists = {name: tuple(own) for name, own in value.items() if isinstance(own, list)}
    lists["kept"] = tuple(map(tuple, value["kept"]))
    lists["boxes"] = tuple(Box(**box) for box in value["boxes"])
    return Part(**value | lists | {"text": text})
