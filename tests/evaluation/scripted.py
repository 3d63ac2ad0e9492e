"""Questions, and tools that answer them without models; as a program, citeproof's command line.

python -m tests.evaluation.scripted eval --data numbers.jsonl --out RUN
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from citeproof import Toolbox
from citeproof.evaluation.datasets import read_examples
from citeproof.evaluation.examples import Example
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment

COLOURS = ("red", "green", "blue")


def rows(count: int) -> list[dict[str, Any]]:
    """Questions with the documents that answer them."""
    return [
        {
            "id": f"q{n}",
            "question": f"Which colour has number {n}?",
            "answers": [COLOURS[n % 3]],
            "docs": [
                {"id": f"d{n}", "title": "Numbers", "text": f"Number {n} is {COLOURS[n % 3]}."},
                {"id": f"e{n}", "title": "Letters", "text": f"No letter is number {n}."},
            ],
            "gold_passages": [f"d{n}"],
        }
        for n in range(count)
    ]


def write(path: Path, count: int) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows(count)), "utf-8")
    return path


def examples(folder: Path, count: int) -> list[Example]:
    return read_examples(write(folder / "numbers.jsonl", count), seed=None)


def reply(prompt: str) -> str:
    """VTG's replies: the text of the passage about the number, cited."""
    number = re.findall(r"number (\d+)\?", prompt)[-1]
    place, text = re.findall(
        rf'<passage number="(\d+)"[^>]*>\n(Number {number} is \w+\.)\n', prompt
    )[-1]
    if '{"citations"' in prompt:
        return json.dumps({"citations": [int(place)]})
    return str(text)


def toolbox(script: Any = reply, delay: float = 0.0) -> Toolbox:
    return Toolbox(
        ScriptedChatModel(script, delay=delay),
        retriever=ListRetriever([]),
        entailment=judge(),
    )


def judge() -> TableEntailment:
    return TableEntailment(lambda premise, hypothesis: 0.9 if hypothesis in premise else 0.1)


def main() -> None:
    from citeproof import cli

    delay = float(os.environ.get("DELAY", "0"))
    Toolbox.from_settings = lambda *_, **__: toolbox(delay=delay)  # type: ignore[method-assign]
    cli.main()


if __name__ == "__main__":
    main()
