"""Removes HTML from Markdown: tags, comments and struck-out text; writes tables out.

This takes time in proportion to the text, which a parser of HTML may not.
"""

from __future__ import annotations

import re
from html import unescape

from citeproof.tools.documents.base import number
from citeproof.tools.documents.letters import raised
from citeproof.tools.documents.markdown_code import ESCAPED, CodeLines, hide_mark
from citeproof.tools.documents.tables import Grid

_TAGS = (
    "a|abbr|article|aside|audio|b|big|blockquote|br|center|cite|code|dd|details|div|dl|dt|em"
    "|figcaption|figure|font|h[1-6]|hr|i|iframe|img|ins|kbd|li|mark|nav|ol|p|picture|samp|small"
    "|source|span|strong|sub|summary|sup|tt|u|ul|var|video|wbr"
)
_OTHER_TAG = r"""</[a-z][\w-]*\s*>|<[a-z][\w-]*\s[^<>=]{0,200}=\s*["'][^<>]*>"""
"""Matches any other tag that ends something or has an attribute; `<file>` may be a placeholder."""
_HTML = re.compile(
    rf"(?P<escaped>{ESCAPED})|(?P<code>(?<!`)(?P<ticks>`{{1,9}}+)[^`\n]{{1,2000}}(?P=ticks))"
    r"|(?P<comment><!--)|(?P<table><table\b[^<>]*>)"
    r"|(?m:^)[ ]{0,3}<h(?P<level>[1-6])\b[^<>]*>"
    r"(?P<name>(?:(?!<h[1-6]\b|\n\s*\n)(?s:.)){0,500}?)</h(?P=level)>"
    r"|<sup>(?P<raised>[^<>\n]{1,9})</sup>"
    r"|(?P<struck><(?P<old>del|s|strike)>[^<>]{0,2000}</(?P=old)>|(?<![~\\])~~[^~\n]{1,2000}~~(?!~))"
    r"|(?P<entity>&(?:\#\d{1,7}|\#x[\da-f]{1,6}|[a-z]\w{1,30});)"
    rf"|(?P<tag></?(?:{_TAGS})(?:\s[^<>]*)?/?>|{_OTHER_TAG})",
    re.IGNORECASE,
)
_ENDS = {"comment": re.compile("-->"), "table": re.compile("</table>", re.IGNORECASE)}
"""What begins and is long → its end, which is only looked for outside of code."""
_ROW = re.compile(r"<tr\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"<(t[dh])\b([^<>]*)>", re.IGNORECASE)
_SPAN = re.compile(r"\b(row|col)span\s*=\s*[\"']?(\d+)", re.IGNORECASE)
_ANY = re.compile(r"<[^<>]*>|<!--.*?(?:-->|\Z)", re.DOTALL)
_BREAK = ("<br", "<p", "</p", "<hr")


def without_html(text: str) -> tuple[str, tuple[str, ...]]:
    """Return Markdown without HTML, and what may be wrong with it; code is left alone.

    Escaped marks are hidden.
    """
    said: list[str] = []
    problems: tuple[str, ...] = ()
    lines, place = CodeLines(), 0
    found = _HTML.search(text)
    while place < len(text):
        end = text.find("\n", place) + 1 or len(text)
        is_code = lines.take(text[place:end])
        while not is_code and place < end:
            if found and found.start() < place:
                found = _HTML.search(text, place)
            if not found or found.start() >= end:
                break
            said.append(text[place : found.start()])
            place = found.end()
            if long := _ENDS.get(found.lastgroup or ""):
                closed = long.search(text, place)
                place = closed.end() if closed else len(text)
                if found["comment"] and not closed:
                    problems = ("a comment in it is not closed, so what follows it was left out",)
            said.append(_say(found, text[found.start() : place]))
            end = text.find("\n", max(end, place) - 1) + 1 or len(text)
        said.append(text[place:end])
        place = end
    return "".join(said), problems


def _say(found: re.Match[str], markup: str) -> str:
    if found["code"] is not None:
        return found[0]
    if found["escaped"] is not None:
        return hide_mark(found[0][1])
    if found["table"] is not None:
        return _table(markup)
    if found["level"] is not None:
        name = " ".join(without_html(found["name"])[0].split())
        return f"\n\n{'#' * int(found['level'])} {name}\n\n" if name else ""
    if found["raised"] is not None:
        return raised(found["raised"])
    if found["entity"] is not None:
        return unescape(found["entity"]).replace("\xa0", " ")
    return " " if found[0].lower().startswith(_BREAK) else ""


def _table(markup: str) -> str:
    grid = Grid()
    for row in _ROW.split(markup)[1:]:
        grid.start_row()
        _, *cells = _CELL.split(row)
        for tag, attributes, said in zip(cells[::3], cells[1::3], cells[2::3], strict=True):
            spans = {side.lower(): number(size) for side, size in _SPAN.findall(attributes)}
            text = unescape(_ANY.sub(" ", said)).strip()
            across, down = spans.get("col", 1), spans.get("row", 1)
            grid.add(text, across=across, down=down, is_header=tag.lower() == "th")
    return "\n\n{}\n\n".format("\n".join(grid.lines()))
