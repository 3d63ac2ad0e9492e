"""Reads damaged documents of every format, and counts what breaks, hangs or is lost silently.

    python benchmarks/mutated_documents.py [--files 200] [--seed 1] [--seconds 10] [FOLDER …]

Each file is a small one of its format, made here or taken from the folders, with bytes flipped,
truncated or duplicated, or with parts nested or repeated. It is read as by `citeproof index`, in a
process with limits, and cut into passages. An error that names a reason is the right outcome (told
in the table). Files that take more than a limit allows, and crashes of the reader, are counted
separately. A file that loses more than half of its text without an error or a problem is a silent
loss.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from common import table, write

from citeproof.errors import CiteproofError
from citeproof.tools.documents.files import READERS
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.sandbox import Sandbox

STORY = [f"Keeper number {n} lit the lamp {n * 7} times in the year {1800 + n}." for n in range(60)]
BRACKETS = (
    *((b"<div>", b"</div>"), (b"<table><tr><td>", b"</td></tr></table>")),
    *((b"<w:tbl><w:tr><w:tc>", b"</w:tc></w:tr></w:tbl>"), (b"[", b"]"), (b"> ", b""), (b'"', b"")),
)
OUTCOMES = ("read", "told", "limit", "broke", "silent")


def flip(data: bytes, rng: random.Random) -> bytes:
    """Some bytes are changed."""
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 3, 20))):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def truncate(data: bytes, rng: random.Random) -> bytes:
    """The end is missing."""
    return data[: rng.randrange(1, len(data))]


def splice(data: bytes, rng: random.Random) -> bytes:
    """A piece is repeated elsewhere."""
    begin, place = rng.randrange(len(data)), rng.randrange(len(data))
    return data[:place] + data[begin : begin + rng.randrange(1, 4000)] + data[place:]


def inside(data: bytes, rng: random.Random) -> bytes:
    """A member of an archive is damaged while the archive stays sound; other files as `flip`."""

    def change(content: bytes) -> bytes:
        return rng.choice((flip, truncate, splice))(content, rng) if content else content

    return _changed(data, rng, change) if data.startswith(b"PK") else flip(data, rng)


def nest(data: bytes, rng: random.Random) -> bytes:
    """Tags, brackets or quotations are nested 300 to 100,000 deep."""
    depth = rng.choice((300, 3_000, 100_000))
    opening, closing = rng.choice(BRACKETS)

    def change(content: bytes) -> bytes:
        place = max(0, content.rfind(b"</", 0, max(1, rng.randrange(len(content) + 1))))
        return content[:place] + opening * depth + closing * depth + content[place:]

    return _changed(data, rng, change)


def huge(data: bytes, rng: random.Random) -> bytes:
    """Some digits become two billion, or a piece is repeated up to a thousand times."""

    def change(content: bytes) -> bytes:
        digits = [n for n, byte in enumerate(content[:200_000]) if chr(byte).isdigit()]
        if digits and rng.random() < 0.5:
            for place in sorted(rng.sample(digits, min(len(digits), 5)), reverse=True):
                content = content[:place] + b"2000000000" + content[place + 1 :]
            return content
        begin = rng.randrange(len(content) or 1)
        piece = content[begin : begin + 300]
        return content[:begin] + piece * rng.choice((100, 1_000)) + content[begin:]

    return _changed(data, rng, change)


MUTATIONS = (flip, truncate, splice, inside, nest, huge)


def _changed(data: bytes, rng: random.Random, change: Callable[[bytes], bytes]) -> bytes:
    """A changed file; of an archive, one member is changed."""
    if not data.startswith(b"PK"):
        return change(data)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", 8) as new:
        names = [info.filename for info in old.infolist()]
        likely = [n for n in names if "document" in n or "slide1." in n or "sheet1." in n]
        likely += [n for n in names if n.endswith((".xhtml", ".html", "content.xml"))]
        chosen = rng.choice(likely if likely and rng.random() < 0.7 else names)
        for name in names:
            content = old.read(name)
            new.writestr(name, change(content) if name == chosen else content)
    return out.getvalue()


def samples(folders: list[Path], most: int) -> Iterator[tuple[str, bytes]]:
    """(ending, bytes) of sound documents: our own, and the small ones of the folders."""
    yield from own()
    found: Counter[str] = Counter()
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            kind = file.suffix.lower()
            if kind in READERS and file.stat().st_size < 200_000 and found[kind] < most:
                found[kind] += 1
                yield kind, file.read_bytes()


def own() -> Iterator[tuple[str, bytes]]:
    """A document of each format that can be written without a library."""
    text = "\n\n".join(STORY)
    yield ".txt", f"The Lamp\n========\n\n{text}\n".encode()
    yield ".md", f"# The Lamp\n\n{text}\n\n- a\n- b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".encode()
    yield ".rst", f"The Lamp\n========\n\n{text}\n".encode()
    rows = "".join(
        f"<tr><td>{n}</td><td colspan=2>{line}</td></tr>" for n, line in enumerate(STORY)
    )
    page = f"<h1>The Lamp</h1><p>{text}</p><table><tr><th>n<th>line</tr>{rows}</table>"
    yield ".html", f"<html><head><meta charset=utf-8><title>L</title>{page}</html>".encode()
    lines = "".join(f'{n},"{line}",{n * 3}\n' for n, line in enumerate(STORY))
    yield ".csv", f"number,line,lamps\n{lines}".encode()
    yield (
        ".jsonl",
        "\n".join(json.dumps({"id": n, "text": x}) for n, x in enumerate(STORY)).encode(),
    )
    head = "From: a@example.org\nSubject: The lamp\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n"
    body = "Content-Type: text/plain; charset=utf-8\n\n"
    yield ".eml", f"{head}{body}{text}".encode()
    yield ".mbox", "".join(f"From a Mon Jan 1\n{head}{body}{x}\n\n" for x in STORY).encode()
    cells = [{"cell_type": "markdown", "metadata": {}, "source": x} for x in STORY]
    yield ".ipynb", json.dumps({"cells": cells, "nbformat": 4}).encode()


def main() -> None:
    """Read damaged files of each format, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path, help="folder for files that break something")
    options = parser.parse_args()
    sound: dict[str, list[bytes]] = {}
    for kind, data in samples(options.folders, 12):
        sound.setdefault(kind, []).append(data)
    kinds = [kind for kind in sorted(sound) if not options.only or kind in options.only.split(",")]
    rows = [measure(kind, sound[kind], options) for kind in kinds]
    write(None, table(["format", *OUTCOMES, "slowest, s"], rows))


