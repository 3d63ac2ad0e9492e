"""Reads the Markdown of an answer as plain paragraphs, and tells which of them state facts.

The syntax is CommonMark with tables, read by markdown-it-py. But nothing that can be false may get
lost: an indented line is prose, an unclosed fence hides nothing, and text that a rendered page
would not show (cells beyond a table's columns, text that is nested too deeply) is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, fence
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from citeproof.text import PAUSES, STOPS
from citeproof.tools.citations.marked_text import MARK
from citeproof.tools.citations.marks import strip_marks
from citeproof.tools.markdown_source import line_at
from citeproof.tools.sentences import LIST_ITEM, words

_NAME_WORDS = 12
_DEEPEST = 100
"""Maximum nesting: 50 lists or 100 quotes, far below Python's recursion limit."""
_LANGUAGE = re.compile(r"[A-Za-z\d+#._:/{}-]{1,30}")
_NO_CODE = frozenset({"markdown", "md", "text", "txt"})
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TASK = re.compile(r"\[[ xX]\]\s+")
_SIGNS = re.compile(r"(?:[\s>*+#-]|\d{1,9}[.)](?=\s))*")
_ITEM = re.compile(rf"{LIST_ITEM.pattern}|\s*[–—·§○◆►→✓✔]\s")
_ADDRESS = re.compile(r"https?://")
_EMPTY = " -–—,;"
"""Characters that fill empty table cells and separate marks."""
_ORDINAL = 3
"""Maximum digits of an item's number; "1871. The tower" begins with a year."""
_NUMBER = re.compile(rf"{MARK}|\[\^[^\[\]\n]{{1,40}}\]", re.IGNORECASE)
_SOURCE = re.compile(
    r"\[\^?\d{1,6}\]\s+https?://\S+"
    r"|\[[^\[\]\n]{1,80}\]:\s+<?https?://\S+(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?"
)
# `2**10`, `x**2`, `a*b*c` and `__init__` are not emphasis.
_LITERAL = re.compile(
    r"(?<=[A-Za-z\d])\*(?=[A-Za-z\d])|(?<=[A-Za-z\d)])\*\*(?=\d)|(?<=\d)\*\*(?=[A-Za-z]\b)"
    r"|(?<!\w)__[a-z]\w*?__(?!\w)"
)
_TAIL = re.compile(r"(?<!\W)\W+$")
_STOPS = frozenset(STOPS + PAUSES)
_NOTE = re.compile(r"\[\^[^\]\n]{1,40}\]|【[^】\n]{1,60}】|[¹²³⁰-⁹]+")
_ASIDES = re.compile(r"(?<![\])\s])(?:\s*(?:\[[^\[\]\n]*\]|\((?:[^()\n]|\([^()\n]*\))*\)))+\s*$")


Kind = Literal["prose", "row", "name", "code"]


class Paragraph(NamedTuple):
    """A stretch of text that is read by itself, without Markdown syntax.

    The marks of emphasis, lists, quotes and headings are removed. Inline code keeps its backticks,
    so that an index in it is not taken for a citation. Citations stay as marks such as `[1]`.
    """

    text: str
    """The text, with its line breaks."""
    kind: Kind
    """Prose consists of sentences, a table row is one sentence, a name stands above the text that
    it names, and code includes its fences. Only prose and rows can be true or false.
    """
    number: int
    """From 1. Parts of one paragraph of the page, such as items of a tight list, share a number."""


@dataclass(frozen=True)
class _Block:
    """A leaf of the Markdown tree: lines `start` to `end` of the text."""

    kind: Literal["prose", "row", "name", "code", "underlined", "source"]
    text: str
    start: int
    end: int
    items: tuple[int, ...] = ()
    """The list items that contain it, innermost last."""
    stands_free: bool = False
    """Whether it is outside of all lists and quotes."""
    plain: frozenset[int] = frozenset()
    """The numbers of its lines that are not entirely bold."""


