"""Answers as text: instructions for the model, and the way from its text to claims."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from citeproof.prompts import fill, template
from citeproof.runtime.events import ClaimDelta, emit
from citeproof.tools.citations.cited_json import answer_schema, is_answer_json, read_answer_json
from citeproof.tools.citations.marked_list import read_marked_list, read_marked_name
from citeproof.tools.citations.marked_text import MarkedSentence, read_reply
from citeproof.tools.citations.marks import cite, marks
from citeproof.tools.llm.model import LLM
from citeproof.types import Claim, Passage, Verdict

AnyForm = Literal["prose", "list", "short"]
"""Sentences with one to three citations each; names with one each (ALCE; CaLM, appendix B); or a
single name, date or phrase with one to three."""

_MOST = 3
"""Most passages a sentence may cite (ALCE's instruction)."""
_EXAMPLE = "An example of such an answer, to another question from other passages:"
UNCHECKED = "nothing has checked this claim"


def citing_instruction(
    llm: LLM, numbers: Collection[int], *, empty: bool = False
) -> tuple[str, dict[str, Any] | None]:
    """The end of a task's sentence, which tells the model how to cite; and the schema, if any.

    Args:
        llm: Asked for marks in its text, or for JSON (`LLM.answers_in_json`).
        numbers: The numbers of the passages.
        empty: Whether an answer may have no sentence.
    """
    numbered = ", ".join(map(str, sorted(numbers)))
    if llm.answers_in_json:
        schema = answer_schema(numbers, most=_MOST, empty=empty)
        return fill(template("citing_json"), numbers=numbered), schema
    # An example with a number that no passage bears would be copied all the same.
    example = f"[{min(numbers)}]"
    return fill(template("citing_marks"), numbers=numbered, example=example), None


def introduce(demonstration: str, words: str = _EXAMPLE) -> str:
    """A demonstration with an introduction; empty if there is none."""
    return f"{words}\n{demonstration}\n\n" if demonstration else ""


def piece_teller() -> Callable[[str], None]:
    """Tells the pieces of one answer as they come; of JSON, the sentences only."""
    reply, told = "", ""

    def tell(piece: str) -> None:
        nonlocal reply, told
        reply += piece
        if not is_answer_json(reply):
            emit(ClaimDelta(text=piece))
            return
        shown = " ".join(sentence.text for sentence in read_answer_json(reply))
        if shown.startswith(told) and shown != told:
            emit(ClaimDelta(text=shown[len(told) :]))
            told = shown

    return tell


def read_claims(reply: str, passages: Mapping[int, Passage], form: AnyForm) -> list[Claim]:
    """The claims of a reply, in order; citations that no passage bears are dropped.

    Args:
        reply: The answer with its marks, and nothing else.
        passages: Number → passage.
        form: How many citations count: one of a name in a list, else the first three.
    """
    read = {"prose": _read_prose, "list": read_marked_list, "short": read_marked_name}[form]
    most = 1 if form == "list" else _MOST
    return [
        marked_claim(text, [n for n in numbers if n in passages][:most], passages)
        for text, numbers in read(reply)
    ]


def _read_prose(reply: str) -> list[MarkedSentence]:
    return read_answer_json(reply) if is_answer_json(reply) else read_reply(reply)


def marked_claim(text: str, numbers: list[int], passages: Mapping[int, Passage]) -> Claim:
    """A claim that nothing has checked.

    Args:
        text: Without citation marks.
        numbers: The passages it cites; each is a key of `passages`.
        passages: Number → passage.
    """
    return Claim(
        text=text,
        citations=cite({number: passages[number] for number in numbers}, text),
        verdict=Verdict(status="unchecked", reason=UNCHECKED),
    )


def written_out(claims: Sequence[Claim], form: AnyForm) -> str:
    """The claims with their marks: sentences, or names with commas between them."""
    if form == "prose":
        return " ".join(map(marks, claims))
    # Last those without marks, which before a marked name would be read as its beginning.
    ordered = sorted(claims, key=lambda claim: not claim.citations)
    names = ((claim.text, "".join(f"[{c.number}]" for c in claim.citations)) for claim in ordered)
    return ", ".join(f"{text} {numbers}".strip() for text, numbers in names)
