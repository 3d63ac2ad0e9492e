"""Writes a whole answer with its citations in one call (ALCE, section 3: VANILLA)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from citeproof.prompts import Prompt, context, fill, template
from citeproof.state import MemoryState, VTGUpdate, remembered
from citeproof.tools.citations import supporting_sentence
from citeproof.tools.cited_json import answer_schema, is_answer_json, read_answer_json
from citeproof.tools.events import ClaimDelta, emit
from citeproof.tools.llm import LLM
from citeproof.tools.marked_text import MarkedSentence, read_marked
from citeproof.tools.replies import END, is_end
from citeproof.types import Citation, Claim, Passage, Verdict

__all__ = [
    "Answerer",
    "citing",
    "introduced",
    "marked_claim",
    "marked_claims",
    "read_prose",
    "telling",
]

MOST = 3
"""Most passages a sentence may cite (ALCE's instruction)."""
ABSTAIN = f" If the passages do not answer the question, write only {END}."
ABSTAIN_JSON = " If the passages do not answer the question, write an empty list."
EXAMPLE = "An example of such an answer, to another question from other passages:"
UNCHECKED = "this method does not check its claims"

_LABEL = re.compile(r"^\W*answer[*_]*:[*_]*", re.IGNORECASE)


@dataclass(frozen=True)
class Answerer:
    """Answers the question from the memory; every sentence is a claim that nothing has checked."""

    llm: LLM
    answer_tokens: int = 300
    """Longest answer, in tokens."""
    demonstration: str = ""
    """A question with passages and its answer, shown as an example. What it quotes from outside
    must have been fenced by whoever made it."""
    may_abstain: bool = False
    """Whether the model is offered to write nothing where the passages give no answer."""
    temperature: float | None = None
    """None takes that of the settings; answers of which one is chosen need more than 0."""

    async def __call__(self, state: MemoryState) -> VTGUpdate:
        """Set `claims` to the answer; empty where there is no passage to answer from."""
        return {"claims": await self.write(state["question"], remembered(state))}

    async def write(self, question: str, passages: Mapping[int, Passage]) -> list[Claim]:
        """The answer as claims, in order.

        Citations bear the numbers of `passages`; numbers that no passage bears are dropped
        with their marks, and of the others the first three of a sentence count. No model is
        called where there are no passages.

        Args:
            question: What is asked.
            passages: Number → passage; the model sees these numbers.

        Raises:
            ModelOutageError: No answer in spite of retries.
            ModelError: The provider refuses the call.
            BudgetExceededError: The budget allows no further call.
        """
        if not passages:
            return []
        reply = await self.llm.text(
            self.prompt(question, passages),
            max_tokens=self.answer_tokens,
            temperature=self.temperature,
            on_delta=telling(),
        )
        return self.read(reply, passages)

    def prompt(self, question: str, passages: Mapping[int, Passage]) -> Prompt:
        """What is asked of the model; there is a passage at least."""
        words, schema = citing(self.llm, passages, empty=self.may_abstain)
        abstain = ABSTAIN_JSON if schema else ABSTAIN
        task = fill(
            template("answerer"),
            demonstration=self.example,
            question=question,
            citing=words,
            abstain=abstain if self.may_abstain else "",
        )
        return Prompt(template("system"), context(question, passages), task, schema=schema)

    def read(self, reply: str, passages: Mapping[int, Passage]) -> list[Claim]:
        """The claims of a reply, in order."""
        if is_end(reply):
            return []
        return marked_claims(read_prose(_LABEL.sub("", reply)), passages)

    @property
    def example(self) -> str:
        """The demonstration as the task begins with it; empty where there is none."""
        return introduced(self.demonstration)


def citing(
    llm: LLM, numbers: Collection[int], *, empty: bool = False
) -> tuple[str, dict[str, Any] | None]:
    """How a model is told to cite, as the end of a sentence of a task; and the schema, if any.

    Args:
        llm: Asked for marks in its text, or for JSON (`LLM.answers_in_json`).
        numbers: The passages that there are.
        empty: Whether an answer may have no sentence.
    """
    numbered = ", ".join(map(str, sorted(numbers)))
    if llm.answers_in_json:
        schema = answer_schema(numbers, most=MOST, empty=empty)
        return fill(template("citing_json"), numbers=numbered), schema
    # An example with a number that no passage bears would be copied all the same.
    example = f"[{min(numbers)}]"
    return fill(template("citing_marks"), numbers=numbered, example=example), None


def telling() -> Callable[[str], None]:
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


def introduced(demonstration: str, words: str = EXAMPLE) -> str:
    """A demonstration behind the words that say what it is; empty where there is none."""
    return f"{words}\n{demonstration}\n\n" if demonstration else ""


def read_prose(reply: str) -> list[MarkedSentence]:
    """The sentences of an answer, in whichever form the model wrote it."""
    return read_answer_json(reply) if is_answer_json(reply) else read_marked(reply)


def marked_claims(
    pieces: Iterable[MarkedSentence], passages: Mapping[int, Passage], most: int = MOST
) -> list[Claim]:
    """Claims that nothing has checked, in order.

    Args:
        pieces: Each a text and the numbers that it cites; those that no passage bears are dropped.
        passages: Number → passage.
        most: So many numbers of a piece count.
    """
    return [
        marked_claim(piece.text, [n for n in piece.numbers if n in passages][:most], passages)
        for piece in pieces
    ]


def marked_claim(text: str, numbers: list[int], passages: Mapping[int, Passage]) -> Claim:
    """A claim that nothing has checked.

    Args:
        text: Without citation marks.
        numbers: What it cites; each is a key of `passages`.
        passages: Number → passage.
    """
    return Claim(
        text=text,
        citations=tuple(
            Citation(
                passage_id=passages[number].id,
                number=number,
                sentence=supporting_sentence(passages[number].text, text),
            )
            for number in numbers
        ),
        verdict=Verdict(status="unchecked", reason=UNCHECKED),
    )
