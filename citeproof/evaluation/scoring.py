"""Scores answers with all metrics that apply, in few calls of the entailment model."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from citeproof.evaluation.examples import Example, Mode, Scores
from citeproof.evaluation.metrics.citations import (
    MOST_CITATIONS,
    citation_scores,
    cited_ids,
    harmonic,
    wrongly_proved,
)
from citeproof.evaluation.metrics.correctness import (
    claim_recall,
    found_answers,
    qampari_scores,
    rouge_lsum,
    short_answer_scores,
)
from citeproof.evaluation.metrics.reader import Reader, reader_scores
from citeproof.evaluation.metrics.texts import plain
from citeproof.evaluation.results import Result
from citeproof.tools.entailment import Entailment, Pair
from citeproof.tools.entailment.rounds import Asking, ask_in_rounds

METRICS: dict[str, str] = {
    "citation_recall": "statements that their citations entail together, share",
    "citation_precision": "citations that are needed or suffice alone, share",
    "citation_f1": "harmonic mean of citation recall and precision; of a run, of their means",
    "wrongly_proved": "claims given as proved that their citations do not entail, share",
    "em_recall": "expected short answers that the text has, share (STR-EM)",
    "hit": "whether the text has all expected short answers (STR-EM-Hit)",
    "rouge_lsum": "ROUGE-Lsum against the best long reference, F-measure",
    "disambig_f1": "words of what a SQuAD reader finds in the text, F1, mean over sub-questions",
    "qa_em": "sub-questions for which that reader finds a short answer exactly, share (QA-EM)",
    "qa_hit": "whether it does so for all of them (QA-Hit)",
    "dr": "geometric mean of Disambig-F1 and ROUGE-Lsum, as in ASQA's paper; of a run, of means",
    "dr_mean": "arithmetic mean of the same two, which VTG's Table 2 calls DR; of a run, of means",
    "qampari_precision": "listed entities that are expected, share",
    "qampari_recall": "expected entities that are listed, share",
    "qampari_recall_5": "the same, where five count as all",
    "qampari_f1": "harmonic mean of precision and recall of a list",
    "qampari_f1_5": "harmonic mean of precision and recall-5 of a list",
    "predictions": "listed entities, number",
    "claim_recall": "gold claims that the text entails, share",
    "exact_match": "whether the text is a short answer and nothing else",
    "token_f1": "words shared with the best short answer, F1",
    "token_precision": "words of the text that the best short answer has, share",
    "token_recall": "words of the best short answer that the text has, share",
    "gold_cited": "gold passages that are cited, share",
    "gold_retrieved": "gold passages that were met, share",
    "not_found": "whether no answer was given",
    "abstention_precision": "abstentions whose question has no answer, share",
    "abstention_recall": "questions without an answer that were abstained from, share",
    "length": "words of the text, without marks",
}
"""Metric → a one-line description. Shares are from 0 to 1."""
_OF_MEANS: dict[str, tuple[tuple[str, ...], Callable[[float, float], float]]] = {
    "citation_f1": (("citation_recall", "citation_precision"), harmonic),
    "dr": (("disambig_f1", "rouge_lsum"), lambda words, rouge: math.sqrt(words * rouge)),
    "dr_mean": (("disambig_f1", "rouge_lsum"), lambda words, rouge: (words + rouge) / 2),
}
"""Metrics whose value over many answers is computed from the means of other metrics, as in the
papers' tables, instead of averaging the answers' own values."""


async def score(
    items: Sequence[tuple[Example, Result]],
    entailment: Entailment | None,
    *,
    mode: Mode = "corrected",
    reader: Reader | None = None,
    at_most_citations: int = MOST_CITATIONS,
    cot: bool = False,
) -> list[Scores]:
    """Return each answer's scores, in order, with the keys of `METRICS`.

    All distinct pairs of all answers go to the entailment model in at most three calls. A question
    that has no answer only gets scores for citations, proofs, length and abstention.

    Args:
        items: Examples and their results. If a result has an `Answer`, it determines which
            claims are given as proved and whether it is an abstention. Otherwise an empty text
            is an abstention.
        entailment: The judge. If None, only metrics that need no judge are computed.
        mode: How to count.
        reader: Finds short answers in an ASQA answer, for Disambig-F1, QA-EM, QA-Hit and DR.
        at_most_citations: How many citations of a statement count.
        cot: Lists (QAMPARI) begin after the first colon, which ends the reasoning; without a
            colon they are empty. In strict mode, statements before it are read too, as in ALCE's
            evaluator.

    Raises:
        MissingExtraError: The mode is strict, and the extra `alce` is not installed.
        ModelError: A model cannot be loaded.
    """

    def score_alone() -> list[Scores]:
        return [
            _of_text(example, result, mode, reader, cot)
            | _of_passages(example, result)
            | _of_run(example, result)
            for example, result in items
        ]

    found = await asyncio.to_thread(score_alone)
    if entailment is not None:
        asked = [
            (place, asking)
            for place, (example, result) in enumerate(items)
            for asking in _askings(example, result, mode, at_most_citations, cot)
        ]

        async def holds(pairs: list[Pair]) -> list[bool]:
            distinct = list(dict.fromkeys(pairs))
            scores = dict(zip(distinct, await entailment.scores(distinct), strict=True))
            return [scores[pair] >= entailment.threshold for pair in pairs]

        values = await ask_in_rounds([asking for _, asking in asked], holds)
        for (place, _), own in zip(asked, values, strict=True):
            found[place] |= own
    return [{key: own.get(key) for key in METRICS} for own in found]


def parts(metric: str) -> tuple[str, ...]:
    """Return the keys from whose means a metric is computed, which usually is just its own."""
    return _OF_MEANS[metric][0] if metric in _OF_MEANS else (metric,)


def of_means(means: Mapping[str, float | None], metric: str) -> float:
    """Compute a metric over many answers from the means of its `parts`."""
    values = [value for name in parts(metric) if (value := means[name]) is not None]
    return _OF_MEANS[metric][1](*values) if metric in _OF_MEANS else values[0]


def _of_text(
    example: Example, result: Result, mode: Mode, reader: Reader | None, cot: bool
) -> Scores:
    text = plain(result.output, mode)
    found: Scores = {"length": float(len(text.split()))}
    if not example.answerable:
        return found
    if example.references:
        found["rouge_lsum"] = rouge_lsum(text, example.references, mode)
    if not example.answers:
        return found
    if example.task == "qampari":
        listed = text if mode == "strict" else result.output
        if cot:
            listed = listed.partition(":")[2]
        return found | qampari_scores(listed, example.answers, mode)
    found |= found_answers(text, example.answers, mode)
    if example.task == "qa" and any(example.answers):
        found |= short_answer_scores(text, example.answers, mode)
    if reader is not None and example.sub_questions:
        read = reader.answers([(question, text) for question in example.sub_questions])
        found |= reader_scores(read, example.answers, mode)
        if "rouge_lsum" in found:
            found |= {name: of_means(found, name) for name in ("dr", "dr_mean")}
    return found


def _of_passages(example: Example, result: Result) -> Scores:
    if not (example.gold and example.answerable):
        return {}
    found: Scores = {"gold_cited": _share(example.gold, cited_ids(result))}
    if result.retrieved is not None:
        found["gold_retrieved"] = _share(example.gold, result.retrieved)
    return found


def _share(gold: Sequence[str], ids: Collection[str]) -> float:
    """Return the share of gold passages in `ids`; a piece stands for its whole passage."""
    known = {*ids, *(passage.rpartition("#")[0] for passage in ids)}
    return sum(passage in known for passage in gold) / len(gold)


def _of_run(example: Example, result: Result) -> Scores:
    answer = result.answer
    gave_none = answer.status == "not_found" if answer else not result.output.strip()
    found: Scores = {"not_found": float(gave_none)}
    # The means of these over answers are the precision and recall of abstention.
    if gave_none:
        found["abstention_precision"] = float(not example.answerable)
    if not example.answerable:
        found["abstention_recall"] = float(gave_none)
    return found


def _askings(
    example: Example, result: Result, mode: Mode, most: int, cot: bool
) -> Iterator[Asking[Pair, bool, Scores]]:
    if cot and example.task == "qampari" and mode == "corrected":
        result = result.model_copy(update={"output": result.output.partition(":")[2]})
    yield citation_scores(example, result, mode, most)
    if example.claims and example.answerable:
        yield claim_recall(plain(result.output, mode), example.claims)
    if result.answer is not None:
        yield wrongly_proved(result.answer)