def paragraphs(text: str) -> list[Paragraph]:
    """Return the paragraphs of a text in order, except those without a letter or digit.

    Addresses of sources (`[1]: https://…`, `[1] https://…`) are not paragraphs.
    """
    found: list[Paragraph] = []
    number, end, alone = 0, -1, True
    blocks = _with_marks(_Markdown(text).blocks())
    for block, following in zip_longest(blocks, blocks[1:]):
        for kind, said in _parts(block, following):
            apart = kind in ("name", "code")
            if block.start != end or apart or alone:
                number += 1
            found.append(Paragraph(said, kind, number))
            end, alone = block.start, apart  # the next part of this block
        end = block.end
    return found


def _parts(block: _Block, following: _Block | None) -> Iterator[tuple[Kind, str]]:
    """Yield the content of a block, with bold lines that are names separate from sentences."""
    if block.kind == "underlined":
        is_name = _is_line(block.text) and not block.items and not _is_closed(block.text)
        yield ("name" if is_name else "prose"), block.text
    elif block.kind == "prose":
        yield from _prose(block, following)
    elif block.kind != "source":
        yield block.kind, block.text


def _prose(block: _Block, following: _Block | None) -> Iterator[tuple[Kind, str]]:
    lines = block.text.split("\n")
    stands_apart = block.stands_free and following is not None and following.start > block.end
    if stands_apart and _is_line(block.text) and _can_be_name(block.text):
        yield "name", block.text
        return
    said: list[str] = []
    # In a list, a name only applies to text in the same item.
    names_next = following is not None and following.items[: len(block.items)] == block.items
    begins = True
    for place, line in enumerate(lines):
        is_last = place + 1 == len(lines)
        names = names_next if is_last else not lines[place + 1][:1].islower()
        is_name = begins and names and place not in block.plain and _can_be_name(line)
        begins = is_name or _is_closed(line) or strip_marks(line) != line
        if is_name:
            if said:
                yield "prose", "\n".join(said)
            said = []
            yield "name", line
        elif any(map(str.isalnum, line)) and not _SOURCE.fullmatch(line):
            said.append(line)
    if said:
        yield "prose", "\n".join(said)


def _is_line(text: str) -> bool:
    """Return whether a text is one line and not a list item."""
    return "\n" not in text and not _ITEM.match(text)


def _can_be_name(line: str) -> bool:
    """Return whether a line is short, has no citation and ends without a stop."""
    if strip_marks(line) != line or _NOTE.search(line):
        return False
    return 0 < len(words(line)) <= _NAME_WORDS and not _is_closed(line)


def _is_closed(line: str) -> bool:
    """Return whether a stop follows the last word, notes and bracketed text aside."""
    line = _NOTE.sub("", line)
    tails = (_TAIL.search(line), _TAIL.search(_ASIDES.sub("", line)))
    return any(tail and not _STOPS.isdisjoint(tail[0]) for tail in tails)


def _with_marks(blocks: Iterable[_Block]) -> list[_Block]:
    """Return the blocks with words; marks that stand alone are added to the block above."""
    found: list[_Block] = []
    above = -1
    for block in blocks:
        if any(map(str.isalnum, strip_marks(block.text))):
            above = above if block.kind in ("code", "source") else len(found)
            found.append(block)
        elif above >= 0 and any(map(str.isalnum, block.text)):
            found[above] = replace(found[above], text=f"{found[above].text} {block.text.strip()}")
    return found


