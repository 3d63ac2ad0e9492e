"""How right an answer is, by what people wrote: ASQA, QAMPARI, ELI5 and short answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from citeproof.evaluation.examples import Mode, Scores
from citeproof.evaluation.metrics.citations import harmonic
from citeproof.evaluation.metrics.texts import normal, sentences
from citeproof.tools.citations.marked_list import read_marked_list
from citeproof.tools.entailment import Pair
from citeproof.tools.entailment.rounds import Asking

_PARTING = re.compile(r"(?!(?<=\d)[.,:]\d)[^\w\s]|_")
_ENOUGH = 5
"""So many found entities make a list complete (ALCE, section 4)."""


def found_answers(text: str, answers: Sequence[Sequence[str]], mode: Mode) -> Scores:
    """EM recall, the share of the short answers that the text has, and Hit: whether all (ASQA).

    A short answer is there if one of its aliases is, in normal form. strict: also as a part of
    a word, and an alias without any letter is everywhere.

    Args:
        text: Without marks.
        answers: The aliases of each, at least one.
        mode: How to count.
    """
    said = _forms(text, mode)
    share = sum(any(_is_in(alias, said, mode) for alias in own) for own in answers) / len(answers)
    return {"em_recall": share, "hit": float(share == 1)}


def _is_in(alias: str, said: Sequence[str], mode: Mode) -> bool:
    if mode == "strict":
        return normal(alias, mode) in said[0]
    forms = zip(_forms(alias, mode), said, strict=True)
    return any(bool(wanted) and f" {wanted} " in f" {own} " for wanted, own in forms)


def _forms(text: str, mode: Mode) -> list[str]:
    """The normal form; to find whole words, also that of the words which punctuation parts."""
    # Else `Ann Lee's` would not have `Ann Lee`. In numbers, 3 is no word of 3.5.
    forms = [text] if mode == "strict" else [text, _PARTING.sub(" ", text)]
    return [normal(form, mode) for form in forms]


def rouge_lsum(text: str, references: Sequence[str], mode: Mode) -> float:
    """ROUGE-Lsum, F-measure with stems, against the best of at least one reference.

    The evaluator reports the median of unseeded resamples; a mean over answers is close to it,
    but not the same to the last digit. The first call loads the library, which takes seconds:
    call it from a thread.

    Raises:
        MissingExtraError: strict, and the extra `alce` is not installed.
    """
    said = _lines(text, mode)
    found = (_rouge().score(_lines(own, mode), said)["rougeLsum"] for own in references)
    return max(float(score.fmeasure) for score in found)


def _lines(text: str, mode: Mode) -> str:
    found = sentences(text.lower(), mode)
    if mode == "corrected":  # here a sentence may go on in the next line, which is none to ROUGE
        found = [" ".join(sentence.split()) for sentence in found]
    return "\n".join(found)


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeLsum"], use_stemmer=True)


def qampari_scores(text: str, answers: Sequence[Sequence[str]], mode: Mode) -> Scores:
    """QAMPARI: precision, recall and F1 of the entities of a list, and how many it has.

    An entity is right if its normal form is that of an alias. In recall-5 and F1-5 five found
    answers count as all.

    Args:
        text: corrected: with marks, since they tell where an entity ends. strict: without, and
            cut at every comma.
        answers: The aliases of each, at least one.
        mode: How to count.
    """
    if mode == "strict":
        names = text.rstrip().rstrip(".").rstrip(",").split(",")
    else:
        names = [name.text for name in read_marked_list(text)]
    given = [entity for name in names if (entity := normal(name, mode))]
    wanted = [{normal(alias, mode) for alias in aliases} for aliases in answers]
    right = sum(any(entity in aliases for aliases in wanted) for entity in given)
    found = sum(not aliases.isdisjoint(given) for aliases in wanted)
    precision = right / len(given) if given else 0.0
    recall = found / len(wanted)
    recall_5 = min(_ENOUGH, found) / min(_ENOUGH, len(wanted))
    return {
        "qampari_precision": precision,
        "qampari_recall": recall,
        "qampari_recall_5": recall_5,
        "qampari_f1": harmonic(recall, precision),
        "qampari_f1_5": harmonic(recall_5, precision),
        "predictions": float(len(given)),
    }


def claim_recall(text: str, claims: Sequence[str]) -> Asking[bool, Scores]:
    """ELI5: the share of at least one claim that the whole answer, without marks, entails."""
    held = yield [Pair(text, claim) for claim in claims]
    return {"claim_recall": sum(held) / len(held)}


def short_answer_scores(text: str, answers: Sequence[Sequence[str]], mode: Mode) -> Scores:
    """The whole text as a short answer: exact match, and words shared with the best alias.

    Best is the alias with the highest F1, then the earlier; precision and recall are its own. The
    text has no marks, and there is at least one alias.
    """
    aliases = [alias for own in answers for alias in own]
    said = normal(text, mode)
    shared = [overlap(text, alias, mode) for alias in aliases]
    precision, recall, f1 = max(shared, key=lambda own: own[2])
    return {
        "exact_match": float(any(normal(alias, mode) == said for alias in aliases)),
        "token_f1": f1,
        "token_precision": precision,
        "token_recall": recall,
    }


def overlap(text: str, alias: str, mode: Mode) -> tuple[float, float, float]:
    """Precision, recall and F1 of the words of a text against those of an alias (SQuAD).

    Where one of them has no words, all three are 1 if neither has, and else 0.
    """
    said, wanted = normal(text, mode).split(), normal(alias, mode).split()
    if not (said and wanted):
        return (float(said == wanted),) * 3
    shared = (Counter(said) & Counter(wanted)).total()
    precision, recall = shared / len(said), shared / len(wanted)
    return precision, recall, harmonic(recall, precision)
