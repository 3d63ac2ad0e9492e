"""The parts of a question."""

import pytest

from citeproof.tools.questions.parts import question_parts


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who founded Debian?", ["Who founded Debian?"]),
        ("who founded debian, and when", ["Who founded debian?", "When founded debian?"]),
        (
            "Who led the line, and which ship has been the ferry since 2009?",
            ["Who led the line?", "Which ship has been the ferry since 2009?"],
        ),
        ("When did it open? Who built it?", ["When did it open?", "Who built it?"]),
        ("Is it true that it opened and who built it?", None),
        ("What is rum and coke?", None),
        ("", None),
    ],
)
def test_the_parts(question: str, parts: list[str] | None) -> None:
    assert question_parts(question) == (parts or [question])
