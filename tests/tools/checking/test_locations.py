"""Where checked sentences stand in the text as it was written."""

from __future__ import annotations

import asyncio

import pytest

from citeproof import check
from citeproof.testing import TableEntailment, passage
from citeproof.tools.checking.locations import locate

LETTER = """# A letter

Dear Bo, **Ann Lee built** the tower [1]. It is [white](https://x.org/a/b) and "tall".[2] \
Then it fell [1, 2] down [unverified]. It is white.

- First item is here.
- Second item [3] is `code` x.

| Year | Event |
|---|---|
| 1871 | Ann Lee built the tower [1] |
| 1872 | It burnt |

It burnt. It burnt. Die Straße ist GROẞ. پل نیا ہے۔ «Ann» «fell.»
"""


def written(text: str) -> list[str | None]:
    report = asyncio.run(check(text, [passage("x")], TableEntailment({})))
    spans = locate(text, [sentence.text for sentence in report.sentences])
    return [text[span.start : span.end] if span else None for span in spans]


def test_sentences_are_found_with_their_marks_and_signs() -> None:
    assert written(LETTER) == [
        "A letter",
        "Dear Bo, **Ann Lee built** the tower [1].",
        'It is [white](https://x.org/a/b) and "tall".[2]',
        "Then it fell [1, 2] down [unverified].",
        "It is white.",
        "First item is here.",
        "Second item [3] is `code` x.",
        "Year | Event",
        "| 1871 | Ann Lee built the tower [1] |",
        "| 1872 | It burnt |",
        "It burnt.",
        "It burnt.",
        "Die Straße ist GROẞ.",
        "پل نیا ہے۔",
        "«Ann» «fell.»",
    ]


@pytest.mark.parametrize("sentence", ["", "Nothing of the kind.", "…"])
def test_what_is_not_there_is_not_found(sentence: str) -> None:
    assert locate("It burnt.", [sentence]) == [None]
