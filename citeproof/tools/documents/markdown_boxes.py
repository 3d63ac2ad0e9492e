"""Reads boxes in Markdown as text: their marks go, and their titles stay.

Boxes are GitHub's alerts and Obsidian's callouts, which are block quotes, the indented ones of
MkDocs, those between colons of Docusaurus, VuePress and Pandoc, and the directives of MyST.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from citeproof.tools.markdown_source import line_at

_CALLOUT = re.compile(r"\[!(?P<kind>[\w-]+)(?:\|[^\]\n]*)?\][-+]?[ \t]*(?P<title>.*)")
_INDENTED = re.compile(
    r"(?:(?:!!!|\?\?\?\+?)[ \t]+(?P<kind>[\w-]+)(?:[ \t]+[\w-]+)*|===[!+]?(?=[ \t]+[\"']))"
    r"(?:[ \t]+(?P<mark>[\"'])(?P<title>.*)(?P=mark))?[ \t]*"
)
_DIRECTIVE = re.compile(r"\{(?P<kind>[\w-]+)\}[ \t]*(?P<title>.*)")
_NAMES = {
    *("admonition", "attention", "caution", "danger", "dropdown", "error", "hint", "important"),
    *("note", "seealso", "sidebar", "tip", "topic", "warning"),
}
"""The directives of MyST that are boxes."""
_ATTRIBUTES = re.compile(r"\{[^{}\n]{0,300}\}")
_COLONS = re.compile(r"(?P<kind>[\w-]*)(?:\[(?P<own>[^\]\n]*)\]|[ \t]+(?P<title>\S.*))?")
"""What follows the colons of a box."""
_OPTIONS = re.compile(r"(?:[ \t]*:[\w-]+:.*\n)*")
"""Lines below a directive that give it a class or the like."""
_BOLD = re.compile(r"(\*\*|__)(?=[^\s*_])[^*_]*[^\s*_]\1[ \t]*\\?")
"""A line that is all bold."""
_DEFINITION = re.compile(r":[ \t]+(?=\S)")
_BOX = "colon_fence"
"""The type of the parser's token for a box between colons, which others become."""
_DEEPEST = 20
_INDENT = 4


def box_plugin(parser: MarkdownIt) -> None:
    """Read boxes, and bold lines above a text as paragraphs of their own."""
    ends = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", "indented_box", _read_indented, {"alt": ends})
    parser.block.ruler.before("fence", "definition", _read_definition)
    parser.core.ruler.after("block", "boxes", _open_boxes)


def _read_indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a box of MkDocs: a line with its kind and title, and indented text."""
    if state.is_code_block(start) or not (found := _INDENTED.fullmatch(line_at(state, start))):
        return False
    last = _indented_end(state, start, start + 1, end)
    if last > start + 1 and not silent:
        text = state.getLines(start + 1, last, state.sCount[start] + _INDENT, True)
        _add_box(state, last, text, _title(found))
    return last > start + 1


def _read_definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a definition without a term, which a heading may be, with the text indented below it."""
    mark = _DEFINITION.match(line_at(state, start))
    if state.is_code_block(start) or not mark:
        return False
    lines = (line_at(state, place) for place in range(start + 1, end))
    wrapped = [*takewhile(lambda line: line and not _DEFINITION.match(line), lines)]
    place = start + 1 + len(wrapped)
    last = _indented_end(state, start, place, end)
    if not silent:
        below = state.getLines(place, last, state.sCount[start] + _INDENT, True)
        _add_box(state, last, "\n".join([line_at(state, start)[mark.end() :], *wrapped, below]))
    return True


def _indented_end(state: StateBlock, start: int, place: int, end: int) -> int:
    """The line after the text that is indented below a line, from `place` on."""
    last = place
    for below in range(place, end):
        if not state.isEmpty(below):
            if state.sCount[below] < state.sCount[start] + _INDENT:
                break
            last = below + 1
    return last


def _add_box(state: StateBlock, end: int, text: str, title: str = "") -> None:
    token = state.push(_BOX, "", 0)
    token.content, token.meta = text, {"title": title}
    state.line = end


def _open_boxes(state: StateCore) -> None:
    state.tokens = list(_replace_boxes(state, state.tokens, 0))


def _replace_boxes(state: StateCore, tokens: Sequence[Token], depth: int) -> Iterator[Token]:
    """Yield tokens with the text of boxes in place of the boxes."""
    quotes = 0
    for at, token in enumerate(tokens):
        quotes += token.nesting if token.type.startswith("blockquote") else 0
        if quotes and token.type.startswith("heading"):
            token.tag = "p"  # a heading in a quote is none of the document's
        if (title := _box_title(token)) is not None and depth < _DEEPEST:
            yield from _make_paragraph(title, token.level)
            inner: list[Token] = []
            body = _OPTIONS.sub("", token.content, count=1)
            state.md.block.parse(body, state.md, state.env, inner)
            yield from _replace_boxes(state, inner, depth + 1)
        elif token.type == "inline" and tokens[at - 1].type == "paragraph_open":
            yield from _split(token, is_quoted=tokens[at - 2].type == "blockquote_open")
        else:
            yield token


def _box_title(token: Token) -> str | None:
    """The title of a box between fences, "" without one, or None if it is no such box."""
    if "title" in token.meta:
        return str(token.meta["title"])
    info = token.info.strip(": \t\r")
    directive = _DIRECTIVE.fullmatch(info)
    if directive and directive["kind"] in _NAMES:
        return _title(directive)
    if token.type != _BOX:
        return None
    found = _COLONS.fullmatch(_ATTRIBUTES.sub(" ", info).strip())
    return _title(found) if found else info


def _split(text: Token, *, is_quoted: bool) -> Iterator[Token]:
    """Yield the text of a paragraph; the title of a callout or a bold line stands by itself."""
    first, _, rest = text.content.partition("\n")
    callout = _CALLOUT.fullmatch(first.rstrip()) if is_quoted else None
    if callout:
        first = _title(callout)
    elif not (text.level == 1 and _BOLD.fullmatch(first)):
        yield text
        return
    text.content = first.rstrip("\\ \t") or rest
    yield text
    if first and rest:
        yield from [Token("paragraph_close", "p", -1), *_make_paragraph(rest, text.level - 1)[:2]]


def _make_paragraph(text: str, level: int) -> list[Token]:
    """The tokens of a paragraph, or none without a text."""
    if not text:
        return []
    begin, end = Token("paragraph_open", "p", 1), Token("paragraph_close", "p", -1)
    begin.level = end.level = level
    return [begin, Token("inline", "", 0, content=text, level=level + 1, children=[]), end]


def _title(box: re.Match[str]) -> str:
    """The title of a box, unless it only repeats its kind."""
    named = box.groupdict()
    title = (named.get("own") or named["title"] or "").strip()
    return "" if title.lower() == (named["kind"] or "").lower() else title
