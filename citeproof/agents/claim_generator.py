"""Drafts the next claim.

`ClaimGenerator` writes it from the question, the memory and the text so far (VTG, 2.2).
`ClaimSource` takes it from an existing answer, which `DraftReader` takes apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from citeproof.agents.base import LLMNode, Node
from citeproof.errors import InputError, VerifierOutageError
from citeproof.prompts import Prompt, context, defuse, fill
from citeproof.runtime.events import ClaimDelta, ClaimDrafted, emit
from citeproof.runtime.meter import note
from citeproof.runtime.place import adopt_cost
from citeproof.state import (
    Draft,
    GivenState,
    NodeState,
    Update,
    WritingState,
    append_new,
    memory_passages,
    text_so_far,
)
from citeproof.tools.citations.answer_text import introduce, read_claims
from citeproof.tools.citations.marks import adds_nothing
from citeproof.tools.citations.reply_sentences import reply_sentences, restore_tags
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.verbatim import is_verbatim
from citeproof.tools.llm.replies import END
from citeproof.tools.questions.answering import score_answers
from citeproof.tools.questions.parts import question_parts
from citeproof.tools.questions.wording import STATES, begin_answer, repeats_question
from citeproof.types import Answer

__all__ = ["UNLIMITED", "ClaimGenerator", "ClaimSource", "DraftReader"]

UNLIMITED = 100
"""A limit that no answer reaches; the prompt does not mention it."""
ABSTAIN = f"If the passages do not answer the question, write only {END}."
REJECTED = "\n\nNothing proves these sentences; do not write them, nor what they say:"

_DIGRESSES = 0.7
"""A copied sentence digresses if its score as an answer is below this share of the threshold. Of
nine such sentences in 110 answers on Wikipedia none was of use; one of five just above it was."""


@dataclass(frozen=True)
class ClaimGenerator(LLMNode):
    """Writes one sentence, or finds that the answer is finished."""

    claim_tokens: int = 96
    """Maximum length of a claim, in tokens."""
    max_claims: int = 6
    """Maximum number of sentences. For 4 to 6, the prompt asks for four at most; for other values,
    for that number; for `UNLIMITED`, it gives no limit."""
    show_rejected: bool = True
    """False hides failed claims from the writer, which then sees only the text so far and the
    memory."""
    end_at_repetition: bool = True
    """False treats a sentence that says nothing new as a claim like any other."""
    may_abstain: bool = False
    """Whether the writer may abstain if the passages give no answer."""
    answerability: Entailment | None = None
    """Scores whether a sentence answers the question; without it, none digresses."""
    check_answer: bool = True

    async def __call__(self, state: WritingState) -> Update:
        """Draft the next claim; `draft` is None if the answer is finished.

        The model continues the accepted text. The first new sentence that says something new is
        the claim; if there is none, the answer is finished. So it is if the sentence, not the
        first of the answer, only copies a passage and does not answer the question.
        """
        failed = dict.fromkeys(
            [*state["dropped"], *state["rejected"]] if self.show_rejected else ()
        )
        task = fill(
            self.template("claim_generator"),
            demonstration=introduce(state.get("demonstration", "")),
            question=state["question"],
            most=self._most(),
            abstain=f" {ABSTAIN}" if self.may_abstain else "",
            rejected="\n- ".join([REJECTED, *map(defuse, failed)]) if failed else "",
        )
        memory = memory_passages(state)
        passages = context(state["question"], memory)
        text = defuse(text_so_far(state))
        begun = text or (begin_answer(state["question"]) if self.llm.goes_on else "")
        if begun not in (text, STATES):
            emit(ClaimDelta(text=begun))
        reply = await self.llm.text(
            Prompt(self.template("system"), passages, task, begun=begun),
            max_tokens=self.claim_tokens,
            on_delta=lambda text: emit(ClaimDelta(text=text)),
        )
        if begun != text:
            reply = f"{begun}{reply if reply[:1] == ':' else ' ' + reply.lstrip()}"
        written = restore_tags(reply, (passage.text for passage in memory.values()))
        sentences = reply_sentences(written)
        if self.end_at_repetition:
            sentences = [said for said in sentences if not _repeats(said, state)]
        if not sentences or await self._digresses(sentences[0], state):
            return {"draft": None}
        claim = sentences[0]
        emit(ClaimDrafted(text=claim, trial=len(state["rejected"]) + 1))
        return {"draft": Draft(text=claim)}

    async def _digresses(self, claim: str, state: WritingState) -> bool:
        """Whether the writer goes on to copy a passage instead of answering.

        Small models do. What they copy is proved, so nothing else would end it.
        """
        if self.answerability is None or not self.check_answer or not state["claims"]:
            return False
        passages = memory_passages(state).values()
        copied = next((one for one in passages if is_verbatim(one.premise, claim)), None)
        if copied is None:
            return False
        text = copied.model_copy(update={"text": claim}).premise
        try:
            parts = question_parts(state["question"])
            rows = await score_answers(self.answerability, parts, [text])
        except VerifierOutageError as error:
            note(f"whether a sentence answers the question was not checked: {error}")
            return False
        return max(score for [score] in rows) < _DIGRESSES * self.answerability.threshold

    def _most(self) -> str:
        if self.max_claims >= UNLIMITED:
            return ""
        usual = 4 <= self.max_claims <= 6
        return f", {'four' if usual else self.max_claims} at the most"


def _repeats(sentence: str, state: WritingState) -> bool:
    """Whether a sentence only repeats the question, or claims that were accepted or dropped."""
    accepted = [claim.text for claim in state["claims"]]
    if repeats_question(sentence, state["question"]) or adds_nothing(sentence, accepted):
        return True
    # A dropped claim may have said more than can be proved, so only an equal sentence repeats it.
    return any(
        adds_nothing(sentence, [dropped]) and adds_nothing(dropped, [sentence])
        for dropped in state["dropped"]
    )


@dataclass(frozen=True)
class ClaimSource(Node):
    """Drafts given claims one by one."""

    async def __call__(self, state: GivenState) -> Update:
        """Draft the next given claim, or the same one if its proof failed; None at the end.

        If the memory is empty, all passages become the memory.
        """
        place = len(state["claims"]) + len(state["dropped"])
        if place >= len(state["given"]):
            return {"draft": None}
        claim = state["given"][place]
        emit(ClaimDrafted(text=claim.text, trial=len(state["rejected"]) + 1))
        cited = tuple(citation.passage_id for citation in claim.citations)
        update: Update = {"draft": Draft(text=claim.text, cited=cited)}
        if state["passages"] and not memory_passages(state):
            update["long_term"] = [passage.id for passage in state["passages"]]
        return update


class AnswerState(NodeState):
    """The keys that the reader reads."""

    answer: Answer | None


@dataclass(frozen=True)
class DraftReader(Node):
    """Turns another graph's answer into a proof's input: its claims, and its passages as memory.

    The claims of an answer that has none are the sentences of its text.
    """

    async def __call__(self, state: AnswerState) -> Update:
        """Set the claims to prove and the passages that they may cite.

        Raises:
            InputError: The previous graph returned no `Answer`.
        """
        answer = state["answer"]
        if not isinstance(answer, Answer):
            raise InputError(
                "There is no draft to prove",
                why="the drafting graph returned no Answer",
                fix="Make it return one under the key `answer`.",
            )
        adopt_cost(answer, state.get("ledger") or {})
        numbered = dict(enumerate(answer.passages, start=1))
        claims = list(answer.claims) or read_claims(answer.text, numbered, "prose")
        if claims and answer.reason:
            # Only a note: after the proof, just parts of the reason, such as a spent budget, hold.
            note(f"the draft was {answer.status}: {answer.reason}")
        # Another graph may repeat a passage, which would then have two numbers.
        nearest = [one.passage for one in answer.nearest]  # those of an answer without claims
        passages = append_new([], [*answer.passages, *nearest])
        return {
            "passages": passages,
            "long_term": [passage.id for passage in passages],
            "given": claims,
            "stop": "" if claims else answer.reason,
        }
