"""Checks a text from another system: which passages support which of its sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.documents import Document

from citeproof.errors import InputError
from citeproof.text import whole
from citeproof.tools.checking.paragraphs import paragraphs
from citeproof.tools.citations.marked_text import join_sentences, read_marked
from citeproof.tools.citations.marks import quote, strip_flags
from citeproof.tools.entailment import Entailment, Support, find_supports
from citeproof.tools.entailment.own import EntailmentLike, coerce_entailment
from citeproof.tools.passage_ids import tell_apart
from citeproof.tools.questions.sources import read_document
from citeproof.tools.retrieval import Retriever, coerce_retriever, from_passages, retrieve_many
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

Source: TypeAlias = Passage | Document | str

_Numbered = tuple[int | None, Passage]


async def check(
    text: str,
    sources: Mapping[int, Sequence[Source]] | Sequence[Source],
    entailment: EntailmentLike,
    *,
    retriever: Any = None,
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
        sources: Number → the passages that it cites; or passages, numbered from 1. Passages may
            also be LangChain documents or texts.
        entailment: Scores whether a premise entails a sentence; may be a function, as in `Toolbox`.
        retriever: Finds further passages; anything that can be a `Toolbox`'s. The default searches
            `sources` by words.
        k: Number of passages that the retriever finds for each sentence, at least 1.

    Raises:
        InputError: `k` is less than 1, or a source or the retriever cannot be used.
        SettingsError: The entailment model cannot be used.
        RetrievalError: The search failed.
        ModelError: The entailment model cannot be loaded or reached.
    """
    if k < 1:
        raise InputError(f"{k} passages cannot be tried", fix="Try at least one.")
    if isinstance(sources, str):  # which is a sequence of texts, too
        raise InputError("The sources are a single text", fix="Pass a list: [text].")
    entailment = coerce_entailment(entailment)
    retriever = None if retriever is None else coerce_retriever(retriever)
    listed = sources if isinstance(sources, Mapping) else dict(enumerate(zip(sources), start=1))
    ordered = sorted(listed)
    read = [[read_document(one, number) for one in listed[number]] for number in ordered]
    known = dict(zip(ordered, tell_apart(read), strict=True))
    everything = [passage for passages in known.values() for passage in passages]
    said = list(_read(whole(text)))
    asked = [sentence for sentence in said if sentence.states]
    cited = await _cited_passages(asked, known, k)
    others = await _others(asked, cited, retriever or from_passages(everything), k)
    number_of = {p.id: number for number in reversed(ordered) for p in known[number]}
    ids = {number: {passage.id for passage in known[number]} for number in known}

    def find_number(passage: Passage, sentence: _Said) -> int | None:
        """The number that cites the passage, preferably one of the sentence."""
        citing = (n for n in sentence.numbers if passage.id in ids.get(n, ()))
        return next(citing, number_of.get(passage.id))

    tested: list[list[list[_Numbered]]] = []
    claims: list[tuple[Mapping[int, Passage], str]] = []
    before: list[str] = []
    for place, (sentence, own, found) in enumerate(zip(asked, cited, others, strict=True)):
        sets = [[(find_number(passage, sentence), passage)] for passage in found]
        tested.append([own, *sets] if own else sets)
        text_before = " ".join(one.text for one in asked[max(0, place - _BEFORE) : place])
        for numbered in tested[-1]:
            claims.append(({i: passage for i, (_, passage) in enumerate(numbered)}, sentence.text))
            before.append(text_before)
    supports = iter(await find_supports(entailment, "", claims, before=before))
    of_asked = iter(tested)
    sentences = [
        _judge(
            sentence,
            [(one, next(supports)) for one in next(of_asked)] if sentence.states else [],
            known,
        )
        for sentence in said
    ]
    return _report(sentences, entailment)


@dataclass(frozen=True)
class _Said:
    text: str
    paragraph: int
    numbers: tuple[int, ...]
    states: bool
    """Whether the sentence can be true or false."""


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
    tested: Sequence[tuple[Sequence[_Numbered], Support]],
    sources: Mapping[int, Sequence[Passage]],
) -> CheckedSentence:
    """Judge a sentence by sets of passages, each with its support; what it cites is the first."""
    against = [passages[place] for passages, support in tested for place in support.against]
    verdict: CheckVerdict = "unchecked"
    if sentence.states:
        verdict = "contradicted" if against else "unsupported"
    score = max((support.score for _, support in tested), default=None)
    proof: list[_Numbered] = []
    # Cited passages count first, then higher scores.
    ranked = [
        (passages[0][0] in sentence.numbers, support.score, passages, support)
        for passages, support in tested
        if support.holds
    ]
    if ranked:
        is_cited, score, passages, support = max(ranked, key=lambda one: one[:2])
        proof = [passages[place] for place in support.passages]
        verdict = "misattributed" if sentence.numbers else "uncited"
        verdict = "supported" if is_cited else verdict
    return CheckedSentence(
        text=sentence.text,
        paragraph=sentence.paragraph,
        citations=sentence.numbers,
        invalid=tuple(number for number in sentence.numbers if number not in sources),
        verdict=verdict,
        score=score,
        support=_support(proof, sentence.text),
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
