from __future__ import annotations

import random
import re
import sys
import xml.etree.ElementTree as ET
from itertools import combinations
from operator import mul
from pathlib import Path
from types import ModuleType
from unittest.mock import Mock

import pytest

from citeproof.console.drawing import Taken, draw, draw_svg, write_graph
from citeproof.errors import MissingExtraError
from citeproof.graphs.registry import METHODS
from citeproof.graphs.shape import Edge, drawable
from tests.command import run

NODES = ["__start__", "a", "b", "c", "d", "__end__"]
EDGES = [
    Edge("__start__", "a"),
    Edge("a", "b", True, "supported"),
    Edge("a", "c", True, "unsupported"),
    Edge("a", "d", True, "budget <spent>"),
    Edge("b", "d"),
    Edge("c", "a", True, "try again"),
    Edge("c", "c", True, "more"),
    Edge("c", "d", True, "give up"),
    Edge("d", "__end__"),
]
S = "{http://www.w3.org/2000/svg}"


def numbers(element: ET.Element, *names: str) -> list[float]:
    return [float(element.get(name, "0")) for name in names]


def boxes(root: ET.Element, *kinds: str) -> list[list[float]]:
    return [
        numbers(rect, "x", "y", "width", "height")
        for rect in root.iter(f"{S}rect")
        if rect.get("class") in kinds
    ]


def named(root: ET.Element) -> dict[str, list[float]]:
    """Name of a node → its box."""
    texts = [own for own in root.iter(f"{S}text") if "name" in own.get("class", "")]
    found = boxes(root, "box", "end", "box ran", "end ran")
    return dict(zip((text.text or "" for text in texts), found, strict=True))


def ways(root: ET.Element) -> list[ET.Element]:
    return [path for path in root.iter(f"{S}path") if path.get("marker-end")]


def course(path: ET.Element) -> list[tuple[float, float]]:
    """Points along a path, close to each other."""
    points: list[tuple[float, float]] = []
    x, y = 0.0, 0.0
    for kind, own in re.findall(r"([A-Z])([^A-Z]*)", path.get("d") or ""):
        match [kind, *map(float, own.split())]:
            case ["M", float(u), float(v)]:
                x, y = u, v
            case ["V", float(v)]:
                points += [(x, y + (v - y) * n / 8) for n in range(9)]
                y = v
            case ["C", *curve]:
                xs, ys = [x, *curve[::2]], [y, *curve[1::2]]
                for t in (n / 30 for n in range(31)):
                    parts = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3]
                    points.append((sum(map(mul, parts, xs)), sum(map(mul, parts, ys))))
                x, y = xs[-1], ys[-1]
            case other:
                raise AssertionError(other)
    return points


def apart(one: list[float], other: list[float]) -> bool:
    (x, y, w, h), (u, v, a, b) = one, other
    return x + w <= u or u + a <= x or y + h <= v or v + b <= y


def test_a_node_stands_below_those_that_lead_to_it() -> None:
    top = {name: box[1] for name, box in named(ET.fromstring(draw_svg(NODES, EDGES))).items()}
    assert top["start"] < top["a"] < top["b"] < top["d"] < top["end"]
    assert top["a"] < top["c"] < top["d"]


def test_neither_boxes_nor_labels_overlap() -> None:
    root = ET.fromstring(draw_svg([*NODES, "alone"], EDGES))
    placed = boxes(root, "box", "end", "behind")
    assert len(placed) == 7 + 6
    for one, other in combinations(placed, 2):
        assert apart(one, other), (one, other)
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    for x, y, w, h in placed:
        assert 0 <= x < x + w <= width
        assert 0 <= y < y + h <= height


def keeps_clear(root: ET.Element) -> None:
    """Every edge leads from box to box, and none lies behind another."""
    placed = named(root)
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    for path in ways(root):
        points = course(path)
        for x, y in points:
            assert 0 <= x <= width
            assert 0 <= y <= height
            for name, (left, top, w, h) in placed.items():
                inside = left + 1 < x < left + w - 1 and top + 1 < y < top + h - 1
                assert not inside, (path.get("d"), name)
        for x, y in (points[0], points[-1]):
            assert any(
                left < x < left + w and min(abs(y - top), abs(y - top - h)) <= 2.1
                for left, top, w, h in placed.values()
            ), path.get("d")


@pytest.mark.parametrize("method", METHODS)
def test_edges_of_a_method_keep_clear_of_boxes(method: str) -> None:
    graph = drawable(METHODS[method].sketch())
    root = ET.fromstring(draw(METHODS[method].sketch()))
    assert len(named(root)) == len(graph.nodes)
    assert len(ways(root)) == len({(edge.source, edge.target) for edge in graph.edges})
    keeps_clear(root)


