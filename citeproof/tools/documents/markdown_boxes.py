"""Removes the marks of block quotes, boxes, definitions and footnotes from Markdown.

Boxes are GitHub's alerts and Obsidian's callouts, which are block quotes, the indented ones of
MkDocs, and those between colons of Docusaurus, VuePress and Pandoc.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citeproof.tools.documents.markdown_code import CodeLines

_QUOTED = re.compile(r"[ \t]*>[ \t]?")
_BEGINS_QUOTE = re.compile(r"[ \t]*>+[ \t]+\S")
"""A mark without a space may end a tag that has several lines, so it only begins a paragraph."""
_CALLOUT = re.compile(r"\[!(?P<kind>[\w-]+)(?:\|[^\]\n]*)?\][-+]?[ \t]*(?P<title>.*)")
_INDENTED = re.compile(
    r"[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]+(?P<kind>[\w-]+)(?:[ \t]+[\w-]+)*|===[!+]?(?=[ \t]+[\"']))"
    r"(?:[ \t]+(?P<mark>[\"'])(?P<title>.*)(?P=mark))?[ \t]*"
)
_ATTRIBUTES = re.compile(r"\{[^{}\n]{0,300}\}")
_FENCED = re.compile(r"(?P<kind>[\w-]*)(?:\[(?P<own>[^\]\n]*)\]|[ \t]+(?P<title>\S.*))?")
"""What follows the colons of a box."""
_DEFINITION = re.compile(r" {0,3}(?::[ \t]+|\[\^[^\[\]\s]{1,50}\]:[ \t]*)(?=\S)")
"""The mark before the definition of a term, or the text of a footnote."""
_ENDS_DEFINITION = re.compile(rf"[ \t]*\Z|{_DEFINITION.pattern}")
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<name>.*)|-+|=+|\*+")
"""A heading in a quote is none of the document's, and neither is a rule below a line."""
_BODY = 4
"""Columns by which the text of a box in MkDocs is indented, and that of a definition."""
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
    lines, said, code, place = text.split("\n"), _Paragraphs(), CodeLines(), 0
    while place < len(lines):
        line = lines[place]
        end = place + 1
        if code.take(line) or depth > _DEEPEST:
            said.add(line)
        elif (quote_end := _quote_end(lines, place)) > place:
            end = quote_end
            quoted = [_QUOTED.sub("", one, count=1) for one in lines[place:end]]
            said.add_apart(_read_quote(quoted, depth + 1), _begin(line))
        elif (box := _INDENTED.fullmatch(line)) and (box_end := _indented_end(lines, place)) > end:
            end = box_end
            indent = _columns(line) + _BODY
            body = "\n".join(one.expandtabs(_BODY)[indent:] for one in lines[place + 1 : end])
            said.add_apart(_title(box), _begin(line))
            said.add_apart(without_boxes(body, depth + 1), _begin(line))
        elif begins := _DEFINITION.match(line):
            wrapped = end
            while wrapped < len(lines) and not _ENDS_DEFINITION.match(lines[wrapped]):
                wrapped += 1
            end = _indented_end(lines, place, wrapped)
            below = [one.expandtabs(_BODY)[_BODY:] for one in lines[wrapped:end]]
            defined = [line[begins.end() :], *lines[place + 1 : wrapped], *below]
            for one in without_boxes("\n".join(defined), depth + 1).split("\n"):
                said.add(one)
        elif (title := _fenced_title(line)) is not None:
            said.add_apart(title, _begin(line))
        else:
            said.add(line)
        place = end
    return "\n".join(said.lines)


class _Paragraphs:
    """The lines of a text, some of them set apart by blank lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._is_apart = False

    def add(self, line: str) -> None:
        """Add a line."""
        if self._is_apart and self.lines:
            is_ended = not self.lines[-1].strip()
            if is_ended and not line.strip():
                return
            self.lines += [] if is_ended or not line.strip() else [""]
        self._is_apart = False
        self.lines.append(line)

    def add_apart(self, text: str, indent: str) -> None:
        """Add paragraphs, each line indented."""
        self._is_apart = True
        for line in text.strip("\n").split("\n") if text else ():
            self.add(f"{indent}{line}" if line else "")
        self._is_apart = True


def _read_quote(lines: Sequence[str], depth: int) -> str:
    callout = _CALLOUT.fullmatch(lines[0].rstrip())
    title = [_title(callout)] if callout else []
    body, code = list[str](), CodeLines()
    for line in lines[len(title) :]:
        heading = None if code.take(line) else _HEADING.fullmatch(line.strip())
        body += ["", heading["name"] or "", ""] if heading else [line]
    text = without_boxes("\n".join(body), depth).strip("\n")
    return "\n\n".join(filter(None, [*title, text]))


def _quote_end(lines: Sequence[str], place: int) -> int:
    """The line after the quote that begins at a line, which is this line if none does."""
    after_text = place > 0 and lines[place - 1].strip()
    begins = _BEGINS_QUOTE if after_text else _QUOTED
    end = place
    if begins.match(lines[place]):
        while end < len(lines) and _QUOTED.match(lines[end]):
            end += 1
    return end


def _indented_end(lines: Sequence[str], place: int, begin: int | None = None) -> int:
    """The line after the text that is indented below a line, from the next or another line on."""
    indent, end = _columns(lines[place]) + _BODY, begin or place + 1
    for below in range(end, len(lines)):
        if lines[below].strip():
            if _columns(lines[below]) < indent:
                break
            end = below + 1
    return end


def _fenced_title(line: str) -> str | None:
    """The title after the colons that begin or end a box; None for other lines."""
    if not line.lstrip().startswith(":::"):
        return None
    box = _FENCED.fullmatch(_ATTRIBUTES.sub(" ", line).strip(": \t\r"))
    return _title(box) if box else None


def _title(box: re.Match[str]) -> str:
    """The title of a box, unless it only repeats its kind."""
    named = box.groupdict()
    title = (named.get("own") or named["title"] or "").strip()
    return "" if title.lower() == (named["kind"] or "").lower() else title


def _begin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _columns(line: str) -> int:
    return len(_begin(line).expandtabs(_BODY))
