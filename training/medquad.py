"""Makes pairs of a text and a question from MedQuAD: answers of NIH websites on diseases.

An answer on one aspect of a disease does not answer a question on another aspect, nor one on
another disease.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from xml.etree import ElementTree

from citeproof.tools.sentences import sentences
from training.rows import Row, answer_row, show
from training.sections import clean, shorten

_TOPICS = 700
"""Most diseases, so that they do not dominate."""
_TITLED = 0.85
"""Share of the answers with the disease above them."""


def medical_pairs(folder: Path, rng: Random) -> Iterator[Row]:
    """MedQuAD: the answer on one aspect of a disease, against other aspects and other diseases."""
    by_kind: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    topics = []
    for path in sorted(folder.glob("*_QA*/*.xml")):
        root = ElementTree.fromstring(path.read_bytes())
        focus = (root.findtext("Focus") or "").strip()
        answers = {}
        for pair in root.iter("QAPair"):
            asked, answer = pair.find("Question"), clean(pair.findtext("Answer") or "")
            if asked is not None and asked.text and len(answer.split()) >= 12 and focus:
                kind = asked.get("qtype") or ""
                question = re.sub(r"\s*\(are\)|\s+(?=\?)", "", asked.text).strip()
                answers[kind] = (focus, question, answer)
                by_kind[kind].append(answers[kind])
        if len(answers) > 1:
            topics.append(answers)
    for answers in rng.sample(topics, min(_TOPICS, len(topics))):
        kind = rng.choice(list(answers))
        focus, question, answer = answers[kind]
        shown = shorten(answer)
        yield answer_row(show(focus, shown, rng, _TITLED), question, True, "medquad/answer")
        if rng.random() < 0.5:
            first = sentences(shown)[0]
            if any(word in first for word in focus.split()) and len(first.split()) >= 8:
                yield answer_row(first, question, True, "medquad/sentence")
        # What a disease is may be answered along the way, so it is no question of a wrong answer.
        rest = [k for k in answers if k not in (kind, "information")]
        if rest and kind != "information":
            other = answers[rng.choice(rest)]
            text = show(focus, shorten(other[2]), rng, _TITLED)
            yield answer_row(text, question, False, "medquad/other aspect")
        sister = rng.choice(by_kind[kind])
        if not set(sister[0].lower().split()) & set(focus.lower().split()):
            text = f"Title: {sister[0]}\n{shorten(sister[2])}"
            yield answer_row(text, question, False, "medquad/other disease")
