"""Compares answers with what people wrote: ASQA, QAMPARI, ELI5 and short answers."""

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
from citeproof.tools.sentences import contains, words

_PARTING = re.compile(r"(?!(?<=\d)[.,:]\d)[^\w\s]|_")
_ENOUGH = 5
"""This many found entities make a list complete (ALCE, section 4)."""


def found_answers(text: str, answers: Sequence[Sequence[str]], mode: Mode) -> Scores:
    """Return EM recall, the share of short answers found in a text without marks, and Hit (ASQA).

    A short answer is found if the text contains one of its aliases in normal form, as whole words
    if its script has spaces. strict: the alias may be part of a word, and an alias whose normal
    form is empty is always found.
    """
    said = _forms(text, mode)
    share = sum(any(_is_in(alias, said, mode) for alias in own) for own in answers) / len(answers)
    return {"em_recall": share, "hit": float(share == 1)}


def _is_in(alias: str, said: Sequence[str], mode: Mode) -> bool:
    if mode == "strict":
        return normal(alias, mode) in said[0]
    forms = zip(_forms(alias, mode), said, strict=True)
    return any(contains(own, wanted) for wanted, own in forms)


def _forms(text: str, mode: Mode) -> list[str]:
    """Return the normal form and, to find whole words, that of the text split at punctuation."""
    # Else `Ann Lee's` would not contain `Ann Lee`. Numbers stay whole: 3 is no word of 3.5.
    forms = [text] if mode == "strict" else [text, _PARTING.sub(" ", text)]
    return [normal(form, mode) for form in forms]


def rouge_lsum(text: str, references: Sequence[str], mode: Mode) -> float:
    """Return ROUGE-Lsum, F-measure with stems, against the best of at least one reference.

    The evaluator reports the median of unseeded resamples. A mean over answers is close to it, but
    not equal to the last digit. The first call loads the library, which takes seconds.
    """
    said = _lines(text, mode)
    found = (_rouge().score(_lines(own, mode), said)["rougeLsum"] for own in references)
    return max(float(score.fmeasure) for score in found)


def _lines(text: str, mode: Mode) -> str:
    found = sentences(text.lower(), mode)
    if mode == "corrected":  # a sentence may span lines here, but ROUGE splits sentences at lines
        found = [" ".join(sentence.split()) for sentence in found]
    return "\n".join(found)


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeLsum"], use_stemmer=True)


def qampari_scores(text: str, answers: Sequence[Sequence[str]], mode: Mode) -> Scores:
    """Return precision, recall and F1 of a list's entities, and their number (QAMPARI).

    An entity is right if its normal form is that of an alias. In recall-5 and F1-5, five found
    answers count as all. corrected: marks show where an entity ends. strict: the text is without
    marks, and split at every comma.
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


def claim_recall(text: str, claims: Sequence[str]) -> Asking[Pair, bool, Scores]:
    """Compute the share of claims that the whole answer, without marks, entails (ELI5)."""
    held = yield [Pair(text, claim) for claim in claims]
    return {"claim_recall": sum(held) / len(held)}


def short_answer_scores(text: str, answers: Sequence[Sequence[str]], mode: Mode) -> Scores:
    """Score the whole text as a short answer: exact match, and words shared with the best alias.

    The best alias is the first one with the highest F1; precision and recall are its own. The text
    must have no marks, and there must be at least one alias.
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
    """Return precision, recall and F1 of a text's words against those of an alias (SQuAD).

    corrected: in Chinese and Japanese, each character counts as a word.
    If one of them has no words, all three are 0; if neither has, all three are 1.
    """
    cut = str.split if mode == "strict" else words
    said, wanted = cut(normal(text, mode)), cut(normal(alias, mode))
    if not (said and wanted):
        return (float(said == wanted),) * 3
    shared = (Counter(said) & Counter(wanted)).total()
    precision, recall = shared / len(said), shared / len(wanted)
    return precision, recall, harmonic(recall, precision)
