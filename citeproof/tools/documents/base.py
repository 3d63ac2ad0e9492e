"""The output of every reader: a document in parts, each with offsets into its text.

The reading process sends it to the main process as JSON.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from citeproof import errors
from citeproof.errors import DocumentError
from citeproof.types import Box

Heading: TypeAlias = tuple[int, int, int, str]
"""Its start, the start of the text below it, its level from 1, and its name."""
BOLD = 7
"""Level of a bold line that is a heading: below all others."""
TERM = 8
"""Level of the name of a list or definition: below all headings."""
LONG = 60
"""A list or table of this many words is likely to be cut, so its pieces need its name."""
LONGEST_NAME = 200
"""Maximum characters of an introduction that becomes a heading."""
_MOST_NAME = 300
"""Characters of a title or heading."""
_NUMBER = re.compile(r"^\s*\d+(?:\.\d+)*\.?\s+")
_WORD = re.compile(r"\w+")
_NOTES = {"note", "tip", "warning", "caution", "important", "see also", "hint", "danger"}
"""Headings of boxes, which do not begin a section."""
_MOST_PLACES = 8
"""Number of pages, slides or sheets that a problem names."""
_MOST_BOLD = 15
"""Words of a bold line that is a heading; a question may have twice as many."""
_STATES = re.compile(r"[.:;,…][\"'”’»)\]]*\Z|\A\W*\Z")
"""Matches a bold line that is no heading: a sentence, an introduction, or no words."""
_TICKS = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
_GENERIC = re.compile(r"\s+(?:user manual|manual page|documentation)\s*$", re.IGNORECASE)
_JUNK = re.compile(
    r"^(?:microsoft word\b|word document$|untitled|powerpoint|pr[eé]sentation\d*$|unbenannt"
    r"|slide \d*$|document\d*$|\(?(?:anonymous|unspecified)\)?$|\W*$)"
    r"|\.(?:docx?|tex|dvi|indd|pdf|pptx?|odt)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Part:
    """A section, page or object of a document. Passages cross parts only to join tiny sections."""

    text: str
    """The whole text that the offsets point into."""
    start: int
    body: int
    """Start of the text after the part's own heading."""
    end: int
    title: str = ""
    headings: tuple[str, ...] = ()
    """The headings above the part, outermost first, without the document's title."""
    page: int | None = None
    location: str = ""
    """Position of the part in a format without pages, such as `slide 4`."""
    boxes: tuple[Box, ...] = ()
    """Positions of its lines on the page, in order; offsets are into the whole text."""
    kept: tuple[tuple[int, int], ...] = ()
    """Stretches that no passage cuts unless they are too long for one: table rows, and the line
    that introduces a list together with its first item. In order, without overlap."""
    rows: tuple[int, ...] = ()
    """In a sheet, the row number of each kept stretch, for the locations of passages."""
    id: str = ""
    """The part's own id, if the document gives it one."""
    source: str = ""
    """Where the part comes from, if the document says so."""


@dataclass(frozen=True)
class Document:
    """The content of one file."""

    source: str
    title: str
    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    """Messages about what could not be read, and what may be wrong."""


_DOCUMENT = TypeAdapter(Document)


Reader: TypeAlias = Callable[[bytes, Path], Document]
"""Parses a file of one format; its path becomes the source, and its stem the title without another.

It raises `DocumentError` if the bytes are not in the format, or hold no text, and
`MissingExtraError` if the format needs an extra that is not installed.
"""


def sections(
    text: str,
    headings: Sequence[Heading],
    title: str,
    *,
    kept: Sequence[tuple[int, int]] = (),
    location: str = "",
) -> tuple[Part, ...]:
    """Split a text into parts at its headings.

    A heading without a body makes no part, but is among the headings of the parts below it. A
    heading whose body begins at its own start stays in the body, like a term before its definition.
    A heading without a name ends the previous one of its level. If there are only headings, the
    whole text is one part.
    """
    parts: list[Part] = []
    above: list[tuple[int, str]] = []
    title = short_name(title)
    bounds = [(0, 0, 0, ""), *headings, (len(text), len(text), 0, "")]
    for (start, body, level, name), (end, *_) in pairwise(bounds):
        if level:
            above = [*(outer for outer in above if outer[0] < level), (level, short_name(name))]
        if text[body:end].strip():
            first = bisect_left(kept, start, key=lambda stretch: stretch[0])
            last = bisect_right(kept, end, key=lambda stretch: stretch[1])
            own = tuple(kept[first:last])
            names = [name for _, name in above if name]
            names = list(dropwhile(lambda name: _repeats(name, title), names))
            parts.append(
                Part(text, start, body, end, title, tuple(names), location=location, kept=own)
            )
    return tuple(parts) or (Part(text, 0, 0, len(text), title, location=location),)


