"""Checks a text from another system: which passages support which of its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from citeproof.errors import InputError
from citeproof.text import whole
from citeproof.tools.checking.paragraphs import paragraphs
from citeproof.tools.citations.marked_text import join_sentences, read_marked
from citeproof.tools.citations.marks import quote, strip_flags
from citeproof.tools.entailment import Entailment, find_supports
from citeproof.tools.passage_ids import tell_apart
from citeproof.tools.retrieval import Retriever, from_passages, retrieve_many
from citeproof.types import (
    CheckCounts,
    CheckedSentence,
    CheckReport,
    CheckVerdict,
    Passage,
    QuotedPassage,
)

__all__ = ["check"]

_STATES_NOTHING = ("?", "？", "؟", ":", "：")

_BEFORE = 5
"""Sentences before one that may say what its pronoun stands for."""

_Numbered = tuple[int | None, Passage]


async def check(
    text: str,
    sources: Mapping[int, Sequence[Passage]] | Sequence[Passage],
    entailment: Entailment,
    *,
    retriever: Retriever | None = None,
    k: int = 5,
) -> CheckReport:
    """Check which passages support each sentence of a text, and whether it cites them.

    Each sentence is tested against every passage that it cites. If none of them entails it alone,
    two and three of them together are tested. The sentence is also tested against `k` other
    passages that the retriever finds for it. If a number stands for more than `k` passages, only
    the `k` that share the most words with the sentence are used. The entailment model gets all
    sentences at once.

    The text is read as Markdown; a table row is one sentence. Parts that state nothing are not
    checked:

    - sentences that end with a question mark or a colon
    - code in a fence that names its language
    - the column names of a table
    - headings; an underlined one only if it is one line and ends without a stop
    - a one-line paragraph or a line in bold type, if text follows it and it has at most 12 words,
      no citation and no closing punctuation

    Args:
        text: Sentences with citation marks such as `[1]`, `[1][2]`, `[1, 2]` and `[1-3]`, or
            without any.
        sources: Number → the passages that it cites; or passages, numbered from 1.
        entailment: Scores whether a premise entails a sentence.
        retriever: Finds further passages; the default searches `sources` by words.
        k: Number of passages that the retriever finds for each sentence, at least 1.

    Raises:
        InputError: `k` is less than 1.
        RetrievalError: The search failed.
        ModelError: The entailment model cannot be loaded or reached.
    """
    if k < 1:
        raise InputError(f"{k} passages cannot be tried", fix="Try at least one.")
    if not isinstance(sources, Mapping):
        sources = {number: [passage] for number, passage in enumerate(sources, start=1)}
    ordered = sorted(sources)
    sources = dict(zip(ordered, tell_apart(sources[n] for n in ordered), strict=True))
    everything = [passage for passages in sources.values() for passage in passages]
    said = list(_read(whole(text)))
    asked = [sentence for sentence in said if sentence.states]
    cited = await _cited_passages(asked, sources, k)
    found = await _others(asked, cited, retriever or from_passages(everything), k)
    claims = [
        ({place: passage for place, (_, passage) in enumerate(own)}, sentence.text)
        for own, sentence in zip(cited, asked, strict=True)
    ]
    single = [
        ({0: passage}, sentence.text)
        for passages, sentence in zip(found, asked, strict=True)
        for passage in passages
    ]
    before = [
        " ".join(sentence.text for sentence in asked[max(0, place - _BEFORE) : place])
        for place in range(len(asked))
    ]
    of_found = [text for text, passages in zip(before, found, strict=True) for _ in passages]
    supports = await find_supports(entailment, "", [*claims, *single], before=[*before, *of_found])
    evidence = zip(cited, supports[: len(claims)], found, strict=True)
    by_found = iter(supports[len(claims) :])
    numbers = {p.id: number for number in reversed(ordered) for p in sources[number]}
    ids = {number: {passage.id for passage in sources[number]} for number in sources}
    sentences: list[CheckedSentence] = []
    for sentence in said:
        tries: list[_Try] = []
        against: list[_Numbered] = []
        if sentence.states:
            own, support, others = next(evidence)
            if own:
                passages = tuple(own[place] for place in support.passages)
                tries.append(_Try(passages, True, support.score, support.holds))
            against += [own[place] for place in support.against]
            for passage in others:
                by_one = next(by_found)
                # A found passage counts as cited if a number of the sentence stands for it.
                citing = next((n for n in sentence.numbers if passage.id in ids.get(n, ())), None)
                number = numbers.get(passage.id) if citing is None else citing
                is_cited = citing is not None
                tries.append(_Try(((number, passage),), is_cited, by_one.score, by_one.holds))
                if by_one.against:
                    against.append((number, passage))
        sentences.append(_judge(sentence, tries, against, sources))
    return _report(sentences, entailment)


@dataclass(frozen=True)
class _Said:
    text: str
    paragraph: int
    numbers: tuple[int, ...]
    states: bool
    """Whether the sentence can be true or false."""


@dataclass(frozen=True)
class _Try:
    """Passages that were tested as one premise."""

    passages: tuple[_Numbered, ...]
    cited: bool
    score: float
    holds: bool
    """Whether the passages entail the sentence."""


def _read(text: str) -> Iterator[_Said]:
    for paragraph in paragraphs(strip_flags(text)):
        if paragraph.kind == "code":
            yield _Said(paragraph.text, paragraph.number, (), states=False)
            continue
        sentences = read_marked(paragraph.text)
        # A name or a row is one sentence, even with full stops in it.
        if sentences and paragraph.kind != "prose":
            sentences = [join_sentences(sentences)]
        for sentence in sentences:
            said = " ".join(sentence.text.replace("`", "").split())
            asks = paragraph.kind == "prose" and said.endswith(_STATES_NOTHING)
            states = paragraph.kind != "name" and not asks
            yield _Said(said, paragraph.number, sentence.numbers, states)


async def _cited_passages(
    asked: Sequence[_Said], sources: Mapping[int, Sequence[Passage]], k: int
) -> list[list[_Numbered]]:
    """Return what each sentence cites: at most `k` passages per number, and each id once."""
    cited: list[dict[str, _Numbered]] = [{} for _ in asked]
    for number in sorted({n for sentence in asked for n in sentence.numbers if n in sources}):
        citing = [place for place, sentence in enumerate(asked) if number in sentence.numbers]
        queries = [asked[place].text for place in citing]
        best = await _nearest(sources[number], queries, k)
        for place, passages in zip(citing, best, strict=True):
            for passage in passages:
                cited[place].setdefault(passage.id, (number, passage))
    return [list(own.values()) for own in cited]


async def _nearest(
    passages: Sequence[Passage], queries: Sequence[str], k: int
) -> list[Sequence[Passage]]:
    """Return for each query the `k` passages that share the most words with it."""
    if len(passages) <= k:
        return [passages for _ in queries]
    found = await retrieve_many(from_passages(passages), queries, k)
    return [some or passages[:k] for some in found]


async def _others(
    asked: Sequence[_Said], cited: Sequence[Sequence[_Numbered]], retriever: Retriever, k: int
) -> list[list[Passage]]:
    """Return for each sentence at most `k` passages other than those that it cites."""
    known = [{passage.id for _, passage in own} for own in cited]
    deep = k + max(map(len, known), default=0)
    found = await retrieve_many(retriever, [sentence.text for sentence in asked], deep)
    return [
        [passage for passage in passages if passage.id not in own][:k]
        for passages, own in zip(found, known, strict=True)
    ]


def _judge(
    sentence: _Said,
    tries: Sequence[_Try],
    against: Sequence[_Numbered],
    sources: Mapping[int, Sequence[Passage]],
) -> CheckedSentence:
    verdict: CheckVerdict = "unchecked"
    if sentence.states:
        verdict = "contradicted" if against else "unsupported"
    score, best = max((one.score for one in tries), default=None), None
    if holding := [one for one in tries if one.holds]:
        # Cited passages come first, then higher scores.
        best = min(holding, key=lambda one: (not one.cited, -one.score))
        score = best.score
        verdict = "misattributed" if sentence.numbers else "uncited"
        verdict = "supported" if best.cited else verdict
    return CheckedSentence(
        text=sentence.text,
        paragraph=sentence.paragraph,
        citations=sentence.numbers,
        invalid=tuple(number for number in sentence.numbers if number not in sources),
        verdict=verdict,
        score=score,
        support=_support(best.passages if best else (), sentence.text),
        against=_support(against, sentence.text),
    )


def _support(passages: Sequence[_Numbered], sentence: str) -> tuple[QuotedPassage, ...]:
    return tuple(
        QuotedPassage(number=number, passage=passage, **quote(passage, sentence))
        for number, passage in passages
    )


def _report(sentences: Sequence[CheckedSentence], entailment: Entailment) -> CheckReport:
    counts = Counter(sentence.verdict for sentence in sentences)
    checked = len(sentences) - counts["unchecked"]
    return CheckReport(
        sentences=tuple(sentences),
        counts=CheckCounts.model_validate(counts),
        citation_recall=counts["supported"] / checked if checked else None,
        invalid_citations=tuple(sorted({n for one in sentences for n in one.invalid})),
        model=entailment.name,
        threshold=entailment.threshold,
    )
