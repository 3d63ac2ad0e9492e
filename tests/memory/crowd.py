"""Two processes that read and write one bank; in the middle of it one is killed.

`python -m tests.memory.crowd FOLDER NAME WRITERS READERS SECONDS` is one of the processes. Each
line that it prints is a fact: `try TOPIC VERSION`, `ack TOPIC VERSION`, `reason ID TEXT`,
`read NUMBER`, `error WHAT`.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from citeproof.memory.bank import Bank, Case, Entry
from citeproof.memory.chroma import Chroma
from citeproof.memory.shelf import KINDS
from citeproof.settings import ChromaSettings
from citeproof.types import Passage
from tests.memory.fakes import WordEmbeddings


def case(topic: str, version: int) -> Case:
    """A case that bears its topic and version in each part."""
    said = f"{topic} in version {version}"
    return Case(
        question=f"What is {topic}?",
        passages=(Passage(id=topic, text=f"{topic} is a thing. " * 5),),
        answer=f"It is {said} [1].",
        feedback=f"Fine: {said}.",
        actions=(f"Keep {said}.",),
        final=f"Surely it is {said} [1].",
    )


def sound(found: Case) -> bool:
    """Whether all parts of a case are of the same topic and version."""
    topic = found.passages[0].id
    return found == case(topic, int(found.final.split()[-2]))


def tell(*words: object) -> None:
    with _printing:
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()


_printing = threading.Lock()


async def write(bank: Bank, name: str, end: float) -> None:
    """Add cases, every topic twice, so that the second takes the place of the first."""
    number = 0
    while time.monotonic() < end:
        topic = f"{name}-{number // 2}"
        version = number % 2
        tell("try", topic, version)
        key = await bank.add(case(topic, version))
        tell("ack", topic, version)
        if number % 3 == 0:
            kept = await bank.keep_rationale(f"{key}-planning", f"Because of {topic}.")
            tell("reason", key, kept)
        number += 1


async def read(bank: Bank, name: str, end: float) -> None:
    chance = random.Random(name)
    reads = 0
    while time.monotonic() < end:
        kind = chance.choice(KINDS)
        asked = case(f"A{chance.randrange(4)}-{chance.randrange(40)}", 0)
        found = await bank.best(
            kind,
            question=asked.question,
            passages=asked.passages,
            answer=asked.answer,
            feedback=asked.feedback,
            rank=chance.randrange(1, 4),
        )
        reads += 1
        if found is not None and not sound(found.case):
            tell("error", "a case in parts:", found.model_dump_json())
        if reads % 10 == 0:
            tell("read", 10)
        await asyncio.sleep(0.002)


@dataclass
class Outcome:
    """What came of a run."""

    tried: int = 0
    acknowledged: int = 0
    killed_after: int = 0
    """Cases that the killed process had acknowledged."""
    rationales: int = 0
    reads: int = 0
    cases: int = 0
    """In the bank at the end."""
    errors: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """What was acknowledged, and is not there."""
    halves: list[str] = field(default_factory=list)
    """Ids of cases of which the store holds one or two snippets."""


def crowd(seconds: float, *, writers: int = 4, readers: int = 4) -> Outcome:
    """Run two processes over one new bank, and kill one of them halfway.

    Args:
        seconds: Until the other one stops.
        writers: In each process.
        readers: In each process.
    """
    with tempfile.TemporaryDirectory() as folder:
        numbers = [str(writers), str(readers), str(seconds)]
        said = heard("tests.memory.crowd", [[folder, name, *numbers] for name in "AB"], seconds / 2)
        found = asyncio.run(_examined(Path(folder), [line.split() for own in said for line in own]))
        found.killed_after = sum(line.startswith("ack") for line in said[1])
        if said[0][-1:] != ["done\n"]:
            found.errors.append("the process that was not killed did not come to its end")
        return found


def heard(module: str, arguments: list[list[str]], seconds: float) -> list[list[str]]:
    """Run a module as two processes at once, and kill the second one; the lines of each.

    Args:
        module: Its name.
        arguments: Of each process.
        seconds: From when both have told an `ack` until the second is killed.
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", module, *given],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for given in arguments
    ]
    said: list[list[str]] = [[], []]
    hearing = [
        threading.Thread(target=lambda p=p, own=own: own.extend(p.stdout or ()))
        for p, own in zip(processes, said, strict=True)
    ]
    for thread in hearing:
        thread.start()
    while not all(any(line.startswith("ack") for line in list(own)) for own in said):
        time.sleep(0.05)
        assert all(process.poll() is None for process in processes), said
    time.sleep(seconds)
    processes[1].kill()
    for process, thread in zip(processes, hearing, strict=True):
        process.wait()
        thread.join()
    return said


async def _examined(folder: Path, facts: list[list[str]]) -> Outcome:
    settings = ChromaSettings(path=folder)
    bank = Bank.open(settings, WordEmbeddings())
    entries = await bank.cases()
    bank.close()
    held: dict[str, Entry] = {entry.case.passages[0].id: entry for entry in entries}
    whole = {entry.id: entry for entry in entries}
    found = Outcome(cases=len(entries))
    if len(held) < len(entries):
        found.errors.append("a case was served beside the one that replaced it")
    tried = {(topic, int(version)) for kind, topic, version in facts_of(facts, "try")}
    last: dict[str, int] = {}
    for _, topic, version in facts_of(facts, "ack"):
        last[topic] = int(version)
    for topic, newest in last.items():
        there = [case(topic, v) for v in (newest, newest + 1) if (topic, v) in tried]
        if topic not in held or held[topic].case not in there:
            found.lost.append(topic)
    for _, key, *words in facts_of(facts, "reason"):
        if key in whole and whole[key].rationales.get("planning") != " ".join(words):
            found.lost.append(f"the rationale of {key}")
    found.tried, found.acknowledged = len(tried), sum(1 for _ in facts_of(facts, "ack"))
    found.rationales = sum(1 for _ in facts_of(facts, "reason"))
    found.reads = sum(int(fact[1]) for fact in facts_of(facts, "read"))
    found.errors += [" ".join(fact) for fact in facts_of(facts, "error")]
    chroma = Chroma.open(ChromaSettings(path=folder / "bank"))
    collection = chroma.find("passages-bank")
    assert collection is not None
    keys = [key for key in collection.ids() if not key.endswith("rationale")]
    snippets = Counter(key.partition("-")[0] for key in keys)
    found.halves = [key for key, number in snippets.items() if number != 3]
    chroma.close()
    return found


def facts_of(facts: list[list[str]], kind: str) -> list[list[str]]:
    return [fact for fact in facts if fact[:1] == [kind]]


def main() -> None:
    folder, name, writers, readers, seconds = sys.argv[1:]
    bank = Bank.open(ChromaSettings(path=Path(folder)), WordEmbeddings())
    end = time.monotonic() + float(seconds)

    def run(which: str, number: int) -> None:
        try:
            asyncio.run((write if which == "w" else read)(bank, f"{name}{number}", end))
        except Exception:
            tell("error", which, traceback.format_exc().replace("\n", " | "))

    threads = [threading.Thread(target=run, args=("w", n)) for n in range(int(writers))]
    threads += [threading.Thread(target=run, args=("r", n)) for n in range(int(readers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bank.close()
    tell("done")


if __name__ == "__main__":
    main()
