"""Results as ALCE's runner writes them, and its evaluator reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from citeproof.errors import InputError
from citeproof.evaluation.datasets import read_examples
from citeproof.evaluation.examples import Example, Output
from citeproof.files import write_whole

__all__ = ["read_outputs", "write_outputs"]


def read_outputs(path: Path) -> list[tuple[Example, Output]]:
    """Results as ALCE's runner writes them: the questions of a set, each with its `output`.

    Raises:
        InputError: The file cannot be read, or one of its objects has no `output`.
    """
    found = []
    for own in read_examples(path):
        text = own.raw.get("output")
        if not isinstance(text, str):
            raise InputError(
                f"{path} holds a question without an answer",
                why=f"the `output` of {own.id!r} is not a text",
                fix="Give every question an `output`, empty where nothing was answered.",
            )
        ids = tuple(passage.id for passage in own.documents)
        output = Output(question=own.question, text=text, passages=own.documents, retrieved=ids)
        found.append((own, output))
    return found


def write_outputs(path: Path, items: Iterable[tuple[Example, Output]]) -> None:
    """Results as ALCE's runner writes them, for ALCE's evaluator: as a whole or not at all.

    Each is the object that the example was read from, with `output`, and with the passages that
    its marks number as `docs`. `answer` and `annotations`, without which that evaluator fails,
    are made of the references where they are missing.

    Raises:
        InputError: The file cannot be written.
    """
    data = [_to_alce(own, output) for own, output in items]
    write_whole(path, json.dumps({"data": data}, ensure_ascii=False, indent=1) + "\n")


def _to_alce(own: Example, output: Output) -> dict[str, Any]:
    made: dict[str, Any] = {"question": own.question}
    if own.raw.get("id") is None and own.raw.get("sample_id") is None:
        made["id"] = own.id  # its place in the set, which is another one in this file
    if long := own.references or (own.answers[0] if own.answers else ()):
        made["answer"] = long[0]
    if len(own.references) > 1:
        made["annotations"] = [{"long_answer": text} for text in own.references]
    docs = [{"id": p.id, "title": p.title, "text": p.text} for p in output.passages]
    if own.documents and output.passages == own.documents:
        docs = own.raw.get("docs", docs)
    return made | own.raw | {"docs": docs, "output": output.text}
