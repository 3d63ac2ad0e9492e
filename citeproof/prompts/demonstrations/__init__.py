"""Examples of answers, two for each form of answer: one Markdown file for each form.

An example is a question, three passages, the reasoning from them, and the answer with its marks;
a line of three dashes parts it from the next one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from citeproof.errors import PromptError
from citeproof.types import Passage

__all__ = ["MOST", "Demonstration", "demonstrations"]

MOST = 2
"""Examples that there are of each form."""

_FIELD = re.compile(r"(Question|Reasoning|Answer|\[\d\] [^:]+): (.+)")


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
    file = files(__package__) / f"{form}.md"
    if not file.is_file():
        raise PromptError(f"There are no demonstrations of the form {form!r}")
    return tuple(_read(part, form) for part in file.read_text(encoding="utf-8").split("\n---\n"))


def _read(text: str, form: str) -> Demonstration:
    fields: dict[str, str] = {}
    passages: dict[int, Passage] = {}
    for line in text.strip().splitlines():
        if (match := _FIELD.fullmatch(line)) is None:
            raise PromptError(f"A line of the demonstrations {form}.md cannot be read", why=line)
        name, said = match.groups()
        if name.startswith("["):
            title = name.partition("] ")[2]
            passages[int(name[1])] = Passage(id=name[1], title=title, text=said)
        else:
            fields[name.lower()] = said
    return Demonstration(passages=passages, **fields)
