"""Reads a question: its words, and the documents to answer it from."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from citeproof.errors import InputError
from citeproof.testing import ListRetriever, passage
from citeproof.tools.questions.sources import read_documents, select_source, validate_question
from citeproof.types import Passage
from tests.agents.states import A, B, C

# The question


@pytest.mark.parametrize("question", ["", " \n", None])
def test_an_empty_question_is_an_error(question: Any) -> None:
    with pytest.raises(InputError, match=r"^The question is empty\. Ask something, in words\.$"):
        validate_question(question)


def test_a_question_has_an_end() -> None:
    assert validate_question(" Who? ") == " Who? "
    assert validate_question("?" * 20_000)
    with pytest.raises(InputError, match=r"20,001 characters, and the limit is 20,000\. Give long"):
        validate_question("?" * 20_001)


# The documents


@pytest.mark.parametrize(
    "documents", [[f"{n}." for n in range(10_001)], ["x" * 3_000_000, "y" * 3_000_000]]
)
def test_documents_have_an_end(documents: list[str]) -> None:
    assert read_documents(documents[:-1])
    with pytest.raises(InputError, match=r"too large to come with a question: .* Index them"):
        read_documents(documents)


def test_whatever_a_document_is_it_becomes_a_passage() -> None:
    documents = [
        A,
        "One.",
        {"text": "Two.", "title": "T", "source": "s", "page": 3, "id": "2"},
        Document("Three.", id="3", metadata={"title": "U", "source": "t", "page": 4}),
        Document("Four.", id="4").model_dump(),
    ]
    assert read_documents(documents) == [
        A,
        passage("One.", source="document 2"),
        Passage(id="2", text="Two.", title="T", source="s", page=3),
        Passage(id="3", text="Three.", title="U", source="t", page=4, end=6),
        Passage(id="4", text="Four.", end=5),
    ]
    assert read_documents([]) == []


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (None, "it is a NoneType"),
        ({"title": "T"}, "Field required"),
        ({"text": 3}, "Input should be a valid string"),
        ({"page_content": 3}, "Input should be a valid string"),
        ({"text": "x", "author": "y"}, "Extra inputs are not permitted"),
    ],
)
def test_what_is_no_document_is_an_error_that_names_it(document: Any, why: str) -> None:
    with pytest.raises(InputError, match=f"^Document 2 is not a passage: {why}"):
        read_documents([A, document])


def test_blank_documents_are_left_out_unless_all_are() -> None:
    blank: list[Any] = ["", " \n", Document(" "), {"text": ""}, Passage(id="a", text=" ")]
    assert read_documents([*blank, A, "One."]) == [A, passage("One.", source="document 7")]
    with pytest.raises(InputError, match=r"^The documents are blank\. Pass at least one with text"):
        read_documents(blank)


def test_pieces_that_share_an_id_are_told_apart_unless_they_are_the_same() -> None:
    pieces: list[Any] = [{"id": "d", "text": "Red."}, {"id": "d", "text": "Old."}, A, B, A]
    read = [Passage(id="d", text="Red."), Passage(id="2:d", text="Old."), A, B, A]
    assert read_documents(pieces) == read
    assert read_documents(pieces) == read, "a second run gives the same ids"


@pytest.mark.parametrize("of", [str, dict])
def test_half_of_a_surrogate_pair_is_replaced(of: type) -> None:
    text = "built \ud83d in 1990"
    document: Any = text if of is str else {"text": text, "title": text}
    [found] = read_documents([document])
    assert found.text == "built \ufffd in 1990"
    for part in (found.id, found.title, found.source):
        assert part.encode("utf-8").decode("utf-8") == part


# What is searched


@pytest.mark.parametrize(
    ("state", "passages"),
    [
        ({}, [A]),
        ({"corpus": [], "documents": []}, [A]),
        ({"corpus": None, "documents": None}, [A]),
        ({"documents": [B, C]}, [B]),
        ({"corpus": [B, C], "documents": ["Of the tower."]}, [B]),
    ],
)
async def test_what_came_with_the_question_goes_before_the_retriever(
    state: dict[str, Any], passages: list[Passage]
) -> None:
    source = select_source(state, ListRetriever([A]))
    assert source is not None
    assert await source.retrieve("Who built the tower?", 5) == passages
    assert (select_source(state, None) is None) == (passages == [A])
