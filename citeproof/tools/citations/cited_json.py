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
_BEGIN = re.compile(r"\s*(?:```(?:json)?)?\s*\{", re.IGNORECASE)


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
    return bool(_BEGIN.match(reply))


def read_answer_json(reply: str) -> list[MarkedSentence]:
    """Read the sentences of a reply, each with the numbers it cites, in order and each once.

    If the model writes two sentences in the place of one, both cite all of its passages. From a
    truncated reply, only complete sentences are read, or the incomplete one if it is the only one.
    Sentences beyond `MOST_SENTENCES` are ignored. A reply without such an object has none.
    """
    if reply.count("{") > _MOST_OBJECTS:
        return []  # each unclosed one would cost a pass over the whole reply
    try:
        found = parse_partial_json(reply[reply.find("{") :].rstrip("` \n"), strict=False)
    except (ValueError, RecursionError):
        return []
    listed = found.get("answer") if isinstance(found, dict) else None
    items = [
        item
        for item in (listed if isinstance(listed, list) else [])
        if isinstance(item, dict)
        and isinstance(item.get("sentence"), str)
        and any(map(str.isalnum, item["sentence"]))
    ]
    sentences = [
        MarkedSentence(sentence.text, _numbers(item))
        for item in [item for item in items if "passages" in item] or items
        for sentence in read_reply(" ".join(item["sentence"].split()))
    ]
    return sentences[:MOST_SENTENCES]


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
