"""Splits a run into shards for several machines, and merges their results into one run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from citeproof.errors import InputError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import Data, Manifest, describe_changes, require_manifest
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

    If several runs have the same example, the first result that is not an error is used.

    Args:
        folders: Folders of runs, which are not changed.
        out: A new or empty folder.
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
    kept: dict[str, tuple[Result, Path]] = {}
    """The result and the path of its trace, which may not exist, by the example's id."""
    for folder in map(expand, folders):
        results = read_results(folder / "results.jsonl")
        for number, example in enumerate(read_lines(folder / "examples.jsonl", Example), start=1):
            if examples.setdefault(example.id, example) != example:
                raise InputError(f"Two examples have the id {example.id!r}", why=f"one in {folder}")
            if (result := results.get(example.id)) is None:
                continue
            if example.id not in kept or (kept[example.id][0].error and not result.error):
                kept[example.id] = result, trace_path(folder, number)
    asked = list(examples.values())
    there = [kept[example.id][0] for example in asked if example.id in kept]
    with file_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise InputError(f"{out} is not empty", fix="Name a new folder with --out.")
        for number, example in enumerate(asked, start=1):
            if example.id in kept and (trace := kept[example.id][1]).is_file():
                trace_path(out, number).parent.mkdir(exist_ok=True)
                shutil.copyfile(trace, trace_path(out, number))
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
    data: Data = manifest.data.model_copy(update={"examples": 0, "chosen": ""})
    return manifest.model_copy(update={"data": data})
