"""Writes the answer from verified statements (VeriCite, stage 3; FRONT, generation)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from citeproof.agents.answerer import LABEL
from citeproof.agents.base import LLMNode
from citeproof.prompts import Prompt, defuse, fill
from citeproof.runtime.meter import note
from citeproof.state import MemoryState, Update, number_passages
from citeproof.tools.citations.answer_text import citing_instruction, piece_teller, read_claims
from citeproof.tools.citations.marks import marks
from citeproof.tools.llm.replies import is_end
from citeproof.types import Claim, Passage

__all__ = ["GroundedAnswerer"]


class GroundedState(MemoryState):
    """The keys that the answerer reads."""

    kept: list[Claim]
    """The statements, each with the passages that prove it."""


@dataclass(frozen=True)
class GroundedAnswerer(LLMNode):
    """Puts the kept statements together; it sees and cites only the passages that they cite."""

    answer_tokens: int = 300
    """Maximum length of the answer, in tokens."""

    async def __call__(self, state: GroundedState) -> Update:
        """Set `claims`, unchecked; if no statement was kept, they are empty, and no call is made.

        If no answer can be read, the kept statements become the claims.
        """
        kept = state["kept"]
        passages = number_passages(state, (c.passage_id for claim in kept for c in claim.citations))
        if not passages:
            return {"claims": []}
        prompt = self._prompt(state["question"], kept, passages)
        reply = await self.llm.text(prompt, max_tokens=self.answer_tokens, on_delta=piece_teller())
        claims = [] if is_end(reply) else read_claims(LABEL.sub("", reply), passages, "prose")
        if not claims:
            note("grounded_answerer: no answer could be read; the statements replace it")
        return {"claims": claims or kept}

    def _prompt(self, question: str, kept: list[Claim], passages: Mapping[int, Passage]) -> Prompt:
        words, schema = citing_instruction(self.llm, passages)
        statements = "\n".join(f"- {defuse(marks(claim))}" for claim in kept)
        task = fill(self.template(), question=question, statements=statements, citing=words)
        return self.compose_prompt(question, passages, task, schema)
