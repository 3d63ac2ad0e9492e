"""Makes pairs of a text and a question from the headings of guides, manuals and FAQs.

The heading of a section is a question ("Can I keep two configurations?") or an instruction
("Change your time zone"), from which a question is made ("How do I change my time zone?"). The
section answers it. Other sections that share words with the question, and texts that only announce
an answer, do not.

    python -m training.guides --guides FOLDER --out SETS/guides

The folder has one subfolder for each source; `medquad` holds the files of MedQuAD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from citeproof.tools.sentences import sentences
from training.instructions import first_step, opposite
from training.medquad import medical_pairs
from training.rows import Row, answer_row, save, show
from training.search import search_in
from training.sections import Section, sections, shorten

_FROM_EACH = 700
"""Most sections of one source, so that none dominates."""
_TITLED = 0.6
"""Share of the claims with the title of their document above them."""
_SAME = 0.6
"""Headings that share this part of the shorter one's words may ask for the same."""
_ANNOUNCES = (
    "This section describes how to {act}.",
    "The following steps show how to {act}.",
    "To {act}, follow these steps.",
    "You can {act}.",
    "{Act}.",
    "There are several ways to {act}.",
)
_USES = (
    "To {act}, use {tool}.",
    "To {act}, run {tool}.",
    "You can {act} with {tool}.",
    "Use {tool} to {act}.",
)
_HOW = ("How do I {}?", "How can I {}?", "How do you {}?", "How to {}?", "What is the way to {}?")


def pairs(found: Sequence[Section], rng: Random) -> Iterator[Row]:
    """Pairs of the sections of one source: answers, and texts near to them that are none."""
    keys = {f"{number}": section for number, section in enumerate(found)}
    search = search_in({key: f"{one.heading}\n{one.text}" for key, one in keys.items()})

    def titled(section: Section, claim: str) -> str:
        return show(section.document, claim, rng, _TITLED)

    for section in rng.sample(found, min(_FROM_EACH, len(found))):
        source, act = section.source, section.act
        question = section.question or rng.choice(_HOW).format(act)
        yield answer_row(_shown(section, rng), question, True, f"{source}/section")
        if claim := _claim(section):
            yield answer_row(titled(section, claim), question, True, f"{source}/claim")
        if act and (tool := re.search(r"`([^`\n]{2,40})`", section.text)):
            said = rng.choice(_USES).format(act=act, tool=rng.choice(tool.group(0, 1)))
            yield answer_row(titled(section, said), question, True, f"{source}/tool")
        near = [keys[key] for key in search(question, 12)]
        others = [other for other in near if not _alike(other, section)]
        for other in others[: rng.choice((1, 1, 2))]:
            yield answer_row(_shown(other, rng), question, False, f"{source}/near section")
        for other in others[1:3]:
            if claim := _claim(other):
                yield answer_row(titled(other, claim), question, False, f"{source}/near claim")
        if act and rng.random() < 0.4:
            said = rng.choice(_ANNOUNCES).format(act=act, Act=act[:1].upper() + act[1:])
            yield answer_row(titled(section, said), question, False, f"{source}/announced")
        turned = opposite(act)
        if turned and turned.split()[0] not in section.text.lower():
            asked = rng.choice(_HOW).format(turned)
            yield answer_row(_shown(section, rng), asked, False, f"{source}/opposite")


def _claim(section: Section) -> str:
    """A claim that answers: the first step of an instruction, or the first sentence of an answer.

    "Yes." alone says nothing, so the following sentence is added.
    """
    if section.act:
        step = first_step(section.text)
        return f"To {section.act}, {step}" if step else ""
    texts = sentences(section.text)[:3]
    if texts and len(texts[0].split()) < 6:
        texts = [" ".join(texts[:2])]
    return texts[0] if texts and 6 <= len(texts[0].split()) <= 50 else ""


def _alike(one: Section, other: Section) -> bool:
    """Whether two headings may ask for the same, or one section may be inside the other."""
    left, right = _kinds(one.heading), _kinds(other.heading)
    shared = len(left & right)
    return (
        one is other
        or shared >= _SAME * max(1, min(len(left), len(right)))
        or other.text[:80] in one.text
        or one.text[:80] in other.text
        or left <= _kinds(other.text)
    )


def _shown(section: Section, rng: Random) -> str:
    text = shorten(section.text)
    draw = rng.random()
    if draw < 0.45 and section.heading != section.document:
        return f"Title: {section.document} – {section.heading}\n{text}"
    return f"Title: {section.document}\n{text}" if draw < 0.85 else text


def _kinds(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"\w{3,}", text.lower())} - {"the", "how", "and", "can"}


def build(
    guides: Annotated[Path, typer.Option(help="Folder with one subfolder for each source.")],
    out: Annotated[Path, typer.Option(help="Folder to write one set for each source to.")],
) -> None:
    """Write the pairs of each source."""
    for folder in sorted(path for path in guides.iterdir() if path.is_dir()):
        rng = Random(f"51 {folder.name}")
        is_medical = folder.name == "medquad"
        rows = medical_pairs(folder, rng) if is_medical else pairs(list(sections(folder)), rng)
        save(out, f"guides_{folder.name}", dict.fromkeys(rows))


if __name__ == "__main__":
    typer.run(build)
