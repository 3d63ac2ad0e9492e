"""Turns a follow-up into a question that stands alone, which all later nodes use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NotRequired

from langchain_core.messages import AnyMessage

from citeproof.agents.base import LLMNode
from citeproof.prompts import Prompt, defuse, fill
from citeproof.runtime.events import QuestionRewritten, emit
from citeproof.runtime.meter import note
from citeproof.state import NodeState, Update
from citeproof.tools.llm.replies import is_end, short
from citeproof.tools.questions.conversation import TURNS, transcript

__all__ = ["QuestionRewriter"]

TOKENS = 96
"""Maximum length of the written question, in tokens."""
LONGEST = 400
"""Maximum length of a question, in characters; a longer reply is unusable."""

_LABEL = re.compile(r"^\W*(?:(?:new|last|rewritten)\s+)?(?:question|q)\b[^:\n]{0,40}:\s*", re.I)
_EDGES = ' \t"“”„*_`'
_ASKS = re.compile(r"[?？؟;՞፧]\W*$")


class ConversationState(NodeState):
    """The keys that the rewriter reads."""

    question: str
    messages: NotRequired[list[AnyMessage]]
    """The conversation; the model sees its last turns before the question."""
    documents: NotRequired[list[Any]]


@dataclass(frozen=True)
class QuestionRewriter(LLMNode):
    """Puts the names of a conversation into the question that follows up on it."""

    turns: int = TURNS
    """Number of last turns of the conversation to show to the model."""

    async def __call__(self, state: ConversationState) -> Update:
        """Set the question; without earlier turns, it stays unchanged, and no model is called.

        After an unusable reply, the question stays unchanged, with a note. A question that the
        model returns unchanged stands alone, and needs no passages that earlier turns cited.
        """
        question = state["question"]
        conversation = transcript(state.get("messages") or [], self.turns)
        # The documents last for one step only, and the next node may read them.
        update: Update = {"documents": state.get("documents") or []}
        if not conversation:
            return update
        if self.llm.absent:
            note("question_rewriter: without a language model the question stays as it was asked")
            return update
        task = fill(
            self.template(), conversation=conversation, question=defuse(" ".join(question.split()))
        )
        # The system line mentions passages, but there are none.
        reply = await self.llm.text(Prompt("", "", task), max_tokens=TOKENS, stop=["\n\n"])
        rewritten = _read(reply, question)
        if rewritten is None:
            note(f"question_rewriter: the question stays as it was asked (it said {short(reply)})")
            return update
        if _same(rewritten, question):
            return {**update, "earlier": []}
        emit(QuestionRewritten(asked=question, question=rewritten))
        return {**update, "question": rewritten}


def _read(reply: str, question: str) -> str | None:
    """The question in a reply; None if there is none, for instance if the reply is an answer."""
    lines = (_LABEL.sub("", line).strip(_EDGES) for line in reply.splitlines())
    found = next((line for line in lines if any(map(str.isalnum, line))), "")
    answers = _ASKS.search(question) is not None and _ASKS.search(found) is None
    return None if not found or len(found) > LONGEST or is_end(found) or answers else found


def _same(one: str, other: str) -> bool:
    """Whether two questions have the same words."""
    return re.findall(r"\w+", one.casefold()) == re.findall(r"\w+", other.casefold())
