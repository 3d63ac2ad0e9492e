"""Reads Markdown, and Jupyter notebooks, which contain it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from citeproof.text import whole
from citeproof.tools.documents.base import (
    BOLD,
    Document,
    Heading,
    name_of_bold,
    outlined,
    unusable,
)
from citeproof.tools.documents.encodings import decode, decode_any
from citeproof.tools.documents.markdown_boxes import without_boxes
from citeproof.tools.documents.markdown_code import CodeLines, show_marks, split_code
from citeproof.tools.documents.markdown_html import without_html
from citeproof.tools.documents.markdown_inline import CODE, without_marks
from citeproof.tools.documents.markdown_lines import join_wrapped
from citeproof.tools.documents.markdown_notes import without_note_marks
from citeproof.tools.documents.markdown_tags import without_tags
from citeproof.tools.documents.mdx import without_mdx
from citeproof.tools.documents.pipe_tables import write_out_tables
from citeproof.tools.documents.text import name_long_lists

_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*)$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
# It must begin with a key: other text below a rule is ordinary text.
_FRONT_MATTER = re.compile(
    r"\A\s*(?:\+\+\+[ \t]*\n|---[ \t]*\n(?=(?:[ \t]*(?:#[^\n]*)?\n)*[\w\"'][^\n:]*:\s))"
    r"(.*?\n)(?:---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_FRONT_TITLE = re.compile(
    r"^title[ \t]*[:=][ \t]*(?:[>|][-+]?[ \t]*\n(?P<folded>(?:[ \t]+\S.*\n)+)"
    r"|(?P<mark>[\"'])(?P<quoted>.*?)(?P=mark)[ \t]*(?:\#.*)?$"
    r"|(?P<plain>.*?)(?:[ \t]\#.*)?$)",
    re.MULTILINE,
)
_MARKS = re.compile(CODE + r"|[*`]|(?<!\w)_+|_+(?!\w)")
_BOLD = re.compile(r"(\*\*|__)(?=[^\s*_])(?P<said>[^*_]*[^\s*_])\1[ \t]*\\?")
"""Matches a line that is all bold, up to the break after it."""
_TICKS = re.compile(r"`{3,}")
_FIX = "Open it in Jupyter and save it again."
_MOST_OUTPUT = 2_000
"""Maximum characters of a cell's output; a longer one is data rather than text."""


def read_markdown(data: bytes, path: Path) -> Document:
    """Read Markdown, split at headings; front matter gives the title and is left out."""
    raw, problems = decode_any(data, path)
    return _read(raw, problems, path)


def read_mdx(data: bytes, path: Path) -> Document:
    """Read MDX: Markdown with components, whose titles and text stay, and scripts, which go."""
    raw, problems = decode_any(data, path)
    return _read(_change_body(raw, without_mdx), problems, path)


def _change_body(raw: str, change: Callable[[str], str]) -> str:
    """Change what follows the front matter."""
    front = _FRONT_MATTER.match(raw)
    begin = front.end() if front else 0
    return raw[:begin] + change(raw[begin:])


def _read(raw: str, problems: tuple[str, ...], path: Path) -> Document:
    raw = _change_body(raw, lambda body: without_note_marks(without_boxes(body)))
    raw, more = without_html(without_tags(raw))
    problems = (*problems, *more)
    raw = _change_body(raw, join_wrapped)
    text, rows = write_out_tables(split_code(without_marks(raw)))
    front = _FRONT_MATTER.match(text)
    begin = front.end() if front else 0
    headings = _markdown_headings(text, begin)
    named = _FRONT_TITLE.search(front[1]) if front else None
    given = (named["folded"] or named["quoted"] or named["plain"] or "") if named else ""
    inner = [*name_long_lists(text), *_bold_headings(raw, text)]
    headings = sorted([*headings, *(one for one in inner if one[0] >= begin)])
    headings = [(start, body, level, show_marks(name)) for start, body, level, name in headings]
    text, title = show_marks(text), show_marks(" ".join(given.split()))
    return outlined(path, text, headings, rows, title=title, problems=problems, begin=begin)


def _markdown_headings(text: str, begin: int) -> list[Heading]:
    """Return the headings of a text from an offset on, as `sections` takes them."""
    found: list[Heading] = []
    place = above_at = begin
    above = ""
    for line, is_code in split_code(text[begin:]):
        if is_code:
            above = ""
        elif match := _HEADING.match(line):
            found.append((place, place + len(line), len(match[1]), _plain(_opened(match[2]))))
            above = ""
        elif (match := _UNDERLINE.match(line)) and above:
            level = 1 if "=" in match[1] else 2
            found.append((above_at, place + len(line), level, _plain(above)))
            above = ""
        else:
            # Only after a blank line: within a paragraph, `---` ends a table's header.
            fresh = line.strip() and not text[max(begin, place - 2) : place].strip()
            above, above_at = (line if fresh and "|" not in line else ""), place
        place += len(line) + 1
    return found


def _bold_headings(raw: str, text: str) -> Iterator[Heading]:
    """Yield the sections that bold lines begin, by their place in the text without marks.

    The lines stay in the text, since they may be statements.
    """
    lines, place, above = f"\n{text}\n", 0, ""
    for line, is_code in split_code(raw):
        bold = None if is_code or above.strip() else _BOLD.fullmatch(line)
        above = line
        said = without_marks(bold["said"]) if bold else ""
        rest = line[bold.end("said") + len(bold[1]) :] if bold else ""
        if said and (found := lines.find(f"\n{said}{rest}\n", place)) >= 0:
            place = found + 1
            yield found, found, BOLD, name_of_bold(said)


def _opened(heading: str) -> str:
    """Return a heading without the marks that close it; those of `C#` belong to the word."""
    heading = heading.rstrip()
    name = heading.rstrip("#")
    return heading if name[-1:].strip() else name


def _plain(heading: str) -> str:
    return _MARKS.sub(lambda found: (found["code"] or "").strip("`"), heading).strip()


def read_ipynb(data: bytes, path: Path) -> Document:
    """Read a notebook: text, code, printed output and errors, split at headings of the text."""
    try:
        book: Any = json.loads(decode(data, path))
        blocks = [block for cell in book["cells"] for block in _blocks(cell)]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise unusable(path, f"it is not a valid notebook ({error!r})", _FIX) from error
    return read_markdown(whole("\n\n".join(filter(str.strip, blocks))).encode(), path)


def _blocks(cell: Any) -> list[str]:
    source = _join(cell.get("source", ""))
    if cell["cell_type"] != "code":
        return [_closed(source)]
    printed = []
    for output in cell.get("outputs", ()):
        said = _join(output.get("text") or output.get("data", {}).get("text/plain", ""))
        if "ename" in output:
            said = f"{output['ename']}: {output.get('evalue', '')}"
        if said.strip() and len(said) <= _MOST_OUTPUT and not said.startswith("<"):
            printed.append(_fenced(said.strip()))
    return [_fenced(source) if source.strip() else "", *printed]


def _fenced(code: str) -> str:
    fence = "`" * max([3, *(len(own) + 1 for own in _TICKS.findall(code))])
    return f"{fence}\n{code}\n{fence}"


def _closed(source: str) -> str:
    """Return the Markdown of a cell with the end of a block of code that it leaves open."""
    lines = CodeLines()
    for line in source.split("\n"):
        lines.take(line)
    return f"{source}\n{lines.fence}" if lines.fence else source


def _join(value: Any) -> str:
    return value if isinstance(value, str) else "".join(map(str, value))
