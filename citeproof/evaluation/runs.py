"""Finished runs as reports see them: citeproof's folders, and files of ALCE's public runner."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeproof.errors import InputError
from citeproof.evaluation.datasets import read_examples
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import Manifest, require_manifest
from citeproof.evaluation.results import Result, read_lines, read_results
from citeproof.files import write_whole
from citeproof.paths import expand, is_file

__all__ = ["Run", "open_run", "read_outputs", "write_outputs"]


@dataclass(frozen=True)
class Run:
    """A run to score and compare."""

    path: Path
    """A run's folder, or a JSON file."""
    examples: tuple[Example, ...]
    """The examples that have an answer or an error, in order."""
    results: tuple[Result, ...]
    """One result per example."""
    manifest: Manifest | None = None
    """None if the run is a file."""

    @property
    def name(self) -> str:
        """The name in reports."""
        return self.path.absolute().name if self.path.is_dir() else self.path.stem

    @property
    def method(self) -> str:
        """The method; empty if it is unknown."""
        return self.manifest.method if self.manifest is not None else ""

    def items(self) -> list[tuple[Example, Result]]:
        """Return what is to be scored: all examples except those that ended in an error."""
        items = zip(self.examples, self.results, strict=True)
        return [item for item in items if item[1].error is None]

    def beside(self, name: str) -> Path:
        """Return the path for a file of the run: in its folder, or next to its file."""
        if self.path.is_dir():
            return self.path / name
        return self.path.with_name(f"{self.path.stem}.{name}")


def open_run(path: Path) -> Run:
    """Read a run."""
    path = expand(path)
    if is_file(path):
        outputs = read_outputs(path)
        return Run(path, tuple(e for e, _ in outputs), tuple(result for _, result in outputs))
    manifest = require_manifest(path, ", or a JSON file with `output`s")
    done = read_results(path / "results.jsonl")
    examples = [e for e in read_lines(path / "examples.jsonl", Example) if e.id in done]
    if not examples:
        raise InputError(f"{path} has no result yet", fix="Run citeproof eval with --resume.")
    return Run(path, tuple(examples), tuple(done[e.id] for e in examples), manifest)


def read_outputs(path: Path) -> list[tuple[Example, Result]]:
    """Read results as ALCE's runner writes them: the questions of a set, each with its `output`."""
    found = []
    for own in read_examples(path):
        text = own.raw.get("output")
        if not isinstance(text, str):
            raise InputError(
                f"{path} contains a question without an answer",
                why=f"the `output` of {own.id!r} is not a text",
                fix="Give every question an `output`, which is empty if there is no answer.",
            )
        result = Result(
            id=own.id,
            question=own.question,
            output=text,
            docs=own.documents,
            retrieved=tuple(passage.id for passage in own.documents),
        )
        found.append((own, result))
    return found


def write_outputs(path: Path, items: Iterable[tuple[Example, Result]]) -> None:
    """Write results as ALCE's runner does, for ALCE's evaluator, either all or none.

    Each is the object that the example was read from, with `output`, and with the passages that the
    citation marks refer to as `docs`. Missing `answer` and `annotations`, without which that
    evaluator fails, are filled from the references.
    """
    data = [_to_alce(own, result) for own, result in items]
    write_whole(path, json.dumps({"data": data}, ensure_ascii=False, indent=1) + "\n")


def _to_alce(own: Example, result: Result) -> dict[str, Any]:
    made: dict[str, Any] = {"question": own.question}
    if own.raw.get("sample_id") is None:
        made["id"] = own.id  # its place in the set, which differs from that in this file
    if long := own.references or (own.answers[0] if own.answers else ()):
        made["answer"] = long[0]
    if len(own.references) > 1:
        made["annotations"] = [{"long_answer": text} for text in own.references]
    docs = [{"id": p.id, "title": p.title, "text": p.text} for p in result.docs]
    if own.documents and result.docs == own.documents:
        docs = own.raw.get("docs", docs)
    filled = {key: value for key, value in made.items() if own.raw.get(key) is None}
    return own.raw | filled | {"docs": docs, "output": result.output}
