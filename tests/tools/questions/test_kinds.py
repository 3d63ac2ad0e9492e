"""Whether an answer is of the kind that is asked for, and how it begins."""

import pytest

from citeproof.tools.questions.kinds import lacks_asked_kind, lacks_person
from citeproof.tools.questions.wording import begin_answer


@pytest.mark.parametrize(
    ("question", "answer", "lacks"),
    [
        ("Can you tell me when it was built?", "It was built by Ann Lee.", True),
        ("Can you tell me when it was built?", "It was built in 1870.", False),
        ("Could you explain why it was moved?", "The lamp was moved.", True),
        ("When am I eligible", "Ask the office for it.", True),
        ("When would you use WAL?", "For concurrent readers it is better.", False),
        ("When I am ill what do I do?", "Call the office.", False),
        ("When I travel by train do I pay for my dog?", "Dogs travel free.", False),
        ("How many people live there?", "Nobody lives there.", False),
        ("How many did Noble make in 1950?", "In 1950 Noble made one of the presidents.", True),
        ("How many feet high is it?", "It is a 6 foot wall.", False),
        ("How many choices has a poll?", "A choice has 25 characters.", True),
        ("In how many years did Noble do it?", "Noble did it in both years.", False),
        ("Who asked how many there are?", "Noble did.", False),
        ("When did Noble do it in 1950?", "Noble did it in 1950.", True),
        ("When did Noble do it?", "Noble did it when Kintner left.", False),
        ("When did Noble do it?", "Noble did it last Tuesday.", False),
        ("When Noble left, who came?", "Kintner came.", False),
        ("Why was Kintner made president?", "Noble wanted it.", False),
    ],
)
def test_an_answer_without_what_is_asked_for(question: str, answer: str, lacks: bool) -> None:
    assert lacks_asked_kind(answer, question) is lacks


@pytest.mark.parametrize("answer", ["Łukasz Żal wrote it.", "It was written by Čapek."])
def test_a_name_in_any_alphabet_is_a_person(answer: str) -> None:
    assert not lacks_person(answer, "Who wrote it?")


@pytest.mark.parametrize(
    ("question", "begun"),
    [
        ("How do I cancel my order and when do I get my money back?", "To cancel your order,"),
        ("What are the account types and what do they cost?", "The account types are"),
        (
            "How do I find out when and where I can vote?",
            "To find out when and where you can vote,",
        ),
        ("How do I cancel if I'm ill?", "To cancel if you're ill,"),
        ("How do I pay if I was ill?", "To pay if you were ill,"),
        ("How do I find the tomb of Elizabeth I?", "To find the tomb of Elizabeth I,"),
    ],
)
def test_an_answer_begins_with_the_words_of_the_first_part(question: str, begun: str) -> None:
    assert begin_answer(question) == begun