@pytest.mark.parametrize("seed", range(40))
def test_edges_of_any_graph_keep_clear_of_boxes(seed: int) -> None:
    chance = random.Random(seed)
    nodes = [f"{n} {'wide ' * chance.randint(0, 4)}" for n in range(chance.randint(1, 14))]
    labels = ["", "", "over", "and over again"]
    edges = [
        Edge(chance.choice(nodes), chance.choice(nodes), label=chance.choice(labels))
        for _ in range(chance.randint(0, 2 * len(nodes)))
    ]
    keeps_clear(ET.fromstring(draw_svg(nodes, edges)))


def test_a_graph_is_drawn_the_same_at_all_times() -> None:
    graph = METHODS["composed"].sketch()
    assert len({draw(graph) for _ in range(8)}) == 1


def test_a_label_lies_on_its_edge() -> None:
    root = ET.fromstring(draw_svg(NODES, EDGES))
    labels = boxes(root, "behind")
    labelled = [path for path, edge in zip(ways(root), EDGES, strict=True) if edge.label]
    for path, (left, top, w, h) in zip(labelled, labels, strict=True):
        assert any(left <= x <= left + w and top <= y <= top + h for x, y in course(path))


def test_conditional_edges_are_dashed_and_edges_back_have_their_own_colour() -> None:
    root = ET.fromstring(draw_svg(NODES, EDGES))
    kinds = ["edge", *["edge maybe"] * 3, "edge", *["back maybe"] * 2, "edge maybe", "edge"]
    assert [path.get("class") for path in ways(root)] == kinds
    names = [text.text for text in root.iter(f"{S}text")]
    assert {*names[:6]} == {"start", "a", "b", "c", "d", "end"}
    assert "budget <spent>" in names


def test_the_way_taken_is_drawn_over_the_graph() -> None:
    taken = Taken(
        "run",
        {"__start__": "", "a": "2 × · 1.0 s", "c": "0.5 s"},
        {("__start__", "a"): 1, ("a", "c"): 1, ("c", "a"): 1},
        {"a": "#step-1", "c": "#step-2"},
    )
    root = ET.fromstring(draw_svg(NODES, EDGES, taken))
    assert list(root.iter(f"{S}style")) == []
    kinds = [str(rect.get("class")) for rect in root.iter(f"{S}rect")]
    assert [kind for kind in kinds if "ran" in kind] == ["end ran", "box ran", "box ran"]
    links = {link.get("href"): "".join(link.itertext()) for link in root.iter(f"{S}a")}
    assert links == {"#step-1": "a2 × · 1.0 s", "#step-2": "c0.5 s"}
    *_, there, back = found = [path for path in ways(root) if path.get("class") == "taken"]
    titles = [way.findtext(f"{S}title") for way in found]
    assert titles == ["start → a: 1 ×", "a → c: 1 ×", "c → a: 1 ×"]
    placed = named(root)
    for path, source, target in ((there, "a", "c"), (back, "c", "a")):
        for name, (x, _) in ((source, course(path)[0]), (target, course(path)[-1])):
            assert placed[name][0] < x < placed[name][0] + placed[name][2]
    ids = [marker.get("id") for marker in root.iter(f"{S}marker")]
    assert ids == ["run-edge-tip", "run-back-tip", "run-taken-tip"]


def test_a_box_is_as_wide_as_what_is_told_of_its_node() -> None:
    facts = {"a": "12,345 × · 1,234 min 59 s"}
    [plain] = boxes(ET.fromstring(draw_svg(["a"], [])), "box")
    [told] = boxes(ET.fromstring(draw_svg(["a"], [], Taken("run", facts, {}))), "box ran")
    assert told[2] > plain[2]


def test_a_drawing_is_saved_as_svg_or_mermaid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = run(["graph", "vtg"]).stdout
    assert "memory_verifier -.-> evidence_finder;" in plain
    assert "simplifier --> quoter;" in plain
    assert "__start__([start])" in plain
    for name in ("g.svg", "g.mmd", "g.md"):
        assert run(["graph", "vtg", "-o", name]).stdout == f"Graph: {name}\n"
    ET.parse("g.svg")
    assert Path("g.mmd").read_text("utf-8") == plain
    assert Path("g.md").read_text("utf-8") == f"```mermaid\n{plain}```\n"
    monkeypatch.setattr("os.fsync", Mock(side_effect=OSError(28, "full")))
    run(["graph", "vtg", "-o", "g.mmd"], code=2)
    assert Path("g.mmd").read_text("utf-8") == plain, "a full disk leaves what was there"
    failed = run(["graph", "vtg", "-o", "no/g.svg"])
    assert (failed.exit_code, "cannot be written" in failed.stderr) == (2, True)


def test_png_needs_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    graph = METHODS["vtg"].sketch()
    with pytest.raises(MissingExtraError, match=r"citeproof\[png\]"):
        write_graph(tmp_path / "g.png", graph)
    there = ModuleType("cairosvg")
    there.svg2png = lambda bytestring, scale: b"png of " + bytestring  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cairosvg", there)
    write_graph(tmp_path / "h.png", graph)
    assert (tmp_path / "h.png").read_bytes() == b"png of " + draw(graph).encode()
