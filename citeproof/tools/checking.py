"""Checks a text that any other system wrote: which passages support which of its sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from citeproof.errors import InputError
from citeproof.tools.citations import FLAG, strip_marks, supporting_sentence
from citeproof.tools.entailment import Entailment, Pair, premise
from citeproof.tools.marked_text import read_marked
from citeproof.tools.retrieval import Retriever, from_passages, retrieve_many
from citeproof.tools.sentences import words
from citeproof.types import (
    CheckCounts,
    CheckedSentence,
    CheckReport,
    CheckVerdict,
    Passage,
    Support,
)

__all__ = ["check"]

_TOGETHER = 10
"""Most cited passages that are read as one premise: about 1,000 words, which a judge can hold."""
_HEADING_WORDS = 12
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\S\n]*([^`\n]*?)[^\S\n]*$\n?", re.MULTILINE)
_NO_CODE = frozenset({"", "markdown", "md", "text", "txt"})
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
_BULLET = re.compile(r"\s*(?:[-*+•>]|\d{1,3}[.)])\s")
_EMPHASIS = re.compile(r"\*\*|(?<!\w)__|__(?!\w)")
_TAIL = re.compile(r"(?<!\W)\W+$")
_STOPS = frozenset(".!?…:;,。！？।؟۔：；，")
_NOTE = re.compile(r"\[\^[^\]\n]{1,40}\]|【\d{1,6}】|[¹²³⁰-⁹]+")
_STATES_NOTHING = ("?", "？", "؟", ":", "：")

_Numbered = tuple[int | None, Passage]


async def check(
    text: str,
    sources: Mapping[int, Sequence[Passage]] | Sequence[Passage],
    entailment: Entailment,
    *,
    retriever: Retriever | None = None,
    k: int = 5,
) -> CheckReport:
    """Say of each sentence of a text which passages support it, and whether it cites those.

    A sentence is tried against every passage that it cites, against those passages together, and
    against the `k` others that the retriever finds for it; all pairs of the text go to the
    entailment model at once. One passage that entails is preferred to several. Of a number that
    stands for more than `k` passages, the `k` that share the most words with the sentence count.

    Unchecked are sentences that state nothing: Markdown headings; code in fences that name its
    language; a paragraph of one line of at
    most 12 words, without citation or closing punctuation, that another paragraph follows; and
    whatever ends with a question mark or a colon.

    Args:
        text: Sentences with citation marks such as `[1]`, `[1][2]`, `[1, 2]` and `[1-3]`, or
            without any.
        sources: Number → the passages that it cites; or passages, numbered from 1.
        entailment: Says whether a premise entails a sentence.
        retriever: Finds further passages; by default those of `sources` are searched by words.
        k: How many it finds for each sentence, at least 1.

    Raises:
        InputError: `k` is less than 1.
        RetrievalError: The search failed.
        ModelError: The entailment model cannot be had.
    """
    if k < 1:
        raise InputError(f"{k} passages cannot be tried", fix="Try at least one.")
    if not isinstance(sources, Mapping):
        sources = {number: [passage] for number, passage in enumerate(sources, start=1)}
    everything = [passage for number in sorted(sources) for passage in sources[number]]
    said = list(_read(text))
    asked = [sentence for sentence in said if sentence.states]
    cited = await _cited(asked, sources, k)
    found = await _others(asked, cited, retriever or from_passages(everything), k)
    numbers = _numbers(sources)
    ids = {number: {passage.id for passage in sources[number]} for number in sources}
    tries = [
        [*_of_citations(own), *(_other(p, sentence, ids, numbers) for p in others)]
        for sentence, own, others in zip(asked, cited, found, strict=True)
    ]
    pairs = [
        Pair(one.premise, sentence.text)
        for sentence, some in zip(asked, tries, strict=True)
        for one in some
    ]
    scores = iter(await entailment.scores(pairs) if pairs else [])
    scored = iter([[(next(scores), one) for one in some] for some in tries])
    sentences = [
        _judged(sentence, next(scored) if sentence.states else [], sources, entailment.threshold)
        for sentence in said
    ]
    return _report(sentences, entailment)


@dataclass(frozen=True)
class _Said:
    """A sentence as it was read."""

    text: str
    paragraph: int
    numbers: tuple[int, ...]
    states: bool
    """Whether it can be true or false."""


@dataclass(frozen=True)
class _Try:
    """Passages that are read as one premise."""

    passages: tuple[_Numbered, ...]
    cited: bool

    @property
    def size(self) -> int:
        return len(self.passages)

    @property
    def premise(self) -> str:
        return premise([passage for _, passage in self.passages])


def _read(text: str) -> Iterator[_Said]:
    """The sentences of a text, in order."""
    paragraphs = _paragraphs(text)
    for place, paragraph in enumerate(paragraphs, start=1):
        if _FENCE.match(paragraph):
            yield _Said(paragraph.strip(), place, (), states=False)
            continue
        is_heading = _is_heading(paragraph, last=place == len(paragraphs))
        for sentence in read_marked(paragraph):
            said = " ".join(sentence.text.replace("`", "").split())
            states = not (is_heading or said.endswith(_STATES_NOTHING))
            yield _Said(said, place, sentence.numbers, states)


def _paragraphs(text: str) -> list[str]:
    """What stands between blank lines; a Markdown heading is a paragraph of its own, as is code."""
    found: list[str] = []
    for block in _blocks(text.replace(f" {FLAG}", "")):
        if _FENCE.match(block):
            found.append(block)
            continue
        goes_on = False
        for line in block.split("\n"):
            if not any(map(str.isalnum, line)):  # a rule, or what underlines a heading
                if goes_on and _UNDERLINE.match(line) and _can_be_heading(found[-1]):
                    found[-1], goes_on = f"# {found[-1].strip()}", False
                continue
            is_heading = bool(_HEADING.match(line))
            if found and not any(map(str.isalnum, strip_marks(line))):
                found[-1] += f" {line.strip()}"  # marks alone belong to what stands above
                continue
            if goes_on and not is_heading:
                found[-1] += f"\n{line.strip()}"
            else:
                found.append(line)
            goes_on = not is_heading
    return found


def _blocks(text: str) -> Iterator[str]:
    """Code with its fences, and what stands between blank lines without any.

    Fences that name no language are no part of the text: a model may put its whole answer in them.
    """
    done = 0
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        mark, language = fence.groups()
        if opened is None:
            opened = None if language.lower() in _NO_CODE else fence
        elif mark.startswith(opened[1]) and not language:
            yield from _prose(text[done : opened.start()])
            yield text[opened.start() : fence.end()]
            done, opened = fence.end(), None
    yield from _prose(text[done:])


def _prose(text: str) -> list[str]:
    return _BLANK_LINE.split(_EMPHASIS.sub("", _FENCE.sub("", text)))


def _is_heading(paragraph: str, *, last: bool) -> bool:
    if _HEADING.match(paragraph):
        return True
    line = paragraph.strip()
    is_line = not last and _can_be_heading(paragraph)
    return is_line and strip_marks(line) == line and len(words(line)) <= _HEADING_WORDS


def _can_be_heading(paragraph: str) -> bool:
    """Whether it is one line, no item of a list, and ends without a stop."""
    line = paragraph.strip()
    return not ("\n" in line or _BULLET.match(paragraph) or _is_closed(line))


def _is_closed(line: str) -> bool:
    """Whether a stop stands behind the last word, footnote marks apart."""
    tail = _TAIL.search(_NOTE.sub("", line))
    return tail is not None and not _STOPS.isdisjoint(tail[0])


async def _cited(
    asked: Sequence[_Said], sources: Mapping[int, Sequence[Passage]], k: int
) -> list[dict[int, Sequence[Passage]]]:
    """For each sentence the numbers that it cites, with at most `k` passages of each."""
    cited: list[dict[int, Sequence[Passage]]] = [{} for _ in asked]
    for number in sorted({n for sentence in asked for n in sentence.numbers if n in sources}):
        citing = [place for place, sentence in enumerate(asked) if number in sentence.numbers]
        queries = [asked[place].text for place in citing]
        best = await _nearest(sources[number], queries, k)
        for place, passages in zip(citing, best, strict=True):
            cited[place][number] = passages
    return cited


async def _nearest(
    passages: Sequence[Passage], queries: Sequence[str], k: int
) -> list[Sequence[Passage]]:
    """For each query the `k` passages that share the most words with it."""
    if len(passages) <= k:
        return [passages for _ in queries]
    found = await retrieve_many(from_passages(passages), queries, k)
    return [some or passages[:k] for some in found]


async def _others(
    asked: Sequence[_Said],
    cited: Sequence[Mapping[int, Sequence[Passage]]],
    retriever: Retriever,
    k: int,
) -> list[list[Passage]]:
    """For each sentence at most `k` passages beside those that it cites."""
    known = [{p.id for passages in own.values() for p in passages} for own in cited]
    deep = k + max(map(len, known), default=0)
    found = await retrieve_many(retriever, [sentence.text for sentence in asked], deep)
    return [
        [passage for passage in passages if passage.id not in own][:k]
        for passages, own in zip(found, known, strict=True)
    ]


def _of_citations(cited: Mapping[int, Sequence[Passage]]) -> list[_Try]:
    """Each cited passage, and those of all numbers together where there are several."""
    tries = [_Try((one,), cited=True) for one in _each(cited)]
    together = _each(cited, max(1, _TOGETHER // max(1, len(cited))))[:_TOGETHER]
    return [*tries, _Try(together, cited=True)] if len(together) > 1 else tries


def _other(
    passage: Passage,
    sentence: _Said,
    ids: Mapping[int, Set[str]],
    numbers: Mapping[str, int],
) -> _Try:
    """A found passage; it counts as cited where a number of the sentence stands for it."""
    own = next((n for n in sentence.numbers if passage.id in ids.get(n, ())), None)
    number = numbers.get(passage.id) if own is None else own
    return _Try(((number, passage),), cited=own is not None)


def _each(cited: Mapping[int, Sequence[Passage]], most: int | None = None) -> tuple[_Numbered, ...]:
    """The first `most` passages of each number; of those with one id the first."""
    found: dict[str, _Numbered] = {}
    for number, passages in cited.items():
        for passage in passages[:most]:
            found.setdefault(passage.id, (number, passage))
    return tuple(found.values())


def _numbers(sources: Mapping[int, Sequence[Passage]]) -> dict[str, int]:
    """Passage id → the first number that cites it."""
    numbers: dict[str, int] = {}
    for number in sorted(sources):
        for passage in sources[number]:
            numbers.setdefault(passage.id, number)
    return numbers


def _judged(
    sentence: _Said,
    tries: Sequence[tuple[float, _Try]],
    sources: Mapping[int, Sequence[Passage]],
    threshold: float,
) -> CheckedSentence:
    verdict: CheckVerdict = "unsupported" if sentence.states else "unchecked"
    score, best = max((score for score, _ in tries), default=None), None
    if holding := [own for own in tries if own[0] >= threshold]:
        # Its own citations go first, then what needs fewer passages, then what is more certain.
        score, best = min(holding, key=lambda own: (not own[1].cited, own[1].size, -own[0]))
        verdict = "misattributed" if sentence.numbers else "uncited"
        verdict = "supported" if best.cited else verdict
    return CheckedSentence(
        text=sentence.text,
        paragraph=sentence.paragraph,
        citations=sentence.numbers,
        invalid=tuple(number for number in sentence.numbers if number not in sources),
        verdict=verdict,
        score=score,
        support=_support(best, sentence.text) if best else (),
    )


def _support(best: _Try, sentence: str) -> tuple[Support, ...]:
    return tuple(
        Support(
            number=number,
            passage=passage,
            sentence=supporting_sentence(passage.text, sentence),
        )
        for number, passage in best.passages
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
