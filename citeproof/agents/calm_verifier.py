"""Answers the same question from what the main LM cited (CaLM, section 4, step 3)."""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.form_answerer import Form, FormAnswerer
from citeproof.state import CaLMUpdate, CandidateState, numbered, remembered
from citeproof.tools.llm import LLM

__all__ = ["CaLMVerifier"]


@dataclass(frozen=True)
class CaLMVerifier:
    """The verifier LM, best a smaller one than the main LM; it is asked as that one is."""

    llm: LLM
    main_llm: LLM
    answer_tokens: int = 300
    form: Form = "prose"
    cited_only: bool = True
    """False lets it read all that the main LM has read (ablation, Table 6)."""
    small_verifier: bool = True
    """False asks the main LM in its stead (ablation, Table 5)."""

    async def __call__(self, state: CandidateState) -> CaLMUpdate:
        """Set the verifier LM's answer; where nothing is cited, it is empty and costs no call."""
        cited = [citation.passage_id for claim in state["claims"] for citation in claim.citations]
        passages = numbered(state, cited) if self.cited_only else remembered(state)
        llm = self.llm if self.small_verifier else self.main_llm
        answerer = FormAnswerer(llm, answer_tokens=self.answer_tokens, form=self.form)
        return {"verifier_claims": await answerer.write(state["question"], passages)}
