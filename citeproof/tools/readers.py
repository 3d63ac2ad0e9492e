"""Reads plain formats: text, Markdown and JSON lines.

A reader takes a file's bytes and its path, and gives a `Document`: parts that passages do not
cross, each with offsets into the text that it stands in. Formats that need a library are in
`rich_readers`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from citeproof.errors import DocumentError
from citeproof.tools.sentences import words

__all__ = [
    "Document",
    "Part",
    "decode",
    "read_jsonl",
    "read_markdown",
    "read_text",
    "sections",
    "whole",
]

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
# Only what begins with a key: other text below a rule is text.
_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\n(?=(?:[ \t]*(?:#[^\n]*)?\n)*[\w\"'][^\n:]*:\s)"
    r"(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*$", re.MULTILINE)
_INLINE = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]|(?<!\w)_+|_+(?!\w)")
_BLOCK = re.compile(r"(?:\A|(?<=\n\n)|(?<=\n[ \t]\n))[ \t]*(\S[^\n]*)\n[ \t]*\n\s*(?=\S)")


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
    id: str = ""
    """The part's own id, if its document gives it one."""
    source: str = ""
    """Where the part comes from, if its document says so."""


@dataclass(frozen=True)
class Document:
    """What a reader found in one file."""

    source: str
    title: str
    parts: tuple[Part, ...]
    problems: tuple[str, ...] = ()
    """What could not be read, while the rest could."""


def decode(data: bytes, path: Path) -> str:
    r"""The text of a file, its line ends as `\n` and without byte order mark.

    Raises:
        DocumentError: The bytes are not UTF-8, nor UTF-16 with a byte order mark.
    """
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not wide and b"\x00" in data:
        raise DocumentError(
            f"{path} cannot be read as text",
            why="it holds NUL bytes, so it is a binary file",
            fix="Save it as UTF-8 text, or give it the ending of its real format.",
        )
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path} cannot be read as text",
            why=f"it is not valid {error.encoding} at byte {error.start}",
            fix="Save it as UTF-8.",
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(data: bytes, path: Path) -> Document:
    """Plain text: a short line of its own above a paragraph is a heading."""
    text = decode(data, path)
    headings = [
        (match.start(1), match.end(1), 1, match[1].strip())
        for match in _BLOCK.finditer(text)
        if _is_heading(match[1].strip(), text[match.end() : match.end() + 400])
    ]
    title = path.stem
    if headings and not text[: headings[0][0]].strip():
        title = headings[0][3]
    return Document(str(path), title, sections(text, headings, title))


def read_markdown(data: bytes, path: Path) -> Document:
    """Markdown: its headings part it; front matter gives the title and is left out."""
    text = decode(data, path)
    front = _FRONT_MATTER.match(text)
    headings = list(_markdown_headings(text, front.end() if front else 0))
    title = next((name for *_, level, name in headings if level == 1 and name), "")
    title = title or next((name for *_, name in headings if name), path.stem)
    if front and (found := _FRONT_TITLE.search(front[1])):
        title = found[1]
    parts = sections(text, headings, title, begin=front.end() if front else 0)
    return Document(str(path), title, parts)


def read_jsonl(data: bytes, path: Path) -> Document:
    """JSON lines: objects with `text`, and if they have them `title`, `id` and `source`.

    Raises:
        DocumentError: A line is no such object, or two different ones have the same id.
    """
    parts: list[Part] = []
    problems: list[str] = []
    seen: dict[str, Part] = {}
    # Not splitlines(): JSON strings may hold U+2028 and its like as they are.
    for number, line in enumerate(decode(data, path).split("\n"), start=1):
        if not line.strip():
            continue
        part = _object(line, f"{path}, line {number}")
        if not part.text.strip():
            problems.append(f"line {number} has an empty text and was left out")
            continue
        if part.id:
            first = seen.setdefault(part.id, part)
            if (first.text, first.title) != (part.text, part.title):
                raise DocumentError(
                    f"{path}, line {number}, cannot be used",
                    why=f"an earlier line has the same id {part.id!r} and another text",
                    fix="Give every object an id of its own, or none.",
                )
            if first is not part:
                continue
        parts.append(part)
    return Document(str(path), path.stem, tuple(parts), tuple(problems))


def sections(
    text: str, headings: list[tuple[int, int, int, str]], title: str, begin: int = 0
) -> tuple[Part, ...]:
    """Parts between headings, each of which is (start, end, level, name).

    A heading without a body of its own goes on in the headings of those below it. If there
    is nothing but headings, the whole text is one part.
    """
    parts: list[Part] = []
    above: list[tuple[int, str]] = []
    bounds = [(begin, begin, 0, ""), *headings, (len(text), len(text), 0, "")]
    for (start, body, level, name), (end, *_) in pairwise(bounds):
        if level:
            above = [*(outer for outer in above if outer[0] < level), (level, name)]
        if text[body:end].strip():
            names = tuple(name for _, name in above if name)
            names = names[1:] if names and names[0] == title else names
            parts.append(Part(text, start, body, end, title, names))
    return tuple(parts) or (Part(text, begin, begin, len(text), title),)


def _is_heading(line: str, below: str) -> bool:
    paragraph = below.split("\n\n", 1)[0]
    return (
        line[:1].isalnum()
        and not line[:1].islower()
        and line[-1] not in ".!?,;…"
        and len(words(line)) <= 12
        # Followed by running text, so that the items of a list are not taken for headings.
        and len(words(paragraph)) >= 20
    )


def _markdown_headings(text: str, begin: int) -> list[tuple[int, int, int, str]]:
    found: list[tuple[int, int, int, str]] = []
    fence, place = "", begin
    above, above_at = "", begin
    for line in text[begin:].split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            above = ""
        elif mark:
            fence, above = mark[1][:3], ""
        elif match := _HEADING.match(line):
            found.append((place, place + len(line), len(match[1]), _plain(match[2])))
            above = ""
        elif (match := _UNDERLINE.match(line)) and above:
            level = 1 if "=" in match[1] else 2
            found.append((above_at, place + len(line), level, _plain(above)))
            above = ""
        else:
            # Only a line that follows a blank one: in a paragraph, `---` ends a table's head.
            fresh = line.strip() and not text[max(begin, place - 2) : place].strip()
            above, above_at = (line if fresh and "|" not in line else ""), place
        place += len(line) + 1
    return found


def _plain(heading: str) -> str:
    return _INLINE.sub(lambda match: match[1] or "", heading).strip()


def _object(line: str, place: str) -> Part:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise DocumentError(
            f"{place}, is not JSON", why=why, fix="Every line must be one whole object."
        ) from error
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise DocumentError(
            f"{place}, cannot be used",
            why="it is not an object with a string under `text`",
            fix='Write each line as {"text": …}, with "title", "id" and "source" if you like.',
        )
    for key, kinds in (("title", str), ("source", str), ("id", (str, int))):
        if value.get(key) is not None and not isinstance(value[key], kinds):
            raise DocumentError(
                f"{place}, cannot be used", why=f"`{key}` is {value[key]!r}, which is not a string"
            )
    text = whole(value["text"])
    title, source, own = (
        "" if value.get(key) is None else whole(str(value[key]))
        for key in ("title", "source", "id")
    )
    return Part(text, 0, 0, len(text), title, source=source, id=own)


def whole(text: str) -> str:
    """A text without halves of surrogate pairs, which no store and no tokenizer takes.

    JSON may hold such halves, and PDFs with odd fonts do.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