def outlined(
    path: Path,
    text: str,
    headings: Sequence[Heading],
    kept: Sequence[tuple[int, int]],
    *,
    title: str,
    problems: Sequence[str],
) -> Document:
    """Build a document of `sections`; without a title, it has that of its main heading or file.

    The main heading is the first one, unless another has its level or a higher one: then both name
    sections. A heading of level 1 that begins the text is the main one all the same.
    """
    named = [(start, level, name) for start, _, level, name in headings if level < BOLD and name]
    if named and not title:
        start, top, name = named[0]
        is_alone = all(level > top for _, level, _ in named[1:])
        title = name if is_alone or (top == 1 and not text[:start].strip()) else ""
    title = title or path.stem
    parts = sections(text, headings, title, kept=kept)
    return Document(str(path), title, parts, tuple(problems))


def short_name(name: str) -> str:
    """Cut a title or heading that is too long for one, since every passage below it repeats it."""
    return name if len(name) <= _MOST_NAME else f"{name[:_MOST_NAME].rstrip()}…"


def begins_section(heading: str) -> bool:
    """Return whether a heading begins a section, and not only a box."""
    return heading.rstrip(":").lower() not in _NOTES


def name_of_bold(line: str) -> str:
    """Return the heading that a bold line is; "" for a sentence, which only ends a section.

    >>> name_of_bold("How do I list all tables?"), name_of_bold("Do not restart the server.")
    ('How do I list all tables?', '')
    """
    most = _MOST_BOLD * (2 if line.endswith("?") else 1)
    is_heading = len(line.split()) <= most and not _STATES.search(line)
    return line if is_heading and begins_section(line) else ""


def fence_around(code: str) -> str:
    """Return the fence that tells readers and models, as in Markdown, that lines are code.

    >>> fence_around("a = 1"), fence_around("```js")
    ('```', '````')
    """
    return "`" * max(3, 1 + max(map(len, _TICKS.findall(code)), default=0))


def _repeats(name: str, title: str) -> bool:
    """Return whether a heading only repeats the title, or a part of it.

    >>> _repeats("1. Locks", "Locks - The manual"), _repeats("Locks in use", "Locks")
    (True, False)
    >>> _repeats("Questions", "Asked Questions"), _repeats("git(1) Manual Page", "git(1)")
    (True, True)
    >>> _repeats("Norvalin 20 mg", "Norvalin 20 mg"), _repeats("20 mg", "Norvalin 20 mg")
    (True, True)
    """
    *said, whole_title = (
        f" {' '.join(_WORD.findall(text.casefold()))} "
        for text in (name, _GENERIC.sub("", _NUMBER.sub("", name)), title)
    )
    return any(whole_title.startswith(one) or whole_title.endswith(one) for one in said)


def unusable(path: Path, why: str, fix: str) -> DocumentError:
    """Return the error of a file that cannot be read."""
    return DocumentError(f"{path} cannot be read", why=why, fix=fix)


def left_out(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Describe the objects of a document that are not text, given as kind → count."""
    told = ", ".join(f"{kind} ({count})" for kind, count in counts.items() if count)
    return (f"left out, since they cannot be read as text: {told}",) if told else ()


def name_places(told: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """Yield each problem with the numbers or names of its places filled in, at most eight."""
    for words, places in told.items():
        if places:
            more = len(places) - _MOST_PLACES
            named = ", ".join(map(str, places[:_MOST_PLACES]))
            yield words.format(f"{named} and {more} more" if more > 0 else named)


def number(value: str, otherwise: int = 1) -> int:
    """Parse a number from a file; anything but one to nine digits gives `otherwise`."""
    value = value.strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else otherwise


def usable_title(title: str) -> str:
    """Return the title, or an empty string if a program made it up."""
    plain = " ".join(title.split())
    return "" if _JUNK.search(plain) else plain


def to_json(result: Document | errors.CiteproofError) -> bytes:
    """Write a document or an error as JSON; a text that several parts share is written once."""
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
        CiteproofError: The error that the JSON holds, if it holds one.
    """
    value: dict[str, Any] = json.loads(data)
    if "error" in value:
        kind, what, why, fix = value["error"]
        raise getattr(errors, kind)(what, why=why, fix=fix)
    texts = value.pop("texts")
    parts = [{**one, "text": texts[one["text"]]} for one in value["parts"]]
    return _DOCUMENT.validate_python({**value, "parts": parts})
