"""A conversation: its last question, and what was said before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from citeproof.prompts import defuse
from citeproof.text import plain
from citeproof.tools.citations.marks import strip_flags, strip_marks

TURNS = 3
"""Number of last turns that are shown."""
_LONGEST = 400
"""Most characters that are shown of a question or an answer."""
_CUT_WORD = re.compile(r" \S{0,40}\Z")
"""The end of a text that was cut; more without a space is a text in a script without spaces."""


def last_asked(messages: Sequence[AnyMessage]) -> str | None:
    """Return the text of the last message; None if it is not a person's."""
    last = messages[-1] if messages else None
    return str(last.text) if isinstance(last, HumanMessage) else None


def answered_question(messages: Sequence[AnyMessage]) -> str | None:
    """Return the stand-alone question of our last answer; None if there is none."""
    answers = (message for message in reversed(messages) if isinstance(message, AIMessage))
    last = next(answers, None)
    return None if last is None else last.response_metadata.get("question")


def transcript(messages: Sequence[AnyMessage], turns: int = TURNS) -> str:
    """Return the last turns as `Question: …` and `Answer: …`, one line each, shortened.

    A question after the last answer is left out. Rewritten questions are shown as rewritten, since
    they hold the names that the next one refers to.
    """
    shown: list[str] = []
    asked = ""
    for message in messages:
        if isinstance(message, HumanMessage):
            asked = str(message.text)
        elif isinstance(message, AIMessage) and message.text:
            asked = message.response_metadata.get("question") or asked
            said = strip_flags(strip_marks(str(message.text)))
            shown.append(f"Question: {_short(asked)}\nAnswer: {_short(said)}")
            asked = ""
    return "\n".join(shown[-turns:])


def _short(text: str) -> str:
    line = defuse(plain(text))
    return line if len(line) <= _LONGEST else f"{_CUT_WORD.sub('', line[:_LONGEST])} …"
