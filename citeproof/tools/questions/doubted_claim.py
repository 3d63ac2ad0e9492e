"""A claim whose proof is in doubt, and the quotes of its passage that may replace it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from citeproof.tools.citations.marks import adds_nothing, content, supporting_sentence
from citeproof.tools.citations.quotes import Quote, find_quote, quotes_in
from citeproof.tools.entailment import halfway
from citeproof.tools.entailment.code_names import missing_code
from citeproof.tools.entailment.details import missing_details
from citeproof.tools.sentences import LIST_ITEM, ROW, split
from citeproof.types import Passage

_AGREED = 0.6
"""If no other quote answers, a failed claim gives way to a sentence that has its numbers, apart
from those of the question, and answers with at least this share of the threshold: "The default port
is 4532 for rigctld and 4533 for rotctld" (0.37) for "The rotator daemon listens on port 4533". Of
23 failed claims on manuals and Wikipedia, four have such a sentence, and these four are right."""
_LEAST_SAID = 0.5
"""A claim sums up a list if the items together have at least this share of the words that claim and
passage have and the question has not, and each sentence has less. "WAL is faster, allows more
concurrency and needs fewer fsync operations" is such a claim; an item of the list is no
replacement. Outside of lists, a claim that mixes sentences is often false: it calls the rare side
effects common as well. For each of 17 claims on Wikipedia that were rightly replaced, a sentence
has 0.75 or more."""
_RATHER_SURE = 0.8
"""A claim with this score gives way only to a sentence that says about the same. "Use the SQLite
Online Backup API" (0.86) is right, and "Copy the database file" an answer too. But a claim on the
Netherlands (0.84) is in serious doubt if the sentence that comes nearest names only the UK."""
_SHORT = 3
"""Fewest content words of a failed claim that gives way to a quote. "Open HomeBank." has two, and
any sentence on opening something would do."""


@dataclass(frozen=True)
class DoubtedClaim:
    """A claim that is not surely proved by the passage that it cites."""

    text: str
    question: str
    passage: Passage
    score: float
    """Probability that the passage entails the claim."""
    failed: bool
    """Whether it counts as unproved."""
    far: bool
    """Whether it failed by far. Such a claim gives way only to a sentence that is related to it and
    surely answers: "It is open from 9 to noon on Saturdays" (0.36), to one that answers and has its
    names in code: "With `--connect-timeout` you tell curl the maximum time" (0.61), or to the one
    row of a table that answers: small writers take the price of another row."""

    @cached_property
    def _added(self) -> frozenset[str]:
        """Content words that the claim adds to the question."""
        return frozenset(content(self.text) - content(f"{self.question} {self.passage.title} use"))

    @cached_property
    def _added_numbers(self) -> frozenset[str]:
        details = missing_details(self.question, self.text)
        return frozenset(one for one in details if any(map(str.isdigit, one)))

    @cached_property
    def _nearest(self) -> str:
        return " ".join(supporting_sentence(self.passage, self.text).split())

    @cached_property
    def _is_rather_sure(self) -> bool:
        read = f"{self.question}\n{self.passage.title}\n{self._nearest}"
        return self.score >= _RATHER_SURE and not missing_details(read, self.text)

    @property
    def is_kept(self) -> bool:
        """Whether no quote can say what the claim says: it sums up a list, or is a few words."""
        return self._sums_up or (self.failed and len(content(self.text)) < _SHORT)

    @property
    def _sums_up(self) -> bool:
        """Whether the claim's own words come from several items of a list."""
        text = self.passage.text
        said, spans = self._added & content(text), split(text)
        parts = [said & content(text[span.start : span.end]) for span in spans]
        items = [
            p for span, p in zip(spans, parts, strict=True) if LIST_ITEM.match(text, span.start)
        ]
        least = _LEAST_SAID * len(said)
        return max(map(len, parts), default=0) < least <= len(set().union(*items))

    def quotes(self, accepted: Sequence[str]) -> Iterator[Quote]:
        """Yield the quotes that may replace the claim, without what the answer says already.

        They contain the commands and similar code of the claim. A proved claim gives way only to a
        whole sentence that can be understood alone: "This list only gets news" does not name the
        list.
        """
        alone = quotes_in(self.passage, context=False)
        for whole, sentence in zip(quotes_in(self.passage), alone, strict=True):
            lead = whole._replace(end=sentence.start).text
            quote = sentence if lead and adds_nothing(lead, accepted) else whole
            if (
                quote.says_something
                and (self.failed or (quote.is_statement and whole.stands_alone))
                and not missing_code(quote.text, self.text)
                and not adds_nothing(quote.text, accepted)
            ):
                yield quote

    def choose(self, scored: Sequence[tuple[Quote, float]], threshold: float) -> Quote | None:
        """The quote that replaces the claim; None if there is none.

        A claim that repeats a part of a sentence gives way to that sentence alone.

        Args:
            scored: The quotes, each with the probability that it answers the question.
            threshold: From this on, a quote answers; 0 if nothing scored them.
        """
        if (sentence := find_quote(self.text, self.passage)) is not None:
            around = [quote for quote, _ in scored if sentence.is_in(quote)]
            return min(around, key=lambda quote: len(quote.text), default=None)
        answering = [one for one in scored if self._gives_way(*one, threshold)] or [
            (quote, score)
            for quote, score in scored
            if self.failed and score >= _AGREED * threshold and self._agrees(quote)
        ]
        return max(answering, key=self._rank)[0] if answering else None

    def _gives_way(self, quote: Quote, score: float, threshold: float) -> bool:
        """Whether the claim gives way to a quote that answers with this score.

        A claim that says about the same may be unproved for its words alone. Any other quote must
        surely answer, and replaces only a claim in serious doubt.
        """
        related, sure = self._is_related(quote), halfway(threshold)
        if self.failed and threshold and ROW.match(quote.text):
            return score >= threshold
        if self.far:
            if quote.is_statement and missing_code("", self.text):
                return score >= threshold
            return related and score >= sure
        return score >= threshold if related else not self._is_rather_sure and score >= sure

    def _is_related(self, quote: Quote) -> bool:
        """Whether a quote has half of the words that the claim adds, or is the nearest sentence.

        "Not" alone relates nothing: "curl does not support them" is not about what browsers do not.
        """
        if not (added := self._added - {"not"}):
            return self._is_nearest(quote)
        return len(added & content(quote.text)) >= _LEAST_SAID * len(added)

    def _is_nearest(self, quote: Quote) -> bool:
        return bool(self._nearest) and quote.text.endswith(self._nearest)

    def _agrees(self, quote: Quote) -> bool:
        """Whether a quote has the claim's numbers that are not in the question."""
        numbers = self._added_numbers
        return bool(numbers) and not numbers & set(missing_details(quote.text, self.text))

    def _rank(self, scored: tuple[Quote, float]) -> tuple[bool, bool, bool, float]:
        """Related quotes first, then those with all names and numbers, the nearest, the surest."""
        quote, score = scored
        has_all = not missing_details(f"{self.question}\n{quote.premise}", self.text)
        return self._is_related(quote), has_all, self._is_nearest(quote), score
