"""Removes the marks of block quotes, boxes, definitions and footnotes from Markdown.

Boxes are GitHub's alerts and Obsidian's callouts, which are block quotes, the indented ones of
MkDocs, those between colons of Docusaurus, VuePress and Pandoc, and the directives of MyST.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import dedent
from typing import NamedTuple

from citeproof.tools.documents.markdown_blocks import (
    QUOTED,
    Paragraphs,
    fence_end,
    indented_end,
    quote_end,
)
from citeproof.tools.documents.markdown_code import DEEP, CodeLines, begin_of, columns

_CALLOUT = re.compile(r"\[!(?P<kind>[\w-]+)(?:\|[^\]\n]*)?\][-+]?[ \t]*(?P<title>.*)")
_INDENTED = re.compile(
    r"[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]+(?P<kind>[\w-]+)(?:[ \t]+[\w-]+)*|===[!+]?(?=[ \t]+[\"']))"
    r"(?:[ \t]+(?P<mark>[\"'])(?P<title>.*)(?P=mark))?[ \t]*"
)
_ATTRIBUTES = re.compile(r"\{[^{}\n]{0,300}\}")
_FENCED = re.compile(r"(?P<kind>[\w-]*)(?:\[(?P<own>[^\]\n]*)\]|[ \t]+(?P<title>\S.*))?")
"""What follows the colons of a box."""
_DIRECTIVE = re.compile(
    r"[ \t]*(?P<fence>`{3,}|~{3,}|:{3,})\{(?P<kind>admonition|attention|caution|danger|dropdown"
    r"|error|hint|important|note|seealso|sidebar|tip|topic|warning)\}[ \t]*(?P<title>.*)"
)
_OPTION = re.compile(r"[ \t]*:[\w-]+:")
"""A line below a directive that gives it a class or the like."""
_DEFINITION = re.compile(r" {0,3}(?::[ \t]+|\[\^[^\[\]\s]{1,50}\]:[ \t]*)(?=\S)")
"""The mark before the definition of a term, or the text of a footnote."""
_ENDS_DEFINITION = re.compile(rf"[ \t]*\Z|{_DEFINITION.pattern}")
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<name>.*)|-+|=+|\*+")
"""A heading in a quote is none of the document's, and neither is a rule below a line."""
_DEEPEST = 20


def without_boxes(text: str, depth: int = 0) -> str:
    r"""Return Markdown without the marks of quotes, boxes and definitions; titles of boxes stay.

    >>> without_boxes("> [!tip] Tip\n> Oil the lamp\n> daily.")
    'Oil the lamp\ndaily.'
    >>> without_boxes('!!! note "Limits"\n\n    Five lamps.')
    'Limits\n\nFive lamps.'
    >>> without_boxes(":::note\n\nFive lamps.\n\n:::").strip()
    'Five lamps.'
    """
    lines, said, code, place = text.split("\n"), Paragraphs(), CodeLines(), 0
    while place < len(lines):
        line, block = lines[place], None
        if depth <= _DEEPEST and not code.fence:
            block = _read_directive(lines, place)
        if block is None and not code.take(line) and depth <= _DEEPEST:
            found = (read(lines, place) for read in _READERS)
            block = next((one for one in found if one is not None), None)
        if block is None:
            said.add(line)
            place += 1
            continue
        inner = without_boxes(block.body, depth + 1)
        if block.is_apart:
            said.add_apart(block.title, begin_of(line))
            said.add_apart(inner, begin_of(line))
        else:
            for own in inner.split("\n"):
                said.add(own)
        place = block.end
    return "\n".join(said.lines)


class _Block(NamedTuple):
    """What a quote, box or definition says, without its marks and its indent."""

    body: str
    end: int
    """The line after it."""
    title: str = ""
    is_apart: bool = True
    """Whether it is a paragraph of its own; a definition follows its term."""


def _read_directive(lines: Sequence[str], place: int) -> _Block | None:
    if not (found := _DIRECTIVE.fullmatch(lines[place])):
        return None
    begin = place + 1
    while begin < len(lines) and _OPTION.match(lines[begin]):
        begin += 1
    end = fence_end(lines, begin, found["fence"])
    return _Block(dedent("\n".join(lines[begin:end])), end + 1, _title(found))


def _read_quote(lines: Sequence[str], place: int) -> _Block | None:
    if (end := quote_end(lines, place)) == place:
        return None
    said = [QUOTED.sub("", line, count=1) for line in lines[place:end]]
    callout = _CALLOUT.fullmatch(said[0].rstrip())
    body, code = list[str](), CodeLines()
    for line in said[1:] if callout else said:
        heading = None if code.take(line) else _HEADING.fullmatch(line.strip())
        body += ["", heading["name"] or "", ""] if heading else [line]
    return _Block("\n".join(body).strip("\n"), end, _title(callout) if callout else "")


def _read_indented(lines: Sequence[str], place: int) -> _Block | None:
    found = _INDENTED.fullmatch(lines[place])
    if not found or (end := indented_end(lines, place)) == place + 1:
        return None
    indent = columns(lines[place]) + DEEP
    body = [line.expandtabs(DEEP)[indent:] for line in lines[place + 1 : end]]
    return _Block("\n".join(body), end, _title(found))


def _read_definition(lines: Sequence[str], place: int) -> _Block | None:
    if not (mark := _DEFINITION.match(lines[place])):
        return None
    wrapped = place + 1
    while wrapped < len(lines) and not _ENDS_DEFINITION.match(lines[wrapped]):
        wrapped += 1
    end = indented_end(lines, place, wrapped)
    below = [line.expandtabs(DEEP)[DEEP:] for line in lines[wrapped:end]]
    said = [lines[place][mark.end() :], *lines[place + 1 : wrapped], *below]
    return _Block("\n".join(said), end, is_apart=False)


def _read_fence(lines: Sequence[str], place: int) -> _Block | None:
    """Only the line of colons that begins or ends a box; the text between is not indented."""
    line = lines[place]
    if not line.lstrip().startswith(":::"):
        return None
    found = _FENCED.fullmatch(_ATTRIBUTES.sub(" ", line).strip(": \t\r"))
    return _Block("", place + 1, _title(found)) if found else None


_READERS = (_read_quote, _read_indented, _read_definition, _read_fence)


def _title(box: re.Match[str]) -> str:
    """The title of a box, unless it only repeats its kind."""
    named = box.groupdict()
    title = (named.get("own") or named["title"] or "").strip()
    return "" if title.lower() == (named["kind"] or "").lower() else title
