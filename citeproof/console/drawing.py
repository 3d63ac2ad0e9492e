"""Draws compiled graphs locally: LangGraph's own drawings come from a web service.

grandalf arranges the nodes in layers, each below the nodes that lead to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from grandalf.graphs import Edge as Line
from grandalf.graphs import Graph, Vertex
from grandalf.layouts import SugiyamaLayout
from markupsafe import Markup

from citeproof.errors import MissingExtraError
from citeproof.files import file_errors, whole_file
from citeproof.graphs.shape import Edge, drawable, read_shape
from citeproof.pages.render import asset, fragment

__all__ = ["draw", "render_mermaid", "write_graph"]

_HEIGHT, _ROOM, _GAP, _MARGIN, _LETTER = 40.0, 14.0, 46.0, 24.0, 7.9
"""Height of a box; space between boxes, between layers and at the margin; width of a letter."""


@dataclass(frozen=True)
class Taken:
    """The path of a run through a graph, for a drawing within a page.

    Such a drawing has no style of its own, because a page's policy allows only one. That style must
    contain `graph.css` and rules for `ran`, `taken` and `told`.
    """

    name: str
    """Unique name of the drawing within the page: a letter, then letters, digits and dashes."""
    facts: Mapping[str, str]
    """Node that ran → text below its name."""
    edges: Mapping[tuple[str, str], int]
    """Source and target of an edge that was taken → how many times."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Node → address of its details."""


def draw_svg(nodes: Sequence[str], edges: Iterable[Edge], taken: Taken | None = None) -> Markup:
    """Draw a graph, and the path of a run through it if there is one.

    Names that begin and end with two underscores are terminals; edges with the same ends are one.
    """
    facts = taken.facts if taken else {}
    boxes = {}
    for node in nodes:
        width = max(len(node.strip("_")) * _LETTER + 34, len(facts.get(node, "")) * 6.0 + 26)
        boxes[node] = _Box(max(76.0, width), node)
    ways = [_way(e, boxes) for e in {(e.source, e.target): e for e in edges}.values()]
    width, height = _place(list(boxes.values()), ways)
    return fragment(
        "graph.svg",
        width=width,
        height=height,
        # From top to bottom, the order in which the Tab key visits links.
        boxes=sorted(boxes.values(), key=lambda box: box.xy[::-1]),
        ways=ways,
        taken=taken,
        prefix=f"{taken.name}-" if taken else "",
        style=None if taken else Markup(asset("graph.css")),
    )


@dataclass(eq=False)
class _Box:
    """A node, or a point halfway along an edge; grandalf sets its position."""

    w: float
    name: str = ""
    h: float = _HEIGHT
    xy: tuple[float, float] = (0.0, 0.0)

    @property
    def terminal(self) -> bool:
        return self.name.startswith("__") and self.name.endswith("__")


class _Numbered:
    """Hashes by number, because grandalf iterates over sets and their order must be fixed."""

    data: int

    def __hash__(self) -> int:
        return self.data


class _Vertex(_Numbered, Vertex):  # type: ignore[misc]
    pass


class _Line(_Numbered, Line):  # type: ignore[misc]
    pass


@dataclass
class _Part:
    """The line from one box to another, through grandalf's points in the middle of each layer."""

    ends: tuple[_Box, _Box]
    points: list[tuple[float, float]] = field(default_factory=list)

    def setpath(self, points: list[tuple[float, float]]) -> None:
        self.points = points


@dataclass
class _Way:
    """An edge; its label is a box along it, which reserves the space."""

    edge: Edge
    parts: list[_Part]
    course: str = ""

    @property
    def middle(self) -> _Box:
        return self.parts[0].ends[1]

    @property
    def back(self) -> bool:
        return self.parts[-1].points[-1][1] < self.parts[-1].points[0][1]


def _way(edge: Edge, boxes: Mapping[str, _Box]) -> _Way:
    stops = [boxes[edge.source], boxes[edge.target]]
    if edge.label or edge.source == edge.target:
        stops.insert(1, _Box(max(40.0, len(edge.label) * 6.4 + 8)))
    return _Way(edge, [_Part(ends) for ends in pairwise(stops)])


