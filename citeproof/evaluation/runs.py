"""Finished runs as reports see them: our folders, and files of ALCE's public runner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from citeproof.errors import InputError
from citeproof.evaluation.examples import Example, Output
from citeproof.evaluation.manifest import Manifest, require_manifest
from citeproof.evaluation.outputs import read_outputs
from citeproof.evaluation.results import Result, read_lines, read_results
from citeproof.paths import expand, is_file
from citeproof.types import Answer

__all__ = ["Run", "open_run"]


@dataclass(frozen=True)
class Run:
    """Runs to score and to compare."""

    path: Path
    """A run's folder, or a JSON file."""
    examples: tuple[Example, ...]
    """Those that have an answer, or an error, in order."""
    results: tuple[Result, ...]
    """One for each example."""
    manifest: Manifest | None = None
    """None for a file."""

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self.path.absolute().name if self.path.is_dir() else self.path.stem

    @property
    def method(self) -> str:
        """Empty where nothing names it."""
        return self.manifest.method if self.manifest is not None else ""

    def items(self) -> list[tuple[Example, Output, Answer | None]]:
        """The outputs to be scored: all but the examples that ended in an error."""
        return [
            (example, result.scored(), result.answer)
            for example, result in zip(self.examples, self.results, strict=True)
            if result.error is None
        ]

    def beside(self, name: str) -> Path:
        """Where a file that belongs to the run is kept: in the folder, or beside the file."""
        if self.path.is_dir():
            return self.path / name
        return self.path.with_name(f"{self.path.stem}.{name}")


def open_run(path: Path) -> Run:
    """Read a run.

    Raises:
        InputError: There is none, or it cannot be read.
    """
    path = expand(path)
    if is_file(path):
        outputs = read_outputs(path)
        results = [
            Result(
                id=example.id,
                question=output.question,
                output=output.text,
                docs=output.passages,
                retrieved=output.retrieved,
            )
            for example, output in outputs
        ]
        return Run(path, tuple(example for example, _ in outputs), tuple(results))
    manifest = require_manifest(path, ", or a JSON file with `output`s")
    done = read_results(path / "results.jsonl")
    examples = [e for e in read_lines(path / "examples.jsonl", Example) if e.id in done]
    if not examples:
        raise InputError(f"{path} has no result yet", fix="Run citeproof eval with --resume.")
    return Run(path, tuple(examples), tuple(done[e.id] for e in examples), manifest)
