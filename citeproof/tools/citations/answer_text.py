"""Answers as text: instructs the model how to cite, and reads the claims of its replies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from citeproof.prompts import fill, template
from citeproof.runtime.events import ClaimDelta, emit
from citeproof.tools.citations.cited_json import answer_schema, is_answer_json, read_answer_json
from citeproof.tools.citations.marked_list import read_marked_list, read_marked_name
from citeproof.tools.citations.marked_text import MarkedSentence, read_reply
from citeproof.tools.citations.marks import cite, join_claims
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
    """Return the end of the task's sentence, which says how to cite, and the schema, if any.

    Whether the model writes marks or JSON depends on its `answers_in_json`. `empty` says whether an
    answer may have no sentences.
    """
    numbered = ", ".join(map(str, sorted(numbers)))
    if llm.answers_in_json:
        schema = answer_schema(numbers, most=_MOST, empty=empty)
        return fill(template("citing_json"), numbers=numbered), schema
    # The model would copy the example's number even if no passage had it.
    example = f"[{min(numbers)}]"
    return fill(template("citing_marks"), numbers=numbered, example=example), None


def introduce(demonstration: str, words: str = _EXAMPLE) -> str:
    """Return a demonstration with an introduction; empty if there is none."""
    return f"{words}\n{demonstration}\n\n" if demonstration else ""


def piece_teller() -> Callable[[str], None]:
    """Return an emitter for the pieces of one answer; from JSON it emits only the sentences."""
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
    """Read the claims of a reply, in order; drops citations of numbers without a passage.

    Of each name in a list only the first citation counts, of anything else the first three. A
    sentence that is repeated word for word is read once, with its first citations.
    """
    read = {"prose": _read_prose, "list": read_marked_list, "short": read_marked_name}[form]
    most = 1 if form == "list" else _MOST
    return [
        marked_claim(text, [n for n in numbers if n in passages][:most], passages)
        for text, numbers in read(reply)
    ]


def _read_prose(reply: str) -> list[MarkedSentence]:
    sentences = read_answer_json(reply) if is_answer_json(reply) else read_reply(reply)
    said: dict[str, MarkedSentence] = {}
    for sentence in sentences:  # small models say the same thing three times
        said.setdefault(sentence.text, sentence)
    return list(said.values())


def marked_claim(text: str, numbers: list[int], passages: Mapping[int, Passage]) -> Claim:
    """Return a claim that nothing has checked; each number that it cites is a key of `passages`."""
    return Claim(
        text=text,
        citations=cite({number: passages[number] for number in numbers}, text),
        verdict=Verdict(status="unchecked", reason=UNCHECKED),
    )


def written_out(claims: Sequence[Claim], form: AnyForm) -> str:
    """Write out the claims with their marks: sentences, or names separated by commas."""
    if form == "prose":
        return join_claims(claims)
    # Names without marks go last: before a marked name they would be read as its beginning.
    ordered = sorted(claims, key=lambda claim: not claim.citations)
    names = ((claim.text, "".join(f"[{c.number}]" for c in claim.citations)) for claim in ordered)
    return ", ".join(f"{text} {numbers}".strip() for text, numbers in names)