class _Markdown:
    """The Markdown tree of a text."""

    def __init__(self, text: str) -> None:
        self._lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._links: dict[str, Any] = {}
        self._tokens = _parser().parse("\n".join(self._lines), self._links)

    def blocks(self) -> list[_Block]:
        """Return the leaves and the lines that the parser leaves out, in order."""
        found: list[_Block] = []
        read: set[int] = set()
        items: list[int] = []
        for place, token in enumerate(self._tokens):
            if token.type == "list_item_open":
                items.append(place)
            elif token.type == "list_item_close":
                items.pop()
            elif token.type == "table_open":
                found += self._table(place, tuple(items))
            if token.map and not token.nesting:
                start, end = token.map
                read.update(range(start, end))
                if block := self._leaf(place, start, end, tuple(items)):
                    found.append(block)
        for place, line in enumerate(self._lines):
            if place not in read and any(map(str.isalnum, line)):
                found.append(_Block("prose", self._plain(line), place, place + 1))
        return sorted(found, key=lambda block: block.start)

    def _leaf(self, place: int, start: int, end: int, items: tuple[int, ...]) -> _Block | None:
        """Return the block of code, a link definition, a heading or a paragraph, or None."""
        token, parent = self._tokens[place], self._tokens[place - 1]
        if token.type == "fence":
            code = f"{token.markup}{token.info}\n{token.content}{token.markup}"
            return _Block("code", code, start, end, items)
        if token.type == "definition":
            if _ADDRESS.match(token.meta["url"]) and len(words(token.meta["label"])) <= _NAME_WORDS:
                return _Block("source", token.meta["url"], start, end, items)
            said = self._plain("\n".join(self._lines[start:end]))
            return _Block("prose", said, start, end, items)
        if parent.type not in ("paragraph_open", "heading_open"):
            return None
        text, plain = _inline(token)
        if parent.type == "heading_open":
            underlined = parent.markup[0] != "#"
            return _Block("underlined" if underlined else "name", text, start, end, items)
        before = self._tokens[place - 2]
        if before.type == "list_item_open":
            text = _TASK.sub("", text, count=1)
            if len(before.info) > _ORDINAL:
                text = f"{before.info}{before.markup} {text}"
        return _Block("prose", text, start, end, items, parent.level == 0, plain)

    def _table(self, place: int, items: tuple[int, ...]) -> Iterator[_Block]:
        """Yield the rows of a table, as in `Year: 1871; Event: Ann Lee built the tower [1]`."""
        names: list[str] | None = None
        row: list[Token] = []
        while (token := self._tokens[place]).type != "table_close":
            place += 1
            if token.type == "inline":
                row.append(token)
            if token.type != "tr_close":
                continue
            start, end = row[0].map or (0, 0)
            line = self._lines[start]
            cells = [" ".join(_inline(cell)[0].split()) for cell in row]
            if names is None:
                names = [strip_marks(cell).rstrip(" :") for cell in cells]
                short = all(len(words(name)) <= _NAME_WORDS for name in names)
                yield _Block("name" if short else "row", "; ".join(cells), start, end, items)
            elif "|" not in line:  # a sentence directly below the table
                yield _Block("prose", cells[0], start, end, items)
            else:
                # The parser drops surplus cells, and fills in missing ones as empty.
                written = [cell for cell in escapedSplit(line) if any(map(str.isalnum, cell))]
                known = sum(any(map(str.isalnum, cell.content)) for cell in row)
                cells += [" ".join(self._plain(cell).split()) for cell in written[known:]]
                yield _Block("row", _row(names, cells), start, end, items)
            row = []

    def _plain(self, text: str) -> str:
        """Return lines that were not read as a block, without Markdown marks at their beginning."""
        bare = "\n".join(_SIGNS.sub("", line, count=1) for line in text.split("\n"))
        return _inline(_parser().parseInline(bare, self._links)[0])[0]


def _row(names: Sequence[str], cells: Sequence[str]) -> str:
    said: list[str] = []
    marks: list[str] = []
    for name, cell in zip_longest(names, cells, fillvalue=""):
        if not strip_marks(cell).strip(_EMPTY):
            marks.append(cell.strip(_EMPTY))
        elif len(names) > 1 and any(map(str.isalnum, name)):
            said.append(f"{name}: {cell}")
        else:
            said.append(cell)
    return " ".join(["; ".join(said), *filter(None, marks)]).strip()


