"""Walks the tags of an HTML page and writes its text line by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from citeproof.tools.documents.base import begins_section, fence_around, number
from citeproof.tools.documents.html_left_out import HEADINGS, is_left_out, is_permalink
from citeproof.tools.documents.letters import FORMS, count_in, raised
from citeproof.tools.documents.pieces import Pieces
from citeproof.tools.documents.tables import Grid

_LINES = {"li", "tr", "dt", "dd", "option", "caption", "figcaption", "td", "th"}
"""Blocks that begin a new line; all others are also separated by a blank line."""
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "center", "details", "div", "dl"),
    *("fieldset", "figure", "footer", "form", "header", "html", "main", "ol", "p", "pre"),
    *("section", "summary", "table", "tbody", "tfoot", "thead", "ul", "hr"),
    *HEADINGS,
    *_LINES,
}
_LISTS = {"ul", "ol", "dl"}
_SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
_CELL = 1200
"""Maximum characters of a table cell; a table with a longer one lays out the page."""
_CODE = re.compile(r"(?:^|[\s-])(?:code|highlight\w*|literal-block|programlisting|screen|source)\b")
"""Matches classes of code, or of the block around it. Other verbatim text may be prose."""


def _is_bold(tag: Any) -> bool:
    """Return whether all words of a paragraph are in bold; it may contain anchors and breaks."""
    is_bold = False
    for child in tag:
        if child.tag in {"b", "strong"}:
            is_bold = True
        elif len(child) or (child.text and child.text.strip()):
            return False
        if child.tail and child.tail.strip():
            return False
    return is_bold and not (tag.text and tag.text.strip())


def _is_code(verbatim: Any) -> bool:
    """Return whether a `pre` holds code."""
    around = verbatim.getparent()
    classes = [tag.get("class", "").lower() for tag in (verbatim, around) if tag is not None]
    is_code = verbatim.find("code") is not None or any(map(_CODE.search, classes))
    return is_code and bool("".join(verbatim.itertext()).strip())


class Writer:
    """Writes the text of a page into `pieces`."""

    def __init__(self, *, with_navigation: bool = False) -> None:
        self.pieces = Pieces()
        self._is_dropped = partial(is_left_out, with_navigation=with_navigation)
        self._starts: dict[Any, int] = {}
        """Open heading → the offset of its start."""
        self._lists: list[_List] = []
        self._verbatim = self._raised = 0
        self._code: Any = None
        """The open block of code."""
        self._fence = ""

    def write(self, page: Any) -> None:
        """Add the text of a tag and its descendants."""
        from lxml import etree

        walk = etree.iterwalk(page, events=("start", "end"))
        dropped: set[Any] = set()
        for event, tag in walk:
            if event == "start":
                if self._is_dropped(tag):
                    dropped.add(tag)
                    walk.skip_subtree()
                elif tag.tag == "table" and (grid := _grid(tag, self._is_dropped)):
                    self._table(tag, grid)
                    dropped.add(tag)
                    walk.skip_subtree()
                else:
                    self._enter(tag)
                    self._say(tag.text)
            else:
                if tag not in dropped:
                    self._leave(tag)
                if tag is not page:
                    self._say(tag.tail)

    def _say(self, text: str | None) -> None:
        if text:
            text = raised(text) if self._raised else text
            self.pieces.add(text if self._verbatim else _SPACE.sub(" ", text))

    def _enter(self, tag: Any) -> None:
        name = tag.tag
        if name == "br":
            self.pieces.break_line()
        elif name in _BLOCKS:
            self.pieces.end_line(self._gap(tag))
        if name in HEADINGS or (name in {"p", "div"} and not self._lists and _is_bold(tag)):
            self._starts[tag] = self.pieces.place
        elif name == "pre":
            self._verbatim += 1
            if _is_code(tag):
                self._code, self._fence = tag, fence_around("".join(tag.itertext()))
                self.pieces.line(self._fence)
        elif name == "sup":
            self._raised += 1
        elif name in _LISTS:
            self._lists.append(_List(self.pieces, tag, len(self._lists)))
        elif name == "li" and self._lists:
            self._lists[-1].item(tag)
        elif name == "dt" and self._lists:
            self._lists[-1].term(tag)
        elif name == "dd" and self._lists:
            self._lists[-1].definition()

    def _leave(self, tag: Any) -> None:
        name = tag.tag
        if tag is self._code:
            self.pieces.line(self._fence)
        if name in _BLOCKS:
            self.pieces.end_line(self._gap(tag))
        if name in HEADINGS:
            start = self._starts.pop(tag)
            said = " ".join(self.pieces.since(start).split())
            if begins_section(said):
                self.pieces.heading(start, HEADINGS[name])
        elif tag in self._starts:
            self.pieces.bold_line(self._starts.pop(tag))
        elif name == "pre":
            self._verbatim -= 1
        elif name == "sup":
            self._raised -= 1
        elif name == "li" and self._lists:
            self._lists[-1].end_item()
        elif name in _LISTS and self._lists:
            self._lists.pop().close()

    def _gap(self, tag: Any) -> str:
        """Return the separator between a block and the text around it."""
        if tag.tag == "dt" and self._lists and self._lists[-1].is_defined:
            return "\n\n"
        is_outermost = len(self._lists) == 1 and self._lists[0].tag is tag
        held = self._lists and not is_outermost and tag.tag not in {*HEADINGS, "table"}
        return "\n" if held or tag.tag in _LINES else "\n\n"

    def _table(self, tag: Any, grid: Grid) -> None:
        self.pieces.end_line("\n\n")
        for caption in tag.findall("caption"):
            self.pieces.line(_inline(caption, self._is_dropped))
        end = self.pieces.introduce(len(self._lists))
        self.pieces.rows(grid.lines())
        self.pieces.end_line("\n\n")
        end()


class _List:
    """An open list, and the text that names its items."""

    def __init__(self, pieces: Pieces, tag: Any, depth: int) -> None:
        self.tag = tag
        self.is_defined = False
        """Whether the last terms already have a definition."""
        self._pieces, self._kind, self._depth = pieces, tag.tag, depth
        self._style = tag.get("type", "1")
        self._step = -1 if tag.get("reversed") is not None else 1
        items = len(tag.findall("li")) if self._step < 0 else 1
        self._number = number(tag.get("start", ""), items)
        self.close: Callable[[], None] = lambda: None
        """Ends the list."""
        self._margin = pieces.margin
        if tag.tag != "dl":
            self.close = pieces.introduce(depth)
        self._terms: list[tuple[int, Any]] = []

    def item(self, tag: Any) -> None:
        self._number = number(tag.get("value", ""), self._number)
        said = count_in(FORMS.get(self._style, "decimal"), self._number)
        self._pieces.mark(self._margin + ("- " if self._kind == "ul" else f"{said}. "))
        self._pieces.margin = f"{self._margin}  "
        self._number += self._step

    def end_item(self) -> None:
        self._pieces.margin = self._margin
        self._pieces.mark("")  # an item without a text says nothing

    def term(self, tag: Any) -> None:
        """Begin a term; several in a row share one definition."""
        if self.is_defined:
            self._terms, self.is_defined = [], False
        self._terms.append((self._pieces.place, tag))

    def definition(self) -> None:
        """Begin the definition of the last terms."""
        if self._terms and not self.is_defined:
            names = (_inline(tag, is_permalink) for _, tag in self._terms)
            self._pieces.term(self._terms[0][0], ", ".join(filter(None, names)), self._depth)
            self.is_defined = True
            self.close = lambda: self._pieces.term(self._pieces.place, "", self._depth)


def _grid(table: Any, is_dropped: Any) -> Grid | None:
    """Return the rows and columns of a table, or None if it only lays out the page."""
    if table.find(".//table") is not None:
        return None
    grid = Grid()
    for row in table.iter("tr"):
        grid.start_row()
        for cell in row:
            if cell.tag in {"td", "th"} and not is_dropped(cell):
                said = _inline(cell, is_dropped)
                if len(said) > _CELL and len(table) < 3:
                    return None
                is_head = cell.tag == "th" or row.getparent().tag == "thead"
                across, down = (number(cell.get(name, "")) for name in ("colspan", "rowspan"))
                grid.add(said, across=across, down=down, is_header=is_head)
    return grid if max(map(len, grid.rows), default=0) > 1 else None


def _inline(tag: Any, is_dropped: Any) -> str:
    """Return the text of a tag on one line."""
    from lxml import etree

    said: list[str] = []
    walk = etree.iterwalk(tag, events=("start", "end"))
    for event, one in walk:
        if event == "start":
            if one is not tag and is_dropped(one):
                walk.skip_subtree()
                continue
            text = raised(one.text or "") if one.tag == "sup" else one.text or ""
            said.append((" " if one.tag in _BLOCKS or one.tag == "br" else "") + text)
        elif one is not tag:
            said.append((" " if one.tag in _BLOCKS else "") + (one.tail or ""))
    return " ".join("".join(said).split())
