"""Questions what something is are told from others, and their answers from mere mentions."""

from __future__ import annotations

import pytest

from citeproof.tools.questions.definitions import find_defined_term, lacks_definition


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("what is a ctenophora", "ctenophora"),
        ("What’s an archive serial number?", "archive serial number"),
        ("Can you tell me what Bases are?", ""),
        ("What are auricles?", "auricles"),
        ("What are common mistakes?", ""),
        ("What is the Seven Years War?", "Seven Years War"),
        ("What is meant by a storage path?", "storage path"),
        ("What does the term isobaric mean?", "isobaric"),
        ("What does LEM stand for?", "LEM"),
        ("Define entropy", "entropy"),
        ("What is the default port?", ""),
        ("What is Python's licence?", ""),
        ("What is needed?", ""),
        ("What is it made of?", ""),
        ("What is this?", ""),
        ("Who is a correspondent?", ""),
    ],
)
def test_the_term_is_found_only_where_its_meaning_is_asked(question: str, term: str) -> None:
    assert find_defined_term(question) == term


@pytest.mark.parametrize(
    "answer",
    [
        "The Vision 2030 is a programme.",
        "In 2007, the Kenyan government unveiled Vision 2030, a programme for growth.",
        "The economic programme that was unveiled in 2007 is called Vision 2030.",
        "The programme for the economy that began then (Vision 2030) ends soon.",
        "It is a programme.",
    ],
)
def test_a_definition_begins_with_the_term_or_names_or_explains_it(answer: str) -> None:
    assert not lacks_definition(answer, "What is Vision 2030?")


def test_a_mention_is_no_definition() -> None:
    said = "The programme was praised by those who wrote Vision 2030."
    assert lacks_definition(said, "What is Vision 2030?")
    assert not lacks_definition(said, "Who praised Vision 2030?")