def measure(kind: str, sound: list[bytes], options: argparse.Namespace) -> list[object]:
    """A row of the table; prints each file that is neither read nor refused with a reason."""
    rng = random.Random(f"{options.seed}{kind}")
    box = Sandbox(wall_seconds=options.seconds, processor_seconds=int(options.seconds))
    counts: Counter[str] = Counter()
    slowest = 0.0
    sizes: dict[int, int] = {}
    for number in range(options.files):
        which = rng.randrange(len(sound))
        mutate = MUTATIONS[number % len(MUTATIONS)]
        path = Path(f"/{kind[1:]}-{number}-{mutate.__name__}{kind}")
        if which not in sizes:
            sizes[which] = _size(box, sound[which], path)
        data = mutate(sound[which], rng)
        begun = time.monotonic()
        outcome, why = "read", ""
        try:
            document = box.parse(data, path)
            passages = cut(document)
            said = sum(len(passage.text) for passage in passages)
            if said < sizes[which] / 2 and not document.problems and mutate is not truncate:
                outcome, why = "silent", f"{said} of {sizes[which]} characters"
        except CiteproofError as error:
            why = error.why
            broke = "broke" if "its reader" in why else "told"
            outcome = "limit" if "takes more than" in why else broke
        except Exception as error:  # what a user would see as a traceback
            outcome, why = "broke", repr(error)
        took = time.monotonic() - begun
        slowest = max(slowest, took)
        counts[outcome] += 1
        if outcome not in {"read", "told"}:
            print(f"  {path.name}: {outcome}: {why[:200]} ({took:.1f} s, {len(data):,} bytes)")
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / path.name).write_bytes(data)
    box.close()
    return [kind, *(counts[name] for name in OUTCOMES), f"{slowest:.1f}"]


def _size(box: Sandbox, data: bytes, path: Path) -> int:
    try:
        return sum(len(passage.text) for passage in cut(box.parse(data, path)))
    except CiteproofError:
        return 0


if __name__ == "__main__":
    main()
