"""Reads guides, manuals and FAQs into sections whose headings can be asked for.

Files are in Markdown, reStructuredText or Mallard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from citeproof.errors import DocumentError
from citeproof.tools.documents.base import Document
from citeproof.tools.documents.files import parse
from citeproof.tools.sentences import split
from training.instructions import ask

_SUFFIXES = (".md", ".mdx", ".rst", ".page")
_WORDS = 110
"""Most words of a shown text, about a passage."""


@dataclass(frozen=True)
class Section:
    """A section of a guide, under a heading that is a question or an instruction."""

    source: str
    document: str
    """The document's title."""
    heading: str
    text: str
    question: str = ""
    """The heading, if it is a question."""
    act: str = ""
    """What to do, if the heading is an instruction: "change my time zone"."""


def sections(folder: Path) -> Iterator[Section]:
    """The sections of all files of a source whose headings can be asked for."""
    for document in read_guides(folder):
        if "/release" in f"/{Path(document.source).relative_to(folder)}":
            continue  # The headings of release notes instruct nobody.
        for part in document.parts:
            heading = part.headings[-1] if part.headings else part.title
            question, act = ask(heading)
            text = clean(part.text[part.body : part.end])
            if (question or act) and len(text.split()) >= 12:
                yield Section(folder.name, part.title, heading, text, question, act)


def read_guides(folder: Path) -> Iterator[Document]:
    """The documents of a source, in the order of their paths."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in _SUFFIXES:
            continue
        data = path.read_bytes()
        if path.suffix == ".page":
            data = _markdown(data)
        known = path if path.suffix == ".rst" else path.with_suffix(".md")
        # A file without text, such as an index, is left out.
        with suppress(DocumentError):
            yield replace(parse(data, known), source=str(path))


def shorten(text: str) -> str:
    """The first sentences of a text, as many as a passage has."""
    held = end = 0
    for span in split(text):
        held += len(text[span.start : span.end].split())
        if end and held > _WORDS:
            break
        end = span.end
    return " ".join(text[:end].split(" ")[: 2 * _WORDS])


def clean(text: str) -> str:
    """A text without the marks of its format."""
    text = re.sub(r"(?m)^(?:import .*|\.\. .*|\s*:[\w-]+:.*|[-=~^#*]{4,})$", "", text)
    text = re.sub(r"\{[%{].*?[%}]\}|\]\((?:[^()]|\([^()]*\))*\)|!?\[|</?[A-Za-z][^<>]*>", "", text)
    text = re.sub(r":[\w:+-]+:`([^`<]*?)(?:\s*<[^`>]*>)?`", r"\1", text).replace("``", "`")
    text = re.sub(r"\]\[[^\]]*\]|\]", "", text).replace("**", "")
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+", " ", text)).strip()


def _markdown(page: bytes) -> bytes:
    """A Mallard page as Markdown: its title, paragraphs, steps and sections."""
    lines: list[str] = []

    def walk(node: ElementTree.Element, level: int) -> None:
        number = 0
        for child in node:
            tag = child.tag.rpartition("}")[2]
            if tag == "title":
                lines.append(f"{'#' * level} {_text(child)}\n")
            elif tag in ("p", "code", "screen"):
                lines.append(f"{_text(child)}\n")
            elif tag == "item":
                number += 1
                lines.append(f"{number}. {_text(child)}\n")
            elif tag != "info":
                walk(child, level + 1 if tag == "section" else level)

    walk(ElementTree.fromstring(page), 1)
    return "\n".join(lines).encode()


def _text(node: ElementTree.Element) -> str:
    menu = "{http://projectmallard.org/1.0/}guiseq"
    for sequence in node.iter(menu):
        for child in list(sequence)[:-1]:
            child.tail = " → "
    return " ".join("".join(node.itertext()).split())
