"""Starts a run: checks the question, and clears what an earlier one on the thread has left."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NotRequired, get_origin, get_type_hints

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.types import Overwrite

from citeproof.agents.base import Node
from citeproof.errors import SettingsError
from citeproof.runtime.meter import note
from citeproof.runtime.place import budget_of, current_place
from citeproof.state import NodeState, Update, append_new, calls_of
from citeproof.tools.questions.conversation import answered_question, last_asked
from citeproof.tools.questions.languages import is_english
from citeproof.tools.questions.sources import read_documents, validate_question
from citeproof.types import Answer, Passage

__all__ = ["QuestionReader", "require_checkpointer"]

_OWN = {
    *("question", "messages", "asked", "follows_up", "earlier", "documents", "corpus", "passages"),
    *("budget", "ledger", "report"),
}
"""Keys that the reader itself sets, or leaves alone."""
EARLIER = 3
"""Most passages of the turns before that stay in reach."""
ENGLISH_ONLY = (
    "the entailment model reads English only, so little of an answer in another language is "
    "proved; docs/conversation.md names models for other languages"
)


class AskedState(NodeState):
    """The keys that the reader reads."""

    question: NotRequired[str]
    messages: NotRequired[list[AnyMessage]]
    documents: NotRequired[list[Any]]
    corpus: NotRequired[list[Passage]]
    earlier: NotRequired[list[Passage]]
    asked: NotRequired[str]
    answer: NotRequired[Answer | None]


@dataclass(frozen=True)
class QuestionReader(Node):
    """The initial state of a graph that answers several questions on one thread.

    All other nodes do without it: their keys have defaults.
    """

    review: bool = False
    """Whether a person decides on claims, for which a checkpointer must keep the run."""
    english_only: bool = False
    """Whether the entailment model knows only English; the notes of an answer in another language
    say so."""

    async def __call__(self, state: AskedState) -> Update:
        """Find the question, make the documents that came with it the corpus, empty all else.

        The question is the last message, if that is a person's and was not taken up before.

        Raises:
            InputError: The question is empty, or a document is of no use.
            SettingsError: A review is asked for that could not be resumed.
        """
        ledger, place = state.get("ledger") or {}, current_place()
        conversation = _conversation(state, inside=bool(place.graph))
        if self.english_only and not is_english(conversation["question"]):
            note(ENGLISH_ONLY)
        if self.review:
            require_checkpointer()
        documents = state.get("documents") or []
        corpus = read_documents(documents) or (state.get("corpus") or [] if place.graph else [])
        around = {key: ledger[key] for key in ledger.keys() - calls_of(ledger, place.graph).keys()}
        cleared: Update = {**_cleared(), "passages": Overwrite([]), "ledger": Overwrite(around)}  # type: ignore[typeddict-item]
        # In the outermost graph, a budget that is there already belongs to the previous question.
        outer = state.get("budget") if place.graph else None
        budget = budget_of(place, self.parameters, outer, around)
        # A graph of somebody else's may read the documents in the next step.
        given: Update = {"corpus": corpus, "documents": documents, "budget": budget}
        return {**cleared, **conversation, **given}


@cache
def _cleared() -> dict[str, Any]:
    """An empty value for each key that the nodes of an earlier run may have set."""
    kinds = {key: get_origin(hint) or hint for key, hint in get_type_hints(Update).items()}
    return {
        key: kind() if kind in (list, dict, str, int) else None
        for key, kind in kinds.items()
        if key not in _OWN
    }


def _conversation(state: AskedState, *, inside: bool) -> Update:
    """The question, and what the turns before mean to it.

    Args:
        state: With the question and messages of this turn, or those that an earlier one has left.
        inside: Whether the graph is a part of another.

    Raises:
        InputError: The question is empty.
    """
    messages, question = state.get("messages") or [], state.get("question") or ""
    asked, said = state.get("asked") or "", last_asked(messages)
    answered = answered_question(messages)
    if inside:
        is_new = said is not None and question in ("", answered)
        if asked and not is_new:  # the graph around has seen to it
            return {
                "question": validate_question(question),
                "follows_up": False,
                "earlier": state.get("earlier") or [],
            }
    else:  # what is asked by now may be left of a run that came to no end
        is_new = said is not None and said != asked
    question = validate_question(said if is_new else question)
    # A part does not rephrase a question that a person put to the graph around it.
    is_told = question == said or (inside and said is not None)
    # Asked again word for word, a question stands alone as it did.
    follows_up = question != answered and any(message.type == "ai" for message in messages)
    return {
        "question": question,
        "asked": question,
        "follows_up": follows_up,
        "earlier": _earlier(state) if follows_up else [],
        "messages": [] if is_told else [HumanMessage(question)],
    }


def _earlier(state: AskedState) -> list[Passage]:
    """The passages that earlier turns cited, the latest first."""
    answer = state.get("answer")
    cited = list(answer.passages) if answer else []
    return append_new(cited, state.get("earlier") or [])[:EARLIER]


def require_checkpointer() -> None:
    """Refuse a review in a run that could never go on.

    Raises:
        SettingsError: The run has no checkpointer.
    """
    if current_place().thread is None:
        raise SettingsError(
            "A review needs a checkpointer",
            why="the run must be kept while a person decides",
            fix="Build the outermost graph with checkpointer=…, or leave review off; a LangGraph "
            "server brings its own.",
        )
