"""Reads HTML pages."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from citeproof.tools.documents.base import Document, Part, outlined, unusable
from citeproof.tools.documents.encodings import decode_html
from citeproof.tools.documents.html_blocks import Writer
from citeproof.tools.documents.html_left_out import CODE
from citeproof.tools.documents.html_math import write_out_formulas

_TAG = re.compile(r"<[^<>]*>")
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_END = re.compile(r"</html[^<>]*>", re.IGNORECASE)
"""libxml2 stops there, but browsers show what follows."""
_XHTML = "http://www.w3.org/1999/xhtml"
_HEAD = 4096
"""A page may declare that it is XHTML within this many characters."""
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_OPEN = re.compile(
    r"<(?P<tag>script|style|title|textarea)\b[^<>]*(?<!/)>|(?P<comment><!--)", re.IGNORECASE
)
"""Tags and comments whose content, up to their end, is not text."""
_MOST = 100
"""Words that are left out without a report; more are reported if they are over half the page."""


def read_html(data: bytes, path: Path) -> Document:
    """Read the visible text of an HTML page, split at headings, without scripts and menus.

    Tables of contents are left out too, unless the page contains nothing else.
    """
    markup, problems = decode_html(data, path)
    markup = _DECLARATION.sub("", markup)
    if _XHTML in markup[:_HEAD]:
        markup = _CDATA.sub(lambda found: escape(found[1]), markup)
    return read_markup(_END.sub("", markup), path, problems)


def read_markup(
    markup: str, path: Path, problems: tuple[str, ...], title: str | None = None
) -> Document:
    """Read the text of HTML. Without a title, it is a page with one in its head."""
    from lxml import etree, html

    markup = _ILLEGAL.sub(" ", markup)
    if title is not None:
        markup = f"<body>{markup}"
    problems += _unclosed(markup)
    parser = html.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True
    )
    try:
        page: Any = html.document_fromstring(markup.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError as error:
        raise unusable(path, f"it holds no text ({error})", "Leave it out.") from error
    except etree.XMLSyntaxError as error:  # it accepts any markup, so memory has run out
        raise MemoryError(str(error)) from error
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        return _flat(markup, path, problems)
    _bracket_readings(page)
    write_out_formulas(page)
    if title is None:
        found = page.find(".//title")
        title = " ".join("".join(found.itertext()).split()) if found is not None else ""
    writer = Writer()
    writer.write(page)
    if not writer.pieces.place:
        writer = Writer(with_navigation=True)
        writer.write(page)
    text, headings, kept = writer.pieces.result()
    problems += _left_out(page, text)
    return outlined(path, text, headings, kept, title=title, problems=problems)


def _bracket_readings(page: Any) -> None:
    """Write what is shown above a word, such as how it is read, in brackets behind it."""
    for tag in page.iter("rt"):
        if tag.getparent().find("rp") is None and "".join(tag.itertext()).strip():
            tag.text, tag.tail = f"({tag.text or ''}", f"){tag.tail or ''}"


def _unclosed(markup: str) -> tuple[str, ...]:
    """Report an unclosed comment, script or similar, which hides the rest of the page."""
    place = 0
    while found := _OPEN.search(markup, place):
        tag = "" if found["comment"] else found["tag"].lower()
        end = re.compile(f"</{tag}" if tag else "-->", re.IGNORECASE)
        if not (closed := end.search(markup, found.start() + 2)):
            name = f"<{tag}>" if tag else "a comment"
            return (f"{name} in it is not closed, so what follows it was left out",)
        place = closed.end()
    return ()


def _left_out(page: Any, text: str) -> tuple[str, ...]:
    """Report a page that loses more than half of its words outside of links."""
    from lxml import etree

    there: list[str] = []
    walk = etree.iterwalk(page, events=("start", "end"))
    for event, tag in walk:
        if event == "end":
            there.append(tag.tail or "")
        elif tag.tag == "a" or tag.tag in CODE:  # tables of contents consist of links
            walk.skip_subtree()
        else:
            there.append(tag.text or "")
    words = len("".join(there).split())  # tags may divide words
    left = words - len(text.split())
    if left <= max(_MOST, words / 2):
        return ()
    return (
        f"{left:,} of its {words:,} words outside of links were left out: menus, buttons, hidden",
    )


def _flat(markup: str, path: Path, problems: tuple[str, ...]) -> Document:
    """Read the text of a page whose tags are nested too deeply to walk."""
    text = " ".join(_TAG.sub(" ", markup).split())
    told = "its tags are nested too deeply, so it was read without its headings"
    part = Part(text, 0, 0, len(text), path.stem)
    return Document(str(path), path.stem, (part,), (*problems, told))
