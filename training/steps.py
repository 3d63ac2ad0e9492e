"""Makes claims that tell how to reach a goal, and near misses, from the sections of guides.

A writer that is asked "How do I …?" answers "To …, do this". A section supports such a claim if it
is about that goal and gives that step. The near misses have another section's goal or step, the
opposite goal, one that asks for more, or another command, key or number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from citeproof.tools.retrieval.word_search import Row as Found
from citeproof.tools.retrieval.word_search import Words
from citeproof.tools.sentences import split
from training.instructions import instruction, opposite
from training.rows import Row, show
from training.sections import Section, are_alike, kinds, shorten

_FROM_EACH = 700
"""Most sections of one source, so that none dominates."""
_STEPS = 3
"""Most steps of one section."""
_FORMS = (
    "To {goal}, {step}.",
    "To {goal}, {step}.",
    "To {goal}, you need to {step}.",
    "To {goal}, you can {step}.",
    "You can {goal} if you {step}.",
)
_ASIDE = re.compile(r"\s*\([^()]*\)|, (?:which|where|so that|such as|as|and then)\b.*|: .*")
"""What a step may leave out and still be right."""
_MARKED = re.compile(
    r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”|\b(?:Ctrl|Alt|Shift)\+\w+|\b\d[\d.]*\b|--?\w[\w-]+"
)
"""Commands, labels, keys, numbers and options."""
_FOR_WHAT = re.compile(r" (?:from|to|in|into|on|with|for|as|using|by) (?!my\b|a\b|an\b|the\b).+$")
"""The end of a goal: "export a chart" may go on with "to PowerPoint"."""


def step_pairs(found: Sequence[Section], rng: Random) -> Iterator[Row]:
    """Pairs of a section and a claim that tells how, right and nearly right."""
    usable = [one for one in found if _is_plain(one.act) and steps(shorten(one.text))]
    words = Words()
    keys = {f"{number}": section for number, section in enumerate(usable)}
    words.change([], [Found(k, k, f"{s.heading}\n{s.text}") for k, s in keys.items()])
    for section in rng.sample(usable, min(_FROM_EACH, len(usable))):
        known = steps(shorten(section.text))
        for step in rng.sample(known, min(_STEPS, len(known))):
            [hits] = words.search([f"{section.act}\n{step}"], 12)
            others = [keys[key] for key, _ in hits if not are_alike(keys[key], section)]
            claims = list(_claims(section, step, others, usable, rng))
            premise = _shown(section, rng)
            for goal, said, how in claims:
                label = "entailed" if how in ("step", "two steps") else "not_entailed"
                claim = rng.choice(_FORMS).format(goal=goal, step=said.rstrip(" .:;"))
                yield Row(premise, claim, label, f"steps_{section.source}/{how}")
            for other in others[1:2]:
                claim = rng.choice(_FORMS).format(goal=claims[0][0], step=step.rstrip(" .:;"))
                source = f"steps_{section.source}/another section"
                yield Row(_shown(other, rng), claim, "not_entailed", source)


def _claims(
    section: Section, step: str, others: Sequence[Section], usable: Sequence[Section], rng: Random
) -> Iterator[tuple[str, str, str]]:
    """Goals and steps: first the right one, then near misses, each with the name of its kind."""
    goal, text = _to_you(section.act), shorten(section.text)
    short = _ASIDE.sub("", step)
    yield goal, short if len(short.split()) > 2 else step, "step"
    known = steps(text)
    if (place := known.index(step) + 1) < len(known):
        yield goal, f"{step.rstrip(' .:;')} and {known[place]}", "two steps"
    for other in others[:1]:
        yield _to_you(other.act), step, "another goal"
        theirs = rng.choice(steps(shorten(other.text)))
        if theirs.lower()[:40] not in text.lower():
            yield goal, theirs, "another step"
    if (turned := opposite(section.act)) and turned.split()[0] not in text.lower():
        yield _to_you(turned), step, "opposite"
    if (more := _ask_for_more(section, usable, rng)) and rng.random() < 0.5:
        yield _to_you(more), step, "more"
    if changed := _change(step, text, rng):
        yield goal, changed, "changed"


def _is_plain(act: str) -> bool:
    return 1 < len(act.split()) <= 12 and not re.search(r"[\[\]<>{}|]", act)


def steps(text: str) -> list[str]:
    """The sentences of a text that tell what to do, each as the rest of a sentence."""
    return [step for s in split(text) if (step := instruction(text[s.start : s.end]))]


def _to_you(act: str) -> str:
    you = {"my": "your", "I": "you", "mine": "yours"}
    return " ".join(you.get(word, word) for word in act.split())


def _ask_for_more(section: Section, others: Sequence[Section], rng: Random) -> str:
    """The goal with the end of another section's goal, which the section says nothing of."""
    ends = [
        m[0] for one in rng.sample(others, min(40, len(others))) if (m := _FOR_WHAT.search(one.act))
    ]
    known = kinds(f"{section.document} {section.heading} {section.text}")
    new = [end for end in ends if kinds(end) and not kinds(end) & known]
    return _FOR_WHAT.sub("", section.act) + rng.choice(new) if new else ""


def _change(step: str, text: str, rng: Random) -> str:
    """The step with another command, label, key or number of the text; empty if it has none."""
    places = list(_MARKED.finditer(step))
    if not places:
        return ""
    place = rng.choice(places)
    of_kind = [
        other[0]
        for other in _MARKED.finditer(text)
        if other[0][:1].isdigit() == place[0][:1].isdigit() and other[0] not in step
    ]
    if not of_kind:
        return ""
    return step[: place.start()] + rng.choice(of_kind) + step[place.end() :]


def _shown(section: Section, rng: Random) -> str:
    """The text under its title; the heading is left out only if the text itself is on the goal."""
    goal, text = kinds(section.act), shorten(section.text)
    is_told = len(goal & kinds(f"{section.document} {text}")) >= 0.6 * len(goal)
    if section.heading == section.document or (is_told and rng.random() < 0.4):
        return show(section.document, text, rng, 0.8)
    return f"Title: {section.document} – {section.heading}\n{text}"
