"""Reads the sentences of a reply that writes an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

from citeproof.tools.citations.cited_json import is_answer_json
from citeproof.tools.citations.marked_text import read_reply, unwrap
from citeproof.tools.llm.replies import is_end

_LABEL = re.compile(r"^\s*(?:(?:the\s+)?(?:next\s+)?sentence|answer|claim)\s*\d*\s*:\s*", re.I)
_FENCE = re.compile(r"^[^\S\n]*```.*$", re.MULTILINE)
_TAG = re.compile(r"‹([A-Za-z][^‹<>\n]{0,60}>)")
_LONGEST_NAME = 6
"""Most words of a list item that is a name and not a sentence."""


def reply_sentences(reply: str) -> list[str]:
    """The sentences of a reply up to the end token, without labels and marks; none for JSON.

    A list becomes one sentence if it lists names, and otherwise a sentence per item.
    """
    found: list[str] = []
    if is_answer_json(reply):
        return found
    lines = takewhile(lambda line: not is_end(line), reply.splitlines())
    # A model writes a sentence on one line, so each line begins a new one.
    text = _FENCE.sub("", _LABEL.sub("", "\n\n".join(lines)))
    for said in read_reply(text):
        sentence = unwrap(said.text)
        if is_end(sentence):
            break
        found.append(sentence)
    return _join_lists(found)


def restore_tags(text: str, passages: Iterable[str]) -> str:
    """Restore the brackets of `<file>` in a text whose writer has read them as `‹file>`.

    Prompts show no tag as it is, since some would be read as marks of roles. Only tags that a
    passage contains are restored.

    >>> restore_tags("Type git add ‹file>.", ["Type `git add <file>`."])
    'Type git add <file>.'
    """
    known = "\n".join(passages) if "‹" in text else ""
    return _TAG.sub(lambda tag: f"<{tag[1]}" if f"<{tag[1]}" in known else tag[0], text)


def _join_lists(found: Sequence[str]) -> list[str]:
    """Join a sentence that ends with a colon with the names below it, or drop it for sentences.

    >>> _join_lists(["The pier has:", "Shops", "A hall", "It is old."])
    ['The pier has: Shops, A hall.', 'It is old.']
    >>> _join_lists(["Take these steps:", "Open the valve.", "Close the door."])
    ['Open the valve.', 'Close the door.']
    """
    joined: list[str] = []
    rest = list(found)
    while rest:
        sentence = rest.pop(0)
        if sentence.endswith(":") and rest:
            names = list(takewhile(_is_name, rest))
            rest = rest[len(names) :]
            if not names:
                continue
            sentence = f"{sentence} {', '.join(names)}."
        joined.append(sentence)
    return joined


def _is_name(item: str) -> bool:
    return len(item.split()) <= _LONGEST_NAME and item[-1] not in ".!?:"
