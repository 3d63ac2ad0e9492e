"""Starts a run: checks the question, and clears the leftovers of earlier runs on the thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import NoneType
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
"""Maximum number of passages from earlier turns that stay available."""
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
    """Sets the initial state of a graph that answers several questions on one thread.

    The other nodes work without it, since their keys have defaults.
    """

    review: bool = False
    """Whether a person decides on claims, which needs a checkpointer."""
    english_only: bool = False
    """Whether the entailment model knows only English; for a question in another language, the
    answer's notes say so."""

    async def __call__(self, state: AskedState) -> Update:
        """Find the question, make the documents that came with it the corpus, and clear the rest.

        The question is the last message, if it is from a person and was not handled before.

        Raises:
            InputError: The question is empty, or a document is unusable.
            SettingsError: A review is requested, but the run could not be resumed.
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
        empty = {key: make() for key, make in _factories().items()}
        cleared: Update = {**empty, "passages": Overwrite([]), "ledger": Overwrite(around)}  # type: ignore[typeddict-item]
        # In the outermost graph, an existing budget belongs to the previous question.
        outer = state.get("budget") if place.graph else None
        budget = budget_of(place, self.parameters, outer, around)
        # A node of the caller's may read the documents in the next step.
        given: Update = {"corpus": corpus, "documents": documents, "budget": budget}
        return {**cleared, **conversation, **given}


@cache
def _factories() -> dict[str, Callable[[], Any]]:
    """What makes an empty value for each key that nodes of an earlier run may have set.

    Every run gets values of its own, since the caller's nodes may change them in place.
    """
    kinds = {key: get_origin(hint) or hint for key, hint in get_type_hints(Update).items()}
    return {
        key: kind if kind in (list, dict, str, int) else NoneType
        for key, kind in kinds.items()
        if key not in _OWN
    }


def _conversation(state: AskedState, *, inside: bool) -> Update:
    """The question, and its relation to earlier turns.

    Args:
        state: Holds the question and messages of this turn, or those left by an earlier one.
        inside: Whether the graph is a subgraph.

    Raises:
        InputError: The question is empty.
    """
    messages, question = state.get("messages") or [], state.get("question") or ""
    asked, said = state.get("asked") or "", last_asked(messages)
    answered = answered_question(messages)
    if inside:
        is_new = said is not None and question in ("", answered)
        if asked and not is_new:  # the outer graph has already read the question
            return {
                "question": validate_question(question),
                "follows_up": False,
                "earlier": state.get("earlier") or [],
            }
    else:  # `question` may be a leftover of a run that did not finish
        is_new = said is not None and said != asked
    question = validate_question(said if is_new else question)
    # A subgraph adds no message if a person has put a question to the outer graph.
    is_told = question == said or (inside and said is not None)
    # A question that is repeated word for word stands alone as it did before.
    follows_up = question != answered and any(message.type == "ai" for message in messages)
    return {
        "question": question,
        "asked": question,
        "follows_up": follows_up,
        "earlier": _earlier(state) if follows_up else [],
        "messages": [] if is_told else [HumanMessage(question)],
    }


def _earlier(state: AskedState) -> list[Passage]:
    """The passages that earlier turns cited, latest first."""
    answer = state.get("answer")
    cited = list(answer.passages) if answer else []
    return append_new(cited, state.get("earlier") or [])[:EARLIER]


def require_checkpointer() -> None:
    """Reject a review in a run that could not be resumed.

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