def _place(boxes: list[_Box], ways: Sequence[_Way]) -> tuple[float, float]:
    parts = [part for way in ways for part in way.parts]
    found = dict.fromkeys([*boxes, *(box for part in parts for box in part.ends)])
    vertices = {box: _Vertex(number) for number, box in enumerate(found)}
    for box, vertex in vertices.items():
        vertex.view = box
    lines = []
    for number, part in enumerate(parts):
        lines.append(_Line(*(vertices[box] for box in part.ends), data=number))
        lines[-1].view = part
    left, bottom = _MARGIN, 0.0
    for component in Graph(list(vertices.values()), lines).C:
        layout = SugiyamaLayout(component)
        layout.xspace, layout.yspace, layout.dw, layout.dh = _ROOM, _GAP, 4.0, 4.0
        layout.init_all()
        layout.draw(4)  # rounds that reduce crossings
        placed = [vertex.view for layer in layout.layers for vertex in layer]
        aside = left - min(view.xy[0] - view.w / 2 for view in placed)
        for view in placed:
            view.xy = (view.xy[0] + aside, view.xy[1] + _MARGIN)
        for line in component.E():
            line.view.points = [(x + aside, y + _MARGIN) for x, y in line.view.points]
        left = max(view.xy[0] + view.w / 2 for view in placed) + 2 * _ROOM
        bottom = max(bottom, *(view.xy[1] + view.h / 2 for view in placed))
    _spread(parts)
    for way in ways:
        way.course = _course(way)
    return left - 2 * _ROOM + _MARGIN, bottom + _MARGIN


def _spread(parts: Sequence[_Part]) -> None:
    """Let lines start and end side by side at the edges of boxes, ordered by where they lead."""
    sides: dict[tuple[_Box, int], list[tuple[float, int, int]]] = defaultdict(list)
    for number, part in enumerate(parts):
        for end, after in ((0, 1), (-1, -2)):
            (_, y), (x, to) = part.points[end], part.points[after]
            sides[part.ends[end], 1 if to > y else -1].append((x, number, end))
    for (box, side), found in sides.items():
        step = min(22.0, (box.w - 20) / len(found))
        for n, (_, number, end) in enumerate(sorted(found)):
            rim = box.h / 2 - 2 * end  # leaves room for the arrowhead before the box
            x, y = box.xy
            parts[number].points[end] = (x + step * (n - (len(found) - 1) / 2), y + side * rim)


def _course(way: _Way) -> str:
    """Return an edge's SVG path: straight within layers, to avoid boxes, and curved between."""
    x, y = way.parts[0].points[0]
    course = f"M{x:.1f} {y:.1f}"
    for part in way.parts:
        if part is not way.parts[0]:  # through the label, or around it if the edge leads back
            (u, v), bend = part.points[0], way.middle.xy[1]
            course += f"C{x:.1f} {bend:.1f} {u:.1f} {bend:.1f} {u:.1f} {v:.1f}"
            x, y = u, v
        half = _HEIGHT / 2 if part.points[-1][1] > y else -_HEIGHT / 2
        for u, v in part.points[1:]:
            last = (u, v) == part.points[-1]
            to = v if last else v - half
            bend = (y + to) / 2
            course += f"C{x:.1f} {bend:.1f} {u:.1f} {bend:.1f} {u:.1f} {to:.1f}"
            x, y = u, v if last else v + half
            course += "" if last else f"V{y:.1f}"
    return course


def draw(graph: Any) -> str:
    """Draw a compiled LangGraph graph as SVG."""
    own = read_shape(graph)
    return draw_svg(own.nodes, own.edges)


def render_mermaid(graph: Any) -> str:
    """Return the Mermaid text of a compiled LangGraph graph.

    The text sets no colours, because LangGraph's are unreadable on a dark page.
    """
    text: str = drawable(graph).draw_mermaid(with_styles=False)
    ends = "graph TD;\n\t__start__([start])\n\t__end__([end])\n"
    return text.replace("graph TD;\n", ends, 1)


def write_graph(path: Path, graph: Any) -> None:
    """Save a compiled graph as a drawing (`.svg`, `.png`) or as Mermaid text.

    `.md` gets the text in a fence; any other ending, such as `.mmd`, gets the text alone.

    Raises:
        MissingExtraError: The path ends in `.png`, and cairosvg is not installed.
        InputError: The file cannot be written.
    """
    match path.suffix.lower():
        case ".svg":
            data = draw(graph).encode()
        case ".png":
            with MissingExtraError.unless_installed("png", "A PNG cannot be drawn", "write an SVG"):
                cairosvg = import_module("cairosvg")
            data = cairosvg.svg2png(bytestring=draw(graph).encode(), scale=2)
        case ".md":
            data = f"```mermaid\n{render_mermaid(graph)}```\n".encode()
        case _:
            data = render_mermaid(graph).encode()
    with whole_file(path) as file, file_errors(path):
        file.write(data)
