"""Reads the XML of Word documents: paragraphs, heading styles, notes and text boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from citeproof.tools.documents.pieces import Pieces

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
NAMES = {"w": W[1:-1], "m": _M[1:-1], "mc": _MC[1:-1]}
_SPACES = {W + "tab": " ", W + "br": "\n", W + "cr": "\n", W + "noBreakHyphen": "-", W + "p": "\n"}
_UNSAID = {W + "del", W + "moveFrom", W + "txbxContent", _MC + "Fallback", W + "pPr", W + "rPr"}
"""Elements that do not count once tracked changes are accepted; text boxes are read apart."""
_MOST_STYLES = 50
"""Styles that one may be based on, one on the other."""


def say(paragraph: Any) -> str:
    """The text of a paragraph, as a reader of the document sees it."""
    said: list[str] = []
    waiting = [*reversed(paragraph)]
    while waiting:
        element = waiting.pop()
        tag = element.tag
        if tag in {W + "t", _M + "t"}:
            said.append(element.text or "")
        elif tag in _SPACES and tag != W + "p":
            said.append(_SPACES[tag])
        elif tag in _UNSAID or not isinstance(tag, str):
            continue
        elif tag != W + "r" or not _is_hidden(element):
            waiting += reversed(element)
    return "".join(said)


def text_boxes(element: Any) -> Iterator[str]:
    """The texts of the boxes that hang on a paragraph or a table, each once."""
    for box in element.iter(W + "txbxContent"):
        text = "\n".join(filter(str.strip, map(say, box.iter(W + "p"))))
        if text and next(box.iterancestors(_MC + "Fallback", W + "txbxContent"), None) is None:
            yield text


def heading_levels(styles: Any) -> dict[str, int]:
    """Style → the level of the headings that are written in it, for those that are headings."""
    based: dict[str, str] = {}
    levels: dict[str, int] = {}
    for style in styles.iter(W + "style"):
        key = style.get(W + "styleId", "")
        name = _value(style.find(W + "name")).lower()
        outline = style.find(f"{W}pPr/{W}outlineLvl")
        based[key] = _value(style.find(W + "basedOn"))
        if name == "title":
            levels[key] = 1
        elif name.startswith("heading ") and name[8:].isdigit() and len(name) == 9:
            levels[key] = int(name[8:])
        elif outline is not None:
            levels[key] = number(outline) + 1
    for key in based:
        parent = key
        for _ in range(_MOST_STYLES):
            if parent in levels or not parent:
                break
            parent = based.get(parent, "")
        if parent in levels:
            levels.setdefault(key, levels[parent])
    return levels


def number(element: Any) -> int:
    """The number that is an element's value; 0 where it is none."""
    value = _value(element)
    return int(value) if value.isascii() and value.isdigit() and len(value) < 12 else 0


@dataclass
class Notes:
    """Footnotes, endnotes and comments, to be written below what refers to them."""

    KINDS: ClassVar[Mapping[str, tuple[str, str]]] = {
        "footnotes": ("footnote", "Footnote"),
        "endnotes": ("endnote", "Endnote"),
        "comments": ("comment", "Comment"),
    }
    """Kind of relation → the element, and what a reader calls it."""
    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    """(tag of the reference, id) → text; what was written is taken out."""

    @classmethod
    def of(cls, roots: Mapping[str, Any]) -> Notes:
        """The notes in the members of these kinds."""
        texts: dict[tuple[str, str], str] = {}
        for kind, root in roots.items():
            tag, name = cls.KINDS[kind]
            for note in root.iter(W + tag):
                author = note.get(W + "author", "")
                by = f" by {author}" if author else ""
                text = " ".join(" ".join(map(say, note.iter(W + "p"))).split())
                if text and note.get(W + "type", "normal") == "normal":
                    texts[f"{W}{tag}Reference", note.get(W + "id", "")] = f"{name}{by}: {text}"
        return cls(texts)

    def write(self, pieces: Pieces, element: Any) -> None:
        """The notes to which an element refers, each in a line."""
        if self.texts:
            tags = (f"{W}{tag}Reference" for tag, _ in self.KINDS.values())
            for reference in element.iter(*tags):
                self._line(pieces, (reference.tag, reference.get(W + "id", "")))

    def write_rest(self, pieces: Pieces) -> None:
        """The notes to which nothing has referred."""
        for key in list(self.texts):
            self._line(pieces, key)

    def _line(self, pieces: Pieces, key: tuple[str, str]) -> None:
        if text := self.texts.pop(key, ""):
            pieces.line(text)


def _is_hidden(run: Any) -> bool:
    vanish = run.find(f"{W}rPr/{W}vanish")
    return vanish is not None and vanish.get(W + "val", "1") not in {"0", "false", "off"}


def _value(element: Any) -> str:
    return str(element.get(W + "val", "")) if element is not None else ""
