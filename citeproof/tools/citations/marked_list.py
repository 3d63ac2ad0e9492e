"""Reads names with citation marks: which name cites which numbers."""

from __future__ import annotations

import re

from citeproof.tools.citations.marked_text import (
    MarkedSentence,
    join_sentences,
    read_marked,
    unwrap,
)

# A name ends after its marks if another name follows; "[sic]" is no mark.
_AFTER_MARKS = re.compile(r"(?<=[\d\s]\])(?:\s*[,;.]?\s+(?!\[)|[,;](?!\s*\[))")
_COMMA = re.compile(r"[,;]\s+")
# "And Then There Were None" is a name.
_BEGIN = re.compile(r"^\s*(?:(?:[-*+•#>]+|\d{1,3}[.)])\s+)?(?:(?:and|or)\s+)?")
_END = re.compile(r"[\s.,;:]+$")
_EDGES = " \t,;:"


def read_marked_list(text: str) -> list[MarkedSentence]:
    """Read the names of a list without their marks, in order, each with the numbers it cites.

    A name ends after its marks or at the end of its line, so `Washington, D.C. [1]` is one name. A
    single line without marks is split at its commas, and so is the part after the last mark.
    Bullets are removed, and so are names without a letter or digit. Of names that differ only in
    case, the first counts.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    pieces = [piece for line in lines for piece in _AFTER_MARKS.split(line)]
    unmarked = pieces and not any(sentence.numbers for sentence in read_marked(pieces[-1]))
    if len(lines) == 1 and unmarked and (len(pieces) == 1 or read_marked(pieces[-2])):
        pieces[-1:] = _COMMA.split(pieces[-1])
    found: dict[str, MarkedSentence] = {}
    leading = ""
    for piece in pieces:
        # A full stop before the marks belongs to the name: `Washington, D.C. [1].`
        name = _read_name(leading + _END.sub("", _BEGIN.sub("", piece)))
        if name.text:
            found.setdefault(name.text.casefold(), name)
        leading = "" if name.text else piece
    return list(found.values())


def read_marked_name(text: str) -> list[MarkedSentence]:
    """Read the first line with a name as a single one, commas included; none for an empty text."""
    for line in text.splitlines():
        name = _read_name(_END.sub("", _BEGIN.sub("", line)))
        if name.text:
            return [name]
    return []


def _read_name(text: str) -> MarkedSentence:
    read = join_sentences(read_marked(text))
    return read._replace(text=unwrap(read.text.strip(_EDGES)))
