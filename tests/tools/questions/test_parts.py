"""The parts of a question."""

import pytest

from citeproof.tools.questions.parts import asks_yes_or_no, name_topic, question_parts


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("who founded debian, and when", "Who founded debian? When founded debian?"),
        ("Who led it, and which is the ferry?", "Who led it? Which is the ferry?"),
        ("When did it open? Who built it?", "When did it open? Who built it?"),
        ("When and where was Ann born?", "When was Ann born? Where was Ann born?"),
        (
            "How, when and by whom was it lit?",
            "How was it lit? When was it lit? By whom was it lit?",
        ),
        ("In which year was it lit, and by whom?", "In which year was it lit? By whom was it lit?"),
        ("Who sang and who led the choir?", "Who sang? Who led the choir?"),
        (
            "Who founded the club that was closed, and when?",
            "Who founded the club that was closed? When founded the club that was closed?",
        ),
        ("Who founded Debian? And when?", "Who founded Debian? When founded Debian?"),
        ("Can you tell me who sang and who led?", "Who sang? Who led?"),
        ("Do you know when and where it is?", "When it is? Where it is?"),
        ("Is tea included, and when is it served?", "Is tea included? When is it served?"),
        ("Can you tell me who built it and when it opened?", "Who built it? When it opened?"),
        (
            "When was it built? Who designed it? Also list the materials.",
            "When was it built? Who designed it? Also list the materials?",
        ),
        ("Can I return it, and how?", "Can I return it? How can I return it?"),
    ],
)
def test_the_parts(question: str, parts: str) -> None:
    found = question_parts(question)
    assert " ".join(found) == parts
    assert len(found) == parts.count("?")


@pytest.mark.parametrize(
    "question",
    [
        "Who founded Debian?",
        "Why or how?",
        "Is it true that it opened and who built it?",
        "What is rum and coke?",
        "How long does the loaf stay good? I have one in my kitchen.",
        "Who founded Debian? Please answer briefly.",
        "What is the limit? 5 or 10?",
        "Does it matter when and how it is stored?",
        "How do I find out when and where I can vote?",
        "How do I choose what to pack and what to leave at home?",
        "Did he say when it was and how much it would cost?",
        "",
    ],
)
def test_a_question_for_one_thing_stays_whole(question: str) -> None:
    assert question_parts(question) == [question]


@pytest.mark.parametrize(
    ("parts", "asked"),
    [
        (
            ["What is the function of insulin?", "Where is it produced?"],
            "The function of insulin: where is it produced?",
        ),
        (["Who wrote Dune?", "When was he born?"], "Wrote Dune: when was he born?"),
        (["Who wrote Dune?", "When did Herbert die?"], "When did Herbert die?"),
        (["How long is a sabbatical?", "When am I eligible?"], "A sabbatical: when am I eligible?"),
        (["What is the fare to Noss?", "Who is the mayor?"], "The fare to Noss: who is the mayor?"),
        (["Who founded Debian?", "What is Ubuntu?"], "What is Ubuntu?"),
        (["Tell me.", "When was it?"], "When was it?"),
        (["Is tea included?", "When is it served?"], "Tea included: when is it served?"),
        (["When was it built?"], "When was it built?"),
    ],
)
def test_a_part_that_says_little_names_what_it_is_about(parts: list[str], asked: str) -> None:
    assert name_topic(parts) == [*parts[:-1], asked]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("Is subletting allowed?", True),
        ("can I have a dog in the flat", True),
        ("Isn't it open?", True),
        ("Is it red or blue?", False),
        ("Who may sublet?", False),
        ("Can you tell me who may sublet?", False),
        ("Can you tell me if I may sublet?", True),
        ("Mayors of Hull", False),
    ],
)
def test_a_question_for_yes_or_no(question: str, asks: bool) -> None:
    assert asks_yes_or_no(question) is asks
