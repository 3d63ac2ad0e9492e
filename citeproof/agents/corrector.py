"""Corrects the kept statements with new passages (CaLM, section 4, step 5).

`InputPreparer` chooses the passages that the main LM reads; `Corrector` is the main LM's call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from citeproof.agents.base import LLMNode, Node
from citeproof.prompts import Prompt, fill
from citeproof.prompts.demonstrations import demonstrations
from citeproof.runtime.events import EvidenceFound, emit
from citeproof.runtime.meter import note
from citeproof.state import CandidateState, Update, memory_passages
from citeproof.tools.citations.answer_text import (
    AnyForm,
    citing_instruction,
    read_claims,
    written_out,
)
from citeproof.tools.citations.cited_json import answer_json, is_answer_json
from citeproof.tools.citations.marked_text import read_marked
from citeproof.types import Claim, Passage

__all__ = ["Corrector", "InputPreparer"]

EXAMPLE = "An example of such a correction, of an answer to another question:"
RIGHT = "The draft is right and rightly cited."
SHORT = "The draft is right as far as it goes, but the passages state more."
HEADING = ' after the words "Corrected answer:", and nothing behind it'
AGAIN = (
    "Your last reply held no corrected answer. Write it as you were told above, and nothing else."
)
ASSESSMENT_TOKENS = 250
"""Room for the assessment of the draft before names, which the prompt limits to 150 words."""

_HEADING = re.compile(r"\b(?:corrected|final)\s+answer\b\W*?:[ \t*_]*", re.IGNORECASE)


@dataclass(frozen=True)
class Corrector(LLMNode):
    """The main LM again: checks the draft and updates it to everything that the passages say."""

    answer_tokens: int = 300
    """Maximum length of the answer, in tokens."""
    form: AnyForm = "prose"
    correction_shots: int = 0
    """1 shows an example of a correction: a packaged answer, with its first claim as the draft."""

    @property
    def prompt_name(self) -> str:
        """The prompt of its form."""
        return "corrector" if self.form == "prose" else f"{self.form}_corrector"

    async def __call__(self, state: CandidateState) -> Update:
        """Replace the main LM's answer by the corrected one.

        If a reply holds no answer, the model is asked once more. If that fails too, the draft
        becomes the answer, or, if no statement was kept, the previous answer stays.
        """
        if not (passages := memory_passages(state)):
            return {}

        def read(reply: str) -> list[Claim]:
            return read_claims(self._answer(reply), passages, self.form)

        most = self.answer_tokens + (0 if self.form == "prose" else ASSESSMENT_TOKENS)
        claims = await self.ask_again(self._prompt(state), read, AGAIN, most)
        if claims is None:
            note("corrector: no corrected answer could be read; the earlier text stands")
            return {"claims": state["kept"] or state["claims"], "verifier_claims": []}
        verdict = claims[0].verdict.model_copy(update={"trials": len(state["rounds"]) + 1})
        claims = [claim.model_copy(update={"verdict": verdict}) for claim in claims]
        return {"claims": claims, "verifier_claims": []}

    def _prompt(self, state: CandidateState) -> Prompt:
        passages = memory_passages(state)
        kept = [n for n, passage in passages.items() if passage.id in state.get("long_term", ())]
        prompt = self._correction(state["question"], passages, state["kept"], kept)
        if self.correction_shots:
            prompt = replace(prompt, context=f"{self._example()}\n\n{prompt.context}")
        return prompt

    def _correction(
        self, question: str, passages: dict[int, Passage], draft: list[Claim], kept: list[int]
    ) -> Prompt:
        about = {
            "question": question,
            "draft": written_out(draft, self.form) or "(none)",
            "rests": _first(kept),
        }
        schema = None
        if self.form == "prose":
            words, schema = citing_instruction(self.llm, passages)
            heading = "" if schema else HEADING
            task = fill(self.template(), citing=words, heading=heading, **about)
        else:
            numbers = ", ".join(map(str, passages))
            example = f"[{min(passages)}]"
            task = fill(self.template(), example=example, numbers=numbers, **about)
        return self.compose_prompt(question, passages, task, schema)

    def _example(self) -> str:
        """The first packaged example, corrected from its first claim."""
        example = demonstrations(self.form)[0]
        claims = read_claims(example.answer, example.passages, self.form)
        kept = sorted(citation.number for citation in claims[0].citations)
        asked = self._correction(example.question, example.passages, claims[:1], kept)
        answer, heading = example.answer, "Corrected answer: "
        if self.form != "prose":
            heading = f"{SHORT if len(claims) > 1 else RIGHT}\nFinal answer: "
        elif asked.schema:
            answer, heading = answer_json(read_marked(answer)), ""
        return f"{EXAMPLE}\n{asked.context}\n\n{asked.task}\n\n{heading}{answer}"

    def _answer(self, reply: str) -> str:
        """The text after the last heading; prose without a heading is the answer as a whole."""
        if is_answer_json(reply):
            return reply
        parts = _HEADING.split(reply)
        # An assessment precedes a list, and must not be read as names.
        return parts[-1] if len(parts) > 1 or self.form == "prose" else ""


def _first(kept: list[int]) -> str:
    if len(kept) < 2:
        return f"the first passage, number {kept[0]}" if kept else "none of the passages"
    return f"the first {len(kept)} passages, numbers {', '.join(map(str, kept))}"


@dataclass(frozen=True)
class InputPreparer(Node):
    """Chooses the passages that the kept statements cite and unseen ones of the pool, k in all."""

    k: int = 5

    async def __call__(self, state: CandidateState) -> Update:
        """Refill both memories; stop if no unseen passage is left.

        Since numbers are ranks in the pool, the kept passages also come first by number.
        """
        cited = {citation.passage_id for claim in state["kept"] for citation in claim.citations}
        pool = [passage.id for passage in state["passages"]]
        kept = [passage_id for passage_id in pool if passage_id in cited]
        shown = min(state["shown"] + max(0, self.k - len(kept)), len(pool))
        fresh = state["passages"][state["shown"] : shown]
        if not fresh and len(kept) < self.k:
            return {"stop": f"All {len(pool)} passages were read before the two models agreed."}
        emit(EvidenceFound(queries=(state["question"],), passages=tuple(fresh)))
        return {"long_term": kept, "short_term": [p.id for p in fresh], "shown": shown}