def _inline(token: Token) -> tuple[str, frozenset[int]]:
    """Return the text of inline Markdown, and which of its lines are not entirely bold."""
    parts: list[str] = []
    plain: set[int] = set()
    line = bold = opened = 0
    label = ""
    in_brackets = False
    for child in token.children or ():
        if child.type in ("strong_open", "strong_close"):
            bold += child.nesting
        elif child.type == "link_open":
            opened, label = len(parts), child.meta.get("label", "")
        elif child.type == "link_close":
            parts[opened:] = [_link_text("".join(parts[opened:]), label, in_brackets)]
        else:
            said = child.content.replace("`", "")
            if child.type in ("softbreak", "hardbreak"):
                said = "\n"
            elif child.type == "code_inline":
                said = f"`{said}`"
            else:
                said = _BREAK.sub("\n", said)
            if "(" in said or ")" in said:
                in_brackets = said.rfind("(") > said.rfind(")")
            for n, piece in enumerate(said.split("\n")):
                line += n > 0
                if piece.strip() and not bold:
                    plain.add(line)
            parts.append(said)
    return "".join(parts), frozenset(plain)


def _link_text(text: str, label: str, in_brackets: bool) -> str:
    """Return the words of a link; the number of a source becomes a mark again.

    Within parentheses `[Wikipedia][1]` stays as it is, and is read as a mark.
    """
    shown = f"[{text}]" if _NUMBER.fullmatch(f"[{text}]") else text
    if not label.isdecimal() or label == text:
        return shown
    if shown == text:
        return f"[{text}][{label}]" if in_brackets else f"{text} [{label}]"
    return f"{shown}[{label}]"


@cache
def _parser() -> MarkdownIt:
    options = {"inline_definitions": True, "store_labels": True, "maxNesting": _DEEPEST}
    parser = MarkdownIt("commonmark", options).enable("table")
    parser.disable(["code", "html_block", "html_inline"])
    ends = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.at("fence", _fence, {"alt": ends})
    parser.inline.ruler.before("emphasis", "literal", _literal)
    return parser


def _literal(state: StateInline, silent: bool) -> bool:
    match = _LITERAL.match(state.src, state.pos)
    if match and not silent:
        state.pending += match[0]
    state.pos = match.end() if match else state.pos
    return match is not None


def _fence(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read code in a closed fence that names its language; the line of any other fence is skipped.

    A model may put its whole answer in a fence, which is then read as if the fence were not there.
    """
    line = line_at(state, start)
    mark, said = line[:1], line.lstrip(line[:1]).split()
    size = len(line) - len(line.lstrip(mark))
    if not fence(state, start, end, True):
        return False
    if silent:
        return True
    # The line up to which no fence of this size closes; else each of many would be read to the end.
    unclosed = state.env.setdefault("unclosed", {})
    least, until = unclosed.get((mark, state.blkIndent, end), (0, 0))
    names = not said or _LANGUAGE.fullmatch(said[0]) is not None
    is_code = names and _may_be_code(said)
    if is_code and not (size >= least and start < until):
        fence(state, start, end, False)
        last = line_at(state, state.line - 1)
        if state.line - 1 > start and last.startswith(mark * size) and not last.strip(f"{mark} \t"):
            return True
        state.tokens.pop()
        unclosed[mark, state.blkIndent, end] = (size, state.line)
    if len(said) > 1 or not names:
        return False  # its own line is prose
    state.push("fence_line", "", 0).map = [start, start + 1]
    state.line = start + 1
    return True


def _may_be_code(said: Sequence[str]) -> bool:
    """Return whether a fence names a language, and besides at most settings or a file name."""
    if not said or said[0].lower() in _NO_CODE:
        return False
    return len(said) < 3 or not {"=", "{"}.isdisjoint("".join(said))
