"""In which block and which table cell the text of an HTML page stands."""

from __future__ import annotations

from typing import Any

__all__ = ["HEADINGS", "LINES", "LISTS", "Layout"]

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LINES = {"li", "tr", "dt", "dd", "option", "caption", "figcaption"}
LISTS = {"dl", "ol", "table", "ul"}
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "details", "div", "dl", "fieldset"),
    *("figure", "footer", "form", "header", "html", "main", "ol", "p", "pre", "section"),
    *("summary", "table", "tbody", "tfoot", "thead", "ul"),
    *HEADINGS,
    *LINES,
}


class Layout:
    """In which block and which table cell the text of an HTML page stands.

    Tags are entered in the order of the page, and each takes after its parent: to look for
    parents anew, or through a row, takes minutes where a page leaves out its end tags.
    """

    def __init__(self) -> None:
        # By id(): the hash of a tag is that of all its markup.
        self._places: dict[int, tuple[Any, Any]] = {}
        self._starts: dict[int, int] = {}
        self._widths: dict[int, int] = {}
        self._columns: dict[int, int] = {}
        self._wraps: set[int] = set()

    def enter(self, tag: Any, length: int) -> bool:
        """Whether the tag begins a block; `length` is that of the text so far."""
        block, cell = self.place(tag)
        is_cell = tag.name in {"td", "th"}
        is_block = tag.name in _BLOCKS and id(tag) not in self._wraps
        if is_cell:
            cell = tag
            self._columns[id(tag)] = self._widths.get(id(block), 0)
            self._widths[id(block)] = self._columns[id(tag)] + 1
        elif is_block:
            block, cell = tag, None
            self._starts[id(tag)] = length
        if is_cell or id(tag) in self._wraps:
            held = _held(tag)
            if len(held) == 1 and _is_wrap(held[0]):
                self._wraps.add(id(held[0]))  # as a paragraph, each cell would leave its row
        self._places[id(tag)] = block, cell
        return is_block

    def place(self, node: Any) -> tuple[Any, Any]:
        """The block and the cell that hold a text or a tag."""
        return self._places.get(id(node.parent), (None, None))

    def has_said(self, block: Any, length: int) -> bool:
        """Whether there is text in the block already; `length` is that of the text so far."""
        return length > self._starts.get(id(block), 0)

    def bars(self, left: Any, cell: Any, begins: bool) -> int:
        """How many bars stand before a cell; empty ones have theirs, or columns would shift."""
        column = self._columns.get(id(cell), 0)
        return column if begins else max(1, column - self._columns.get(id(left), 0))


def _held(tag: Any) -> list[Any]:
    """What stands right in a tag, without comments and white space."""
    from bs4.element import NavigableString

    return [one for one in tag if one.name or (type(one) is NavigableString and one.strip())]


def _is_wrap(tag: Any) -> bool:
    """Whether a tag that is alone in a cell has lines of the cell in it, no page of its own."""
    if tag.name == "div":
        held = _held(tag)
        return len(held) == 1 or not any(one.name in _BLOCKS for one in held)
    return bool(tag.name == "p")
