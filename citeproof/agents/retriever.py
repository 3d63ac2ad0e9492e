"""R(q, k): fills the long-term memory for the question (VTG, Algorithm 1, line 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired

from pydantic import ValidationError
from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from citeproof.errors import InputError
from citeproof.state import VTGUpdate, append_new
from citeproof.tools.events import PassagesRetrieved, emit
from citeproof.tools.meter import spend
from citeproof.tools.readers import whole
from citeproof.tools.retrieval import Retriever as Source
from citeproof.tools.retrieval import from_passages
from citeproof.types import Passage, Usage

__all__ = ["Retriever", "asked", "given", "searched"]


class RetrieverState(TypedDict):
    """What the retriever reads."""

    question: str
    documents: NotRequired[list[Any]]


@dataclass(frozen=True)
class Retriever:
    """Starts a run: checks the question, and finds the k best passages for it."""

    retriever: Source | None
    k: int = 5
    ranked: bool = False
    """Whether documents that come with a question stand in their order: then the first k are
    taken, and nothing is searched."""

    async def __call__(self, state: RetrieverState) -> VTGUpdate:
        """Fill the long-term memory and clear all that an earlier run on the thread left.

        Raises:
            InputError: The question is empty, or a document is of no use.
            RetrievalError: The retriever failed.
        """
        question = asked(state.get("question"))
        documents = given(state.get("documents") or ())
        if self.ranked and documents:
            found = documents
        else:
            found = await searched(self.retriever, documents).retrieve(question, self.k)
            spend(Usage(retrievals=1))
        # Anyone's retriever may repeat a passage, which then would bear two numbers.
        passages = append_new([], found)[: self.k]
        emit(PassagesRetrieved(passages=tuple(passages)))
        return {
            "passages": passages,
            "long_term": [passage.id for passage in passages],
            "short_term": [],
            "claims": [],
            "rejected": [],
            "dropped": [],
            "draft": None,
            "stop": "",
        }


def asked(question: object) -> str:
    """The question of a run.

    Raises:
        InputError: It is empty.
    """
    if not isinstance(question, str) or not question.strip():
        raise InputError("The question is empty", fix="Ask something, in words.")
    return question


def given(documents: Iterable[object]) -> list[Passage]:
    """The documents that came with a question, as passages.

    Raises:
        InputError: One of them is no passage.
    """
    known: dict[str, Passage] = {}
    passages = []
    for number, document in enumerate(documents, start=1):
        passage = _passage(document, number)
        if known.setdefault(passage.id, passage) != passage:  # pieces of one document, say
            passage = passage.model_copy(update={"id": f"{number}:{passage.id}"})
        passages.append(passage)
    return passages


def searched(retriever: Source | None, documents: Sequence[Passage]) -> Source:
    """What a run searches: the documents that came with the question, else the retriever.

    Raises:
        InputError: There is neither.
    """
    if documents:
        return from_passages(documents)
    if retriever is None:
        raise InputError(
            "There is nothing to answer from",
            why="the graph has no retriever and the input no documents",
            fix="Give Toolbox a retriever, or pass documents with the question.",
        )
    return retriever


def _passage(document: object, number: int) -> Passage:
    if isinstance(document, Passage):
        return document
    if isinstance(document, str) and document.strip():
        source, text = f"document {number}", whole(document)
        return Passage(id=Passage.make_id(source, text), text=text, source=source)
    if isinstance(document, dict):
        try:
            fields = {key: whole(v) if isinstance(v, str) else v for key, v in document.items()}
            own = Passage.make_id(f"document {number}", str(document))
            return Passage.model_validate({"id": own, **fields})
        except ValidationError as error:
            raise InputError(
                f"Document {number} is not a passage",
                why=error.errors()[0]["msg"],
                fix="A passage has text, and may have title, source, page and id.",
            ) from error
    raise InputError(
        f"Document {number} is not a passage",
        why=f"it is {'empty' if document == '' else f'a {type(document).__name__}'}",
        fix="Pass strings, dicts with text, or Passages.",
    )
