"""Reads a question: its text, and the documents to answer it from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from pydantic import ValidationError

from citeproof.errors import InputError
from citeproof.state.documents import to_passage
from citeproof.text import whole
from citeproof.tools.passage_ids import tell_apart
from citeproof.tools.retrieval import Retriever, from_passages
from citeproof.types import Passage

LONGEST_QUESTION = 20_000
"""Most characters; more than the longest prompts hold anyway."""
MOST_DOCUMENTS, MOST_TEXT = 10_000, 5_000_000
"""Most documents that may come with a question, and most characters in all of them. They are stored
with each step of a run, so longer text belongs in an index."""


def validate_question(question: object) -> str:
    """Check the question of a run, and return it without unpaired surrogates.

    Raises:
        InputError: It is empty, too long, or not a string.
    """
    if not isinstance(question, str | None):
        raise InputError(
            "The question is not a text",
            why=f"it is of type {type(question).__name__}",
            fix='Pass a string: {"question": "…"}.',
        )
    if question is None or not question.strip():
        raise InputError("The question is empty", fix="Ask something, in words.")
    if len(question) > LONGEST_QUESTION:
        raise InputError(
            "The question is too long",
            why=f"it has {len(question):,} characters, and the limit is {LONGEST_QUESTION:,}",
            fix="Give long texts as documents.",
        )
    return whole(question)


def select_source(state: Mapping[str, Any], retriever: Retriever | None) -> Retriever | None:
    """Return the source that a node searches: the documents of the question, or the retriever.

    Documents are searched by their words, unless the retriever has a method `within`, which makes a
    retriever over them.

    Raises:
        InputError: The documents cannot be used; see `read_documents`.
    """
    given: Sequence[Passage] = state.get("corpus") or read_documents(state.get("documents") or ())
    if not given:
        return retriever
    found: Retriever = getattr(retriever, "within", from_passages)(given)
    return found


def read_documents(documents: Iterable[object]) -> list[Passage]:
    """Return the documents that came with a question, as passages, without blank ones.

    Raises:
        InputError: They are not a list, too many or too long, or all blank, or one of them is not a
            passage.
    """
    if isinstance(documents, str | Mapping | Passage | Document):  # these are iterable, too
        raise InputError(
            "The documents are not a list",
            why=f"what was passed is a single {type(documents).__name__}",
            fix='Pass a list, even of a single one: {"documents": [document]}.',
        )
    passages = list[Passage]()
    size = 0
    for number, document in enumerate(documents, start=1):
        passage = read_document(document, number)
        passages.append(passage)
        size += len(passage.text) + len(passage.title)
        if number > MOST_DOCUMENTS or size > MOST_TEXT:
            raise InputError(
                "The documents are too large to come with a question",
                why=f"the limits are {MOST_DOCUMENTS:,} documents and {MOST_TEXT:,} characters",
                fix="Index them: citeproof index DOCS.",
            )
    # Some have no text, such as an empty page of a PDF.
    [apart] = tell_apart([[passage for passage in passages if passage.text.strip()]])
    if passages and not apart:
        raise InputError("The documents are blank", fix="Pass at least one with text.")
    return apart


def read_document(document: object, number: int) -> Passage:
    """Return a document as a passage: a text, a dict, a LangChain document or a passage.

    Raises:
        InputError: It is none of these.
    """
    if isinstance(document, Passage):
        return document
    if isinstance(document, Document):
        return to_passage(document)
    if isinstance(document, str):
        source, text = f"document {number}", whole(document)
        return Passage(id=Passage.make_id(source, text), text=text, source=source)
    if isinstance(document, dict):
        try:
            if "page_content" in document:  # a LangChain document as JSON
                return to_passage(Document.model_validate(document))
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
        why=f"it is a {type(document).__name__}",
        fix="Pass strings, dicts with text, LangChain documents or Passages.",
    )
