"""Whole answers as JSON: sentences, each with the numbers of the passages that it cites.

A small model that is asked for marks leaves them out, or copies a passage. In this form it cites
every sentence, and stops.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from langchain_core.utils.json import parse_partial_json

from citeproof.tools.citations.marked_text import MarkedSentence, read_reply

MOST_SENTENCES = 5
"""Most sentences of an answer; without a limit the model would fill its whole reply."""
_MOST_OBJECTS = 200

_NUMBER = re.compile(r"\[?(\d{1,6})\]?")
_FIRST = re.compile(r"\s*(?:```(?:json)?\s*)?(?=\{|\[\s*\{)", re.IGNORECASE)
_LATER = re.compile(r'(?=\{\s*"answer"\s*:\s*\[|\[\s*\{\s*"(?:sentence|passages)"\s*:)')
"""Behind a preface, only the form itself is read: text may show other JSON."""


def answer_schema(numbers: Collection[int], *, most: int, empty: bool = False) -> dict[str, Any]:
    """Return the JSON schema of an answer, each of whose sentences cites one to `most` numbers.

    No other number can be cited. `empty` says whether an answer may have no sentences.
    """
    number = {"type": "integer", "enum": sorted(numbers)}
    passages = _array(number, least=1, most=most)
    sentence = _object(sentence={"type": "string"}, passages=passages)
    return _object(answer=_array(sentence, least=0 if empty else 1, most=MOST_SENTENCES))


def answer_json(sentences: Iterable[MarkedSentence]) -> str:
    """Return an answer in this form, on one line."""
    items = [{"sentence": text, "passages": list(numbers)} for text, numbers in sentences]
    return json.dumps({"answer": items}, ensure_ascii=False)


def is_answer_json(reply: str) -> bool:
    """Whether a reply, which may be incomplete, is meant as JSON."""
    return _begin(reply) is not None


def read_answer_json(reply: str) -> list[MarkedSentence]:
    """Read the sentences of a reply, each with the numbers it cites, in order and each once.

    If the model writes two sentences in the place of one, both cite all of its passages. From a
    truncated reply, only complete sentences are read, or the incomplete one if it is the only one.
    Places beyond `MOST_SENTENCES` are ignored. The list may stand alone, and a preface before it is
    left out. A reply without such a list has no sentences.
    """
    begin = _begin(reply)
    # Each unclosed object would cost a pass over the whole reply.
    if begin is None or reply.count("{") > _MOST_OBJECTS:
        return []
    try:
        found = parse_partial_json(reply[begin:].rstrip("` \n"), strict=False)
    except (ValueError, RecursionError):
        return []
    listed = found.get("answer") if isinstance(found, dict) else found
    items = [
        item
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict)
        and isinstance(item.get("sentence"), str)
        and any(map(str.isalnum, item["sentence"]))
    ]
    whole = [item for item in items if "passages" in item] or items
    return [
        MarkedSentence(sentence.text, _numbers(item))
        for item in whole[:MOST_SENTENCES]
        for sentence in read_reply(" ".join(item["sentence"].split()))
    ]


def _begin(reply: str) -> int | None:
    """Return the place where the JSON begins; None if there is none."""
    found = _FIRST.match(reply) or _LATER.search(reply)
    return found.end() if found else None


def _numbers(item: dict[str, Any]) -> tuple[int, ...]:
    given = item.get("passages")
    numbers = given if isinstance(given, list) else [given]
    found = (_NUMBER.fullmatch(str(n)) for n in numbers)  # "1" and "[1]" are numbers too
    return tuple(dict.fromkeys(int(own[1]) for own in found if own))


def _array(items: dict[str, Any], *, least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
