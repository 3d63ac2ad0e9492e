"""Writes the next claim from the question, the memory and the text so far (VTG, 2.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citeproof.prompts import Prompt, context, fill, template
from citeproof.state import Draft, VTGUpdate, WritingState, remembered, written
from citeproof.tools.citations import adds_nothing, strip_marks
from citeproof.tools.events import ClaimDelta, ClaimDrafted, emit
from citeproof.tools.llm import LLM
from citeproof.tools.sentences import split

__all__ = ["ClaimGenerator"]

END = "DONE"
"""What the model writes when nothing is left to say: the paper's end token."""

_END = re.compile(rf"^\W*{END}\b", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:(?:the\s+)?(?:next\s+)?sentence|answer|claim)\s*\d*\s*:\s*", re.I)


@dataclass(frozen=True)
class ClaimGenerator:
    """Writes one sentence, or finds that the answer is finished."""

    llm: LLM
    claim_tokens: int = 96
    """Longest claim, in tokens."""

    async def __call__(self, state: WritingState) -> VTGUpdate:
        """Draft the next claim; `draft` is None where the answer is finished.

        An empty reply, the end token, and a sentence that only repeats accepted claims all
        end the answer.
        """
        task = fill(
            template("claim_generator"),
            answer=written(state) or "(nothing yet)",
            rejected=_bullets([*state["dropped"], *state["rejected"]]) or "(none)",
            end=END,
        )
        reply = await self.llm.text(
            Prompt(template("system"), context(state["question"], remembered(state)), task),
            max_tokens=self.claim_tokens,
            stop=["\n"],
            on_delta=lambda text: emit(ClaimDelta(text=text)),
        )
        claim = first_sentence(reply)
        if not claim or adds_nothing(claim, [accepted.text for accepted in state["claims"]]):
            return {"draft": None}
        emit(ClaimDrafted(text=claim, trial=len(state["rejected"]) + 1))
        return {"draft": Draft(text=claim)}


def first_sentence(reply: str) -> str:
    """The first sentence of a reply, without labels and marks; empty at the end token."""
    text = _LABEL.sub("", strip_marks(reply)).strip().strip('"“”*').strip()
    if not text or _END.match(text):
        return ""
    sentences = split(text)
    return text[sentences[0].start : sentences[0].end].strip() if sentences else ""


def _bullets(drafts: list[str]) -> str:
    return "\n".join(f"- {draft}" for draft in dict.fromkeys(drafts))
