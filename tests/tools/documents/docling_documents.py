"""A document as docling's converter returns it, scripted without its classes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

WIDTH, HEIGHT = 600, 800
TEXT = "The tower stands on a rock. It was lit in 1871 and shone on."
TURN = TEXT.index("in 1871")
"""Where the text continues on the second page."""
TABLE = [["Isle", "2020", "2021"], ["North", "12", "14"], ["South", "3", "4"]]


class Rectangle(NamedTuple):
    """A `BoundingBox`; its origin is the lower left corner unless it says otherwise."""

    l: float  # noqa: E741
    t: float
    r: float
    b: float
    from_top: bool = False

    def to_top_left_origin(self, height: float) -> Rectangle:
        """Its `t` and `b` counted from the upper edge."""
        if self.from_top:
            return self
        return Rectangle(self.l, height - self.t, self.r, height - self.b, True)


class Ref(NamedTuple):
    """A `RefItem`."""

    item: Any

    def resolve(self, document: object) -> Any:
        """The item."""
        return self.item


def cell(row: int, column: int) -> tuple[float, float, float, float]:
    """The rectangle of a table cell, from the upper edge."""
    return 60 + column * 100, 300 + row * 20, 150 + column * 100, 315 + row * 20


def item(label: str, text: str = "", *places: Any, children: Any = (), **more: Any) -> Any:
    """An item; its places are (page, rectangle, span of the text)."""
    prov = [SimpleNamespace(page_no=p, bbox=Rectangle(*box), charspan=s) for p, box, s in places]
    refs = [Ref(child) for child in children]
    said = {"text": text, "orig": text} if text else {}
    values = {"label": label, "content_layer": "body", "prov": prov, "children": refs}
    return SimpleNamespace(**{**values, **said, **more})


def scripted_table(rows: Any, *places: Any, children: Any = ()) -> Any:
    """A table of `rows`, whose cells are (text, is_header, rectangle)."""
    cells: dict[int, Any] = {}

    def one(given: Any) -> Any:
        text, is_header, box = given
        bbox = Rectangle(*box)._replace(from_top=True) if box else None
        made = SimpleNamespace(text=text, column_header=is_header, bbox=bbox)
        return cells.setdefault(id(given), made)  # a merged cell is the same in all its places

    grid = [[one(given) for given in row] for row in rows]
    data = SimpleNamespace(grid=grid)
    return item("table", "", *places, children=children, data=data)


def scripted(*items: Any) -> Any:
    """The document, or one with the given items."""
    pages = {n: SimpleNamespace(size=SimpleNamespace(width=WIDTH, height=HEIGHT)) for n in (1, 2)}
    caption = item("caption", "Table 1: Crowns", (2, (60, 520, 360, 505), (0, 15)))
    rows = [
        [(text, r == 0, cell(r, c)) for c, text in enumerate(row)] for r, row in enumerate(TABLE)
    ]
    listed = item("list_item", "North", (2, (60, 690, 540, 680), (0, 5)), marker="-")
    own = items or (
        item("title", "Isles", (1, (60, 740, 300, 700), (0, 5))),
        item("section_header", "Crowns", (1, (60, 690, 300, 670), (0, 6)), level=1),
        item(
            "text",
            TEXT,
            (1, (60, 660, 540, 600), (0, TURN - 1)),
            (2, (60, 760, 540, 700), (TURN, len(TEXT))),
        ),
        item("list", children=[listed]),
        scripted_table(rows, (2, (60, 500, 360, 440), (0, 0)), children=[caption]),
        item("picture", "", (2, (60, 400, 360, 300), (0, 0))),
        item("page_footer", "Page 2", (2, (60, 20, 360, 10), (0, 6)), content_layer="furniture"),
    )
    return SimpleNamespace(body=item("unspecified", children=own), pages=pages)
