"""A process that uses a store beside another one: `python -m tests.memory.rivals ROLE FOLDER …`.

Each line that it prints is a fact, as those of `tests.memory.crowd` are.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Literal

from citeproof.memory.evidence import EvidenceLog
from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, RetrieverSettings
from citeproof.tools.pool import searchable
from citeproof.types import Passage
from tests.memory.crowd import tell
from tests.memory.fakes import WordEmbeddings

DOCUMENTS = 6
ROWS = 250
"""Passages of a document; of all together, more than Chroma writes to its vector files at once."""
STATUSES: tuple[Literal["unchecked", "supported"], ...] = ("unchecked", "supported")


def passage(topic: str) -> Passage:
    return Passage(id=topic, text=f"{topic} is a thing.")


class Clock:
    """Runs for some seconds from its first look: Chroma's import takes a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began: float | None = None

    def __bool__(self) -> bool:
        if self.began is None:
            self.began = time.monotonic()
        return time.monotonic() < self.began + self.seconds


async def note(folder: Path, name: str, goes_on: Clock) -> None:
    """Record claims, each twice, and read them and those of others."""
    log = EvidenceLog.open(ChromaSettings(path=folder))
    number = 0
    await log.record("What is first?", f"{name}-first", [], "supported", "vtg")
    while goes_on:
        topic, status = f"{name}-{number // 2}", STATUSES[number % 2]
        question = f"What is {topic}?"
        tell("try", topic, status)
        await log.record(question, topic, [passage(topic)], status, "vtg")
        tell("ack", topic, status)
        read = await log.for_question(question)
        if [(entry.status, entry.passages) for entry in read] != [(status, (passage(topic),))]:
            tell("error", "read", topic, read)
        if number % 5 == 0:
            last = await log.recent(10)
            whole = [entry for entry in last if not entry.claim.endswith("first")]
            if any(entry.passages != (passage(entry.claim),) for entry in whole):
                tell("error", "recent", last)
            tell("read", len(last))
        number += 1
    log.close()


def opened(folder: Path) -> Index:
    settings = ChromaSettings(path=folder / "store")
    return Index.open(settings, RetrieverSettings(), WordEmbeddings())


def written(folder: Path, version: int) -> Path:
    """Documents of which each passage bears the version; two in three change with it."""
    documents = folder / "documents"
    documents.mkdir(exist_ok=True)
    for number in range(DOCUMENTS):
        if version and (number + version) % 3 == 0:
            continue
        rows = [
            json.dumps({"id": f"d{number}r{row}", "text": f"Row d{number}r{row}v{version} is it."})
            for row in range(ROWS - (version + number) % 2 * ROWS // 2)
        ]
        (documents / f"{number}.jsonl").write_text("\n".join(rows))
    return documents


def write(folder: Path, goes_on: Clock) -> None:
    """Update the index again and again, each time anew as `citeproof index` does."""
    version = 0
    while goes_on:
        index = opened(folder)
        report = index.update([written(folder, version)])
        index.close()
        tell("ack", version, len(report.added), len(report.updated))
        version += 1


def ask(folder: Path, goes_on: Clock) -> None:
    """Search it meanwhile: opened once, and opened anew for each question."""
    while not (stays := opened(folder)).count():
        stays.close()
        time.sleep(0.1)
    while goes_on:
        index = opened(folder)
        for each in (index, stays):
            examine(each, 20)
            tell("ack", "search")
        index.close()
        time.sleep(0.01)
    stays.close()


def examine(index: Index, depth: int) -> None:
    """Tell as an error whatever is not as it was written."""
    [found] = index.candidates(["Row d1r1v1 is it."], depth)
    passages = {passage.id: passage for passage in index.get([one.id for one in found])}
    if len(passages) != len(found) or len(found) < depth:
        tell("error", "gone", len(found), len(passages))
    texts = [searchable(passages[one.id]) for one in found if one.id in passages]
    for one, vector in zip(found, WordEmbeddings().embed_documents(texts), strict=False):
        asked = WordEmbeddings().embed_query("Row d1r1v1 is it.")
        if abs(cosine(asked, vector) - one.cosine) > 1e-3:
            tell("error", "vector", one, cosine(asked, vector))


def cosine(one: list[float], other: list[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = sum(a * a for a in one) * sum(b * b for b in other)
    return float(product / lengths**0.5)


def main() -> None:
    role, folder, name, seconds = sys.argv[1:]
    goes_on = Clock(float(seconds))
    try:
        if role == "note":
            asyncio.run(note(Path(folder), name, goes_on))
        else:
            (write if role == "write" else ask)(Path(folder), goes_on)
    except Exception:
        tell("error", role, traceback.format_exc().replace("\n", " | "))
    tell("done")


if __name__ == "__main__":
    main()
