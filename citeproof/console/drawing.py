"""Pictures of a compiled graph, made here: LangGraph's own come from a web service."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from citeproof.console.diagram import draw_svg
from citeproof.errors import MissingExtraError
from citeproof.files import file_errors
from citeproof.graphs.shape import drawable, read_shape
from citeproof.paths import expand

__all__ = ["draw", "render_mermaid", "write_graph"]


def draw(graph: Any) -> str:
    """The SVG of a compiled LangGraph graph."""
    own = read_shape(graph)
    return draw_svg(own.nodes, own.edges)


def render_mermaid(graph: Any) -> str:
    """The Mermaid text of a compiled LangGraph graph.

    It names no colours: those of LangGraph's own cannot be read on a dark page.
    """
    text: str = drawable(graph).draw_mermaid(with_styles=False)
    ends = "graph TD;\n\t__start__([start])\n\t__end__([end])\n"
    return text.replace("graph TD;\n", ends, 1)


def write_graph(path: Path, graph: Any, form: str = "") -> None:
    """Save a compiled graph: drawn, or as Mermaid text, which is fenced in a Markdown file.

    The form is `.svg`, `.png`, `.md` or `.mmd`; by default what the path ends in.

    Raises:
        MissingExtraError: A PNG is asked for, and cairosvg is not installed.
        InputError: The file cannot be written.
    """
    match form or path.suffix.lower():
        case ".svg":
            data = draw(graph).encode()
        case ".png":
            data = _rasterise(draw(graph))
        case ".md":
            data = f"```mermaid\n{render_mermaid(graph)}```\n".encode()
        case _:
            data = render_mermaid(graph).encode()
    with file_errors(path):
        expand(path).write_bytes(data)


def _rasterise(drawing: str) -> bytes:
    with MissingExtraError.unless_installed("png", "A PNG cannot be drawn", "write an SVG"):
        cairosvg = import_module("cairosvg")
    data: bytes = cairosvg.svg2png(bytestring=drawing.encode(), scale=2)
    return data
