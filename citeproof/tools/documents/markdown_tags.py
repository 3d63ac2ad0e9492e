"""Reads what programs put between the blocks of Markdown: comments, tags around code and text."""

from __future__ import annotations

import re
from bisect import bisect_right

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from citeproof.tools.markdown_source import line_at

_HIGHLIGHT = re.compile(r"\s*\{%-?\s*highlight\b(?:\s+(?P<language>\w+))?[^%]*%\}\s*")
_END = re.compile(r"\{%-?\s*endhighlight\b[^%\n]*%\}")
_COMMENTS = [
    (re.compile(begins), re.compile(ends, re.MULTILINE))
    for begins, ends in (
        (r"%%(?!.*%%)", r"%%[ \t]*$"),
        (r"\{%-?\s*comment\s*-?%\}", r"\{%-?\s*endcomment\s*-?%\}"),
        (r"\{\{[<%]\s*comment\s*[%>]\}\}", r"\{\{[<%]\s*/\s?comment\s*[%>]\}\}"),
        (r"\{\{-?\s*/\*", r"\*/\s*-?\}\}"),
    )
]
"""The begin and the end of a comment of Obsidian, Liquid or Hugo."""
_LONGEST = 500
"""Most lines of a block; its end is not looked for further down."""
_OPENED = re.compile(
    r"<[a-z][\w-]*(?:\s[^<>]{0,500})?\smarkdown(?:=[\"']?(?:1|block|span)[\"']?)?"
    r"(?:\s[^<>]{0,500})?>[ \t]*"
)
"""A tag of HTML whose content is Markdown, in kramdown and MkDocs."""
_CLOSED = re.compile(r"</(?:article|aside|details|div|figure|p|section)>[ \t]*")
_SUMMARY = re.compile(r"<summary\b"), re.compile(r"</summary>[ \t]*$", re.MULTILINE)
"""What may stand in such content, or end it."""
_HAS_OPENED = "has_opened"
"""The key of the parser's environment that says that a text has such tags."""
_INDENT = 4


def tags_plugin(parser: MarkdownIt) -> None:
    """Leave out comments over several lines; read code between tags, and Markdown in HTML."""
    before = parser.block.ruler.before
    ends = ["paragraph", "list"]
    before("fence", "highlight", _highlight, {"alt": ends})
    before("fence", "comment", _comment, {"alt": ends})
    before("html_block", "opened", _opened, {"alt": ends})


def _highlight(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read Jekyll's blocks of code, which are tags."""
    if state.is_code_block(start) or not (begins := _HIGHLIGHT.fullmatch(line_at(state, start))):
        return False
    if (last := _find_end(state, start, end, _END)) is None:
        return False
    if not silent:
        token = state.push("fence", "code", 0)
        token.info = begins["language"] or ""
        token.content = state.getLines(start + 1, last, state.sCount[start], True)
        token.map = [start, last + 1]
        state.line = last + 1
    return True


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Leave out a comment; one that nothing closes is text."""
    line = line_at(state, start)
    closed_by = next((ends for begins, ends in _COMMENTS if begins.match(line)), None)
    if state.is_code_block(start) or closed_by is None:
        return False
    if closed := closed_by.search(line, 2):
        last = None if line[closed.end() :].strip() else start
    else:
        last = _find_end(state, start, end, closed_by)
    if last is None:
        return False
    if not silent:
        state.line = last + 1
    return True


def _find_end(state: StateBlock, start: int, end: int, mark: re.Pattern[str]) -> int | None:
    """The first line below `start` that has a mark."""
    last = min(end, start + _LONGEST) - 1
    found = mark.search(state.src, state.eMarks[start], state.eMarks[last])
    return bisect_right(state.bMarks, found.start()) - 1 if found else None


def _opened(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a tag by itself if what it holds is Markdown; HTML would go on to a blank line."""
    last = None if state.is_code_block(start) else _last_line(state, start, end)
    if last is not None and not silent:
        state.env[_HAS_OPENED] = True
        token = state.push("html_block", "", 0)
        token.content = state.getLines(start, last + 1, state.blkIndent, True)
        token.map = [start, last + 1]
        state.line = last + 1
    return last is not None


def _last_line(state: StateBlock, start: int, end: int) -> int | None:
    """The last line of a tag that stands by itself, or None if none does."""
    line, (begins, ends) = line_at(state, start), _SUMMARY
    if _OPENED.fullmatch(line):
        return start
    if _HAS_OPENED not in state.env:
        return None
    if begins.match(line):
        return start if ends.search(line) else _find_end(state, start, end, ends)
    goes_on = start + 1 < end and state.sCount[start + 1] >= state.blkIndent + _INDENT
    return start if _CLOSED.fullmatch(line) and not goes_on else None
