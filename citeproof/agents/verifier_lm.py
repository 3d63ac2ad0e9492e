"""Answers the same question from the passages that the main LM cited (CaLM, section 4, step 3)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.answerer import Answerer
from citeproof.agents.base import LLMNode
from citeproof.state import CandidateState, Update, memory_passages
from citeproof.tools.citations.answer_text import AnyForm
from citeproof.tools.llm.model import LLM

__all__ = ["VerifierLM"]


@dataclass(frozen=True)
class VerifierLM(LLMNode):
    """The verifier LM, preferably smaller than the main LM; it gets the same kind of prompt."""

    main_llm: LLM
    answer_tokens: int = 300
    form: AnyForm = "prose"
    shots: int = 0
    """Number of examples to show, as for the main LM."""
    cited_only: bool = True
    """False lets it read all passages that the main LM read (ablation, Table 6)."""
    small_verifier: bool = True
    """False asks the main LM instead (ablation, Table 5)."""

    @property
    def prompt_name(self) -> str:
        """The answerer's prompt of its form."""
        return "answerer" if self.form == "prose" else f"{self.form}_answerer"

    async def __call__(self, state: CandidateState) -> Update:
        """Set the verifier LM's answer; without citations, it is empty, and no call is made."""
        cited = {citation.passage_id for claim in state["claims"] for citation in claim.citations}
        read = cited if self.cited_only else {p.id for p in memory_passages(state).values()}
        answerer = Answerer(
            self.llm if self.small_verifier else self.main_llm,
            answer_tokens=self.answer_tokens,
            form=self.form,
            shots=self.shots,
            prompts=self.prompts,
        )
        question, passages = state["question"], state["passages"]
        answer = await answerer(
            {"question": question, "passages": passages, "long_term": list(read)}
        )
        return {"verifier_claims": answer["claims"]}
