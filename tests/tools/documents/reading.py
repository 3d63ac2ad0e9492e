"""Helpers for the tests of readers."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import DocumentError
from citeproof.paths import resolve
from citeproof.tools.documents.base import Document
from citeproof.tools.documents.files import load, parse
from citeproof.tools.documents.passages import cut
from citeproof.types import Passage

STORY = " ".join(f"Sentence number {n} tells of the lighthouse." for n in range(60))


def read(content: str | bytes, name: str) -> Document:
    """The document read from these bytes, in a file of this name."""
    return parse(content.encode() if isinstance(content, str) else content, Path(name))


def passages(content: str | bytes, name: str) -> list[Passage]:
    """The passages of a document, after checking their positions in its parts."""
    document = read(content, name)
    found = cut(document)
    texts = {part.text for part in document.parts}
    assert all(any(text[p.start : p.end] == p.text for text in texts) for p in found)
    return found


def read_file(path: Path, passage_words: int = 100) -> list[Passage]:
    path = resolve(path)
    return cut(parse(load(path), path), passage_words)


def refused(content: str | bytes, name: str) -> str:
    """The error of a document that cannot be read."""
    with pytest.raises(DocumentError) as caught:
        read(content, name)
    return str(caught.value)


def packed(made: Any) -> bytes:
    """The bytes of a Word document, a presentation or a workbook."""
    made.save(out := io.BytesIO())
    return out.getvalue()


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def saved_strictly(data: bytes) -> bytes:
    """An Office file as it is when saved as "Strict Open XML"."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        contents = {name: old.read(name) for name in old.namelist()}
    usual = rb"http://schemas\.openxmlformats\.org/(?!package|markup)(\w+)/2006/"
    strict = rb"http://purl.oclc.org/ooxml/\1/"
    return zipped({name: re.sub(usual, strict, content) for name, content in contents.items()})
