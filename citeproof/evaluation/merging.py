"""Splits a run into shards for several machines, and merges their results into one run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from citeproof.errors import InputError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import Manifest, describe_changes, require_manifest
from citeproof.evaluation.results import Result, digest, lines_of, read_lines, read_results
from citeproof.evaluation.runner import finish, totals_of
from citeproof.evaluation.traces import trace_path
from citeproof.files import file_errors, write_whole
from citeproof.paths import expand


class Shard(NamedTuple):
    """One of several contiguous parts of the examples."""

    number: int
    """From 1."""
    all: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `2/4`, the second of four."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        number, parts = (int(part) for part in found.groups()) if found else (0, 0)
        if not 1 <= number <= parts:
            raise InputError(f"There is no shard {text!r}", fix="Write 2/4, the second of four.")
        return cls(number, parts)

    def of(self, examples: Sequence[Example]) -> list[Example]:
        """Return this part of the examples; the sizes of parts differ by at most one."""
        first, last = (len(examples) * n // self.all for n in (self.number - 1, self.number))
        return list(examples[first:last])


def merge(folders: Sequence[Path], out: Path) -> Manifest:
    """Merge runs of one configuration, in their order, into a run that can be resumed.

    If several runs have the same example, the first result that is not an error is used. The runs'
    folders are not changed; `out` must be new or empty.
    """
    out = expand(out)
    if not folders:
        raise InputError("There is nothing to merge", fix="Name the folders of runs.")
    manifests = [require_manifest(expand(folder)) for folder in folders]
    for folder, manifest in zip(folders, manifests, strict=True):
        if changed := describe_changes(_anywhere(manifests[0]), _anywhere(manifest)):
            raise InputError(
                f"{folder} cannot be merged with {folders[0]}",
                why=f"they are of different configurations: {'; '.join(changed[:5])}",
                fix="Merge runs of one command that only differ in --shard and --out.",
            )
    examples: dict[str, Example] = {}
    results: dict[str, Result] = {}
    traces: dict[str, Path] = {}
    """Example's id → where the trace of its result would be; it may not exist."""
    for folder in map(expand, folders):
        here = read_results(folder / "results.jsonl")
        for number, example in enumerate(read_lines(folder / "examples.jsonl", Example), start=1):
            if examples.setdefault(example.id, example) != example:
                raise InputError(f"Two examples have the id {example.id!r}", why=f"one in {folder}")
            result, before = here.get(example.id), results.get(example.id)
            if result and (before is None or (before.error and not result.error)):
                results[example.id] = result
                traces[example.id] = trace_path(folder, number)
    asked = list(examples.values())
    there = [results[key] for key in examples if key in results]
    with file_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise InputError(f"{out} is not empty", fix="Name a new folder with --out.")
        for number, key in enumerate(examples, start=1):
            if key in traces and traces[key].is_file():
                trace_path(out, number).parent.mkdir(exist_ok=True)
                shutil.copyfile(traces[key], trace_path(out, number))
    write_whole(out / "examples.jsonl", lines_of(asked))
    if len(there) == len(asked):
        finish(out, asked, there)
    else:
        write_whole(out / "results.jsonl", lines_of(there))
    sittings = [one for own in manifests for one in own.sittings]
    data = {"examples": len(asked), "chosen": digest(lines_of(asked))}
    merged = manifests[0].model_copy(
        update={
            "data": manifests[0].data.model_copy(update=data),
            "sittings": tuple(sorted(sittings, key=lambda one: one.started)),
            "totals": totals_of(manifests[0].parameters, asked, there),
        }
    )
    merged.write(out)  # last, because it makes the folder a complete run
    return merged


def _anywhere(manifest: Manifest) -> Manifest:
    """Return the manifest without what differs between shards."""
    data = manifest.data.model_copy(update={"examples": 0, "chosen": ""})
    return manifest.model_copy(update={"data": data})
