"""Answers in prose, as a list of names or with one (ALCE; CaLM's prompts, appendix B)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.answerer import MOST, Answerer, marked_claims, read_prose
from citeproof.prompts import Prompt, context, fill, template
from citeproof.tools.citations import marks
from citeproof.tools.marked_list import read_marked_list, read_marked_name
from citeproof.types import Claim, Passage

__all__ = ["AnyForm", "Form", "FormAnswerer", "read_claims", "written_out"]

Form = Literal["prose", "list"]
"""Sentences with one to three citations each, or names with one each."""
AnyForm = Literal["prose", "list", "short"]
"""`short` is a single name, date or phrase with one to three citations."""

_LABEL = re.compile(r"^\W*answers?\b[*_]*:[*_]*", re.IGNORECASE)


@dataclass(frozen=True)
class FormAnswerer(Answerer):
    """An answerer whose answer need not be prose: then every name is a claim."""

    form: AnyForm = "prose"

    def prompt(self, question: str, passages: Mapping[int, Passage]) -> Prompt:
        """What is asked of the model; there is a passage at least."""
        if self.form == "prose":
            return super().prompt(question, passages)
        task = fill(
            template(f"{self.form}_answerer"),
            demonstration=self.example,
            question=question,
            example=f"[{min(passages)}]",
            numbers=", ".join(map(str, sorted(passages))),
        )
        return Prompt(template("system"), context(question, passages), task)

    def read(self, reply: str, passages: Mapping[int, Passage]) -> list[Claim]:
        """The claims of a reply, in order."""
        if self.form == "prose":
            return super().read(reply, passages)
        return read_claims(_LABEL.sub("", reply), passages, self.form)


def read_claims(reply: str, passages: Mapping[int, Passage], form: AnyForm) -> list[Claim]:
    """The claims of a reply, in order; citations that no passage bears are dropped.

    Args:
        reply: The answer with its marks, and nothing else.
        passages: Number → passage.
        form: How many citations count: one of a name in a list, else the first three.
    """
    read = {"prose": read_prose, "list": read_marked_list, "short": read_marked_name}[form]
    return marked_claims(read(reply), passages, 1 if form == "list" else MOST)


def written_out(claims: Sequence[Claim], form: AnyForm) -> str:
    """The claims with their marks: sentences, or names with commas between them."""
    if form == "prose":
        return " ".join(map(marks, claims))
    # Last those without marks, which before a marked name would be read as its beginning.
    ordered = sorted(claims, key=lambda claim: not claim.citations)
    names = ((claim.text, "".join(f"[{c.number}]" for c in claim.citations)) for claim in ordered)
    return ", ".join(f"{text} {numbers}".strip() for text, numbers in names)
