"""Examples of answers, two for each form of answer: one Markdown file for each form.

An example is a question, three passages, the reasoning from them, and the answer with its marks;
a line of three dashes parts it from the next one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from citeproof.types import Passage

__all__ = ["MOST", "Demonstration", "demonstrations"]

MOST = 2
"""Examples that there are of each form."""

_FIELD = re.compile(r"^(Question|Reasoning|Answer|\[\d\] [^:]+): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Demonstration:
    """A question answered as it should be."""

    question: str
    passages: dict[int, Passage]
    """Number → passage; numbers begin at 1."""
    reasoning: str
    """The passages that the answer follows from."""
    answer: str
    """With citation marks."""


@cache
def demonstrations(form: str) -> tuple[Demonstration, ...]:
    """The examples for a form of answer."""
    text = (files(__package__) / f"{form}.md").read_text(encoding="utf-8")
    return tuple(map(_read, text.split("\n---\n")))


def _read(text: str) -> Demonstration:
    fields: dict[str, str] = {}
    passages: dict[int, Passage] = {}
    for name, said in _FIELD.findall(text):
        if name.startswith("["):
            title = name.partition("] ")[2]
            passages[int(name[1])] = Passage(id=name[1], title=title, text=said)
        else:
            fields[name.lower()] = said
    return Demonstration(passages=passages, **fields)
