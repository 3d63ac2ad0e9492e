"""Answers in prose or as a list of names (ALCE; the two kinds of prompt of CaLM, appendix B)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from citeproof.agents.answerer import MOST, Answerer, marked_claim
from citeproof.prompts import Prompt, context, fill, template
from citeproof.tools.citations import marks
from citeproof.tools.marked_list import read_marked_list
from citeproof.tools.marked_text import read_marked
from citeproof.types import Claim, Passage

__all__ = ["Form", "FormAnswerer", "read_claims", "written_out"]

Form = Literal["prose", "list"]
"""Sentences with one to three citations each, or names with one each."""

_LABEL = re.compile(r"^\W*answers?\b[*_]*:[*_]*", re.IGNORECASE)


@dataclass(frozen=True)
class FormAnswerer(Answerer):
    """An answerer whose answer can be a list: then every name is a claim."""

    form: Form = "prose"

    async def write(self, question: str, passages: Mapping[int, Passage]) -> list[Claim]:
        """The answer as claims, in order; see `Answerer.write`."""
        if self.form == "prose":
            return await super().write(question, passages)
        if not passages:
            return []
        task = fill(
            template("list_answerer"),
            question=question,
            example=f"[{min(passages)}]",
            numbers=", ".join(map(str, sorted(passages))),
        )
        reply = await self.llm.text(
            Prompt(template("system"), context(question, passages), task),
            max_tokens=self.answer_tokens,
            temperature=self.temperature,
        )
        return read_claims(_LABEL.sub("", reply), passages, self.form)


def read_claims(reply: str, passages: Mapping[int, Passage], form: Form) -> list[Claim]:
    """The claims of a reply, in order; citations that no passage bears are dropped.

    Args:
        reply: The answer with its marks, and nothing else.
        passages: Number → passage.
        form: How many citations count: the first three of a sentence, the first one of a name.
    """
    read, most = (read_marked, MOST) if form == "prose" else (read_marked_list, 1)
    return [
        marked_claim(piece.text, [n for n in piece.numbers if n in passages][:most], passages)
        for piece in read(reply)
    ]


def written_out(claims: Sequence[Claim], form: Form) -> str:
    """The claims with their marks: sentences, or names with commas between them."""
    if form == "prose":
        return " ".join(map(marks, claims))
    names = ((claim.text, "".join(f"[{c.number}]" for c in claim.citations)) for claim in claims)
    return ", ".join(f"{text} {numbers}".strip() for text, numbers in names)
