"""Citation recall, precision and F1 (Gao et al. 2023, section 4; their evaluator's rules)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citeproof.evaluation.examples import Example, Mode, Scores
from citeproof.evaluation.metrics.texts import first_line, sentences, strip_alce_marks
from citeproof.evaluation.results import Result
from citeproof.tools.citations.marked_list import read_marked_list
from citeproof.tools.citations.marked_text import read_marked
from citeproof.tools.entailment import Pair, premise
from citeproof.tools.entailment.rounds import Asking
from citeproof.types import Answer, Passage

MOST_CITATIONS = 3
"""Citations of a statement that count by default."""
_ALCE_MARK = re.compile(r"\[(\d+)")


@dataclass(frozen=True)
class Statement:
    """A statement of an answer, as it is judged."""

    text: str
    """The text without marks; for QAMPARI the question and an entity."""
    places: tuple[int, ...]
    """Positions of the cited passages that count among those of the answer; empty if the statement
    is wrong without being judged, because it cites nothing or a passage that does not exist."""
    citations: int
    """How many citations count in the denominator of precision."""


def statements(
    example: Example, result: Result, mode: Mode, most: int = MOST_CITATIONS
) -> list[Statement]:
    """Return the statements of an answer, in order; the first `most` citations of each count.

    corrected: marks may be lists and ranges, and belong to the sentence that ends before them. A
    number counts once. A number without a passage, such as 0, makes the statement and all its
    counted citations wrong.

    strict: each `[` followed by digits is a citation, also if repeated. If any number exceeds the
    number of passages, the statement is wrong, and none of its citations count. 0 is the last
    passage.
    """
    if mode == "strict":
        return [_strict(text, result.docs, most) for text in _strict_texts(example, result)]
    if example.task == "qampari":
        listed = read_marked_list(result.output)
        found = [(f"{example.question} {entity}", numbers) for entity, numbers in listed]
    else:
        found = [(" ".join(text.split()), numbers) for text, numbers in read_marked(result.output)]
    return [_statement(text, numbers, result.docs, most) for text, numbers in found]


def citation_scores(
    example: Example, result: Result, mode: Mode, most: int = MOST_CITATIONS
) -> Asking[Pair, bool, Scores]:
    """Compute the scores of an answer, asking the judge in at most three rounds.

    Recall is the share of statements that their cited passages entail together. Precision is the
    share of citations that are right, or 0 if there are none. A statement's only citation is right
    if it entails the statement. One of several citations is right if all together entail the
    statement, and either it does so alone or the others do not.

    An answer without statements has no scores in strict mode. In corrected mode its scores are 0,
    or missing if the question has no answer.
    """
    found = statements(example, result, mode, most)

    def pair(statement: Statement, places: Sequence[int]) -> Pair:
        return Pair(_premise([result.docs[place] for place in places], mode), statement.text)

    tried = [own for own in found if own.places]
    together = yield [pair(own, own.places) for own in tried]
    held = [own for own, holds in zip(tried, together, strict=True) if holds]
    several = [(own, place) for own in held if len(own.places) > 1 for place in own.places]
    alone = yield [pair(own, [place]) for own, place in several]
    unsure = [each for each, holds in zip(several, alone, strict=True) if not holds]
    without = yield [pair(own, _without(own.places, place)) for own, place in unsure]
    right = sum(len(own.places) == 1 for own in held) + sum(alone) + without.count(False)
    total = sum(own.citations for own in found)
    if not found and (mode == "strict" or not example.answerable):
        return dict.fromkeys(("citation_recall", "citation_precision", "citation_f1"), None)
    recall = len(held) / len(found) if found else 0.0
    precision = right / total if total else 0.0
    return {
        "citation_recall": recall,
        "citation_precision": precision,
        "citation_f1": harmonic(recall, precision),
    }


def cited_ids(result: Result) -> set[str]:
    """Return the ids of the passages that an answer cites."""
    numbers = {number for sentence in read_marked(result.output) for number in sentence.numbers}
    return {passage.id for n, passage in enumerate(result.docs, start=1) if n in numbers}


def harmonic(recall: float, precision: float) -> float:
    """Return the harmonic mean of two shares; 0 if both are 0."""
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def wrongly_proved(answer: Answer) -> Asking[Pair, bool, Scores]:
    """Compute the share of claims given as proved whose citations do not entail them.

    Claims flagged as unproved don't count. There is no score if no claim is given as proved. The
    judge that proved the answer would agree with itself, so use another one.
    """
    proved = [claim for claim in answer.claims if claim.verdict.status == "supported"]
    if not proved:
        return {}
    cited = [[answer.passages[c.number - 1] for c in claim.citations] for claim in proved]
    pairs = zip(cited, proved, strict=True)
    holds = yield [Pair(premise(passages), claim.text) for passages, claim in pairs]
    return {"wrongly_proved": holds.count(False) / len(proved)}


def _strict_texts(example: Example, result: Result) -> list[str]:
    text = first_line(result.output)
    if example.task != "qampari":
        return sentences(text, "strict")
    entities = text.rstrip().rstrip(".").rstrip(",").split(",")
    return [f"{example.question} {entity.strip()}" for entity in entities]


def _strict(text: str, passages: Sequence[Passage], most: int) -> Statement:
    places = [int(number) - 1 for number in _ALCE_MARK.findall(text)]
    said = strip_alce_marks(text).strip()
    if any(place >= len(passages) for place in places) or not passages:
        return Statement(said, (), 0)
    # The evaluator turns [0] into place -1, which in Python is the last passage.
    counted = tuple(places[:most])
    return Statement(said, counted, len(counted))


def _statement(
    text: str, numbers: Sequence[int], passages: Sequence[Passage], most: int
) -> Statement:
    places = tuple(number - 1 for number in numbers[:most])
    exist = all(0 <= place < len(passages) for place in places)
    return Statement(text, places if exist else (), len(places))


def _without(places: Sequence[int], place: int) -> list[int]:
    # If a passage is cited twice, the evaluator drops the first, which changes the order.
    rest = list(places)
    rest.remove(place)
    return rest


def _premise(passages: Sequence[Passage], mode: Mode) -> str:
    if mode == "corrected":
        return premise(passages)
    # The evaluator writes the title line even if there is no title.
    return "\n".join(f"Title: {own.title}\n{own.text}" for own in passages)
