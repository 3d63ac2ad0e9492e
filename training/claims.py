"""Turns questions and answers into claims as a writer would state them, right and nearly right.

A language model that is asked something no passage says tends to repeat the question with a name
from a passage: "The first woman captain was Jonah Tregear". `asserted` makes such pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from citeproof.tools.entailment.spans import find_spans
from training import edits
from training.make import Around, Asked, Text, crop, holds
from training.rows import Row


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_IRREGULAR = dict(
    pair.split(":")
    for pair in _words(
        """
        be:was become:became begin:began bear:bore break:broke bring:brought build:built buy:bought
        catch:caught choose:chose come:came cost:cost die:died do:did draw:drew drive:drove eat:ate
        fall:fell feel:felt fight:fought find:found fly:flew forbid:forbade get:got give:gave
        go:went grow:grew have:had hear:heard hold:held keep:kept know:knew lead:led leave:left
        lend:lent lie:lay lose:lost make:made mean:meant meet:met pay:paid put:put read:read
        ride:rode rise:rose run:ran say:said see:saw sell:sold send:sent set:set shoot:shot
        show:showed sing:sang sink:sank sit:sat speak:spoke spend:spent split:split stand:stood
        steal:stole strike:struck swim:swam take:took teach:taught tell:told think:thought
        throw:threw wear:wore win:won write:wrote
        """
    )
)
_PARTICIPLES = _words(
    """
    born broken brought built bought caught chosen come cut done drawn driven fallen fought found
    flown given gone grown heard held hit kept known led left lost made meant met paid put read run
    said seen sold sent set shot shown sung spoken spent split stolen struck taken taught told
    thought thrown won worn written begun become beaten based
    """
)
_BEFORE_A_NOUN = _words(
    """
    the a an his her its their this that these those first second third last new old of and or many
    most more some any no two three four five
    """
)
_NO_VERBS = _words("and the us need hundred be me spee not last them she car")
_NO_NAMES = _words("Jr Sr Dr Mr Mrs Ms St Us Table")
_PREPOSITIONS = _words(
    """
    in on at of for to from by with as into about against under over during after before between
    through around near
    """
)
_BE = "is|was|were|are"
_DO = "did|does|do"
_AUXILIARIES = _words(
    "is was were are did does do has have had will would can could may might must should"
)
_FINITE = _words("has had have can will")
_BEFORE_A_TIME = _words("early late since until every once when")
_STUMBLES = re.compile(
    r"\b(?:at|to|from|with|of|for|in|into) (?:in|on)\b|\b(\w{3,})s? \1s?\b", re.I
)
"""“They stop at in Edinburgh”, “182 tons tons”."""
MOST_WORDS = 8
"""Most words of an answer that can be turned into a sentence; longer ones are often clauses."""
_TIME_OR_PLACE = (
    r"(?P<wh>when|where|(?:in|on|at|during) (?:what|which) (?:year|month|day|date|decade|century"
    r"|city|country|state|county|town|place|region)|what year|what date|which year)"
)


@dataclass(frozen=True)
class Declarer:
    """Turns a question and its answer into one sentence."""

    past: Mapping[str, str] = field(default_factory=lambda: dict(_IRREGULAR))
    """The past tense of each known verb."""

    @classmethod
    def of(cls, texts: Sequence[Text]) -> Declarer:
        """A declarer that knows the regular verbs of these texts: words with and without -ed."""
        counts = Counter(word for text in texts for word in re.findall(r"\b[a-z]+\b", text.text))
        past = {}
        for word, count in counts.items():
            if count < 3 or not word.endswith("ed"):
                continue
            bases = [word[:-1], word[:-2]]
            bases += [f"{word[:-3]}y"] if word.endswith("ied") else []
            bases += [word[:-3]] if word[-3:-2] == word[-4:-3] else []
            base = max(bases, key=lambda b: counts[b])
            if counts[base] >= 3 and base not in _NO_VERBS:
                past[base] = word
        return cls(past | _IRREGULAR)

    def sentence(self, question: str, answer: str) -> str | None:
        """The sentence, or None for a question of an unknown form."""
        asked = " ".join(question.split()).rstrip("?. ").strip()
        answer = answer.strip().rstrip(".")
        if "|" in asked or not answer or len(answer.split()) > MOST_WORDS:
            return None
        said = (
            self._did(asked, answer)
            or self._many(asked, answer)
            or self._was_done(asked, answer)
            or self._was(asked, answer)
            or self._subject(asked, answer)
        )
        if said:
            said = f"{said[0].upper()}{said[1:]}."
        elif not _goes_on(asked):
            said = edits.declare(question, answer)
        return None if said and _STUMBLES.search(said) else said

    def _did(self, asked: str, answer: str) -> str | None:
        """“When did X open Y”: X opened Y in 1920; “what did X found”: X founded Y."""
        found = re.match(
            rf"^(?:{_TIME_OR_PLACE}|(?:what|which|who|whom)(?: [\w-]+){{0,2}}?)"
            rf" (?P<do>{_DO}) (?P<rest>.+)$",
            asked,
            re.I,
        )
        if not found:
            return None
        cut = self._verb(found["rest"].split())
        if not cut:
            return None
        subject, verb, rest = cut
        verb = self._tensed(verb, found["do"].lower())
        if found["wh"]:
            return " ".join([*subject, verb, *rest, _placed(found["wh"], answer)])
        if rest and rest[-1].lower() in _PREPOSITIONS:
            return " ".join([*subject, verb, *rest, answer])
        if not rest or (rest[0].lower() in _PREPOSITIONS and rest[1].lower() not in _PREPOSITIONS):
            return " ".join([*subject, verb, answer, *rest])
        return None

    def _many(self, asked: str, answer: str) -> str | None:
        found = re.match(rf"^how many (?P<what>.+?) (?P<do>{_DO}) (?P<rest>.+)$", asked, re.I)
        if found:
            cut = self._verb(found["rest"].split())
            if not cut:
                return None
            subject, verb, rest = cut
            verb = self._tensed(verb, found["do"].lower())
            return " ".join([*subject, verb, answer, found["what"], *rest])
        found = re.match(rf"^how many (?P<what>.+?) (?P<be>{_BE}) there (?P<rest>.+)$", asked, re.I)
        if found:
            return f"There {found['be']} {answer} {found['what']} {found['rest']}"
        found = re.match(r"^how many (?P<what>[\w ]+)$", asked, re.I)
        if found and any(word in self.past for word in found["what"].split()[1:]):
            return f"{answer} {found['what']}"
        return None

    def _was_done(self, asked: str, answer: str) -> str | None:
        """“When was X built”: X was built in 1920; “what is X known for”: X is known for Y."""
        found = re.match(
            rf"^(?:{_TIME_OR_PLACE}|what|who|which) (?P<be>{_BE}) (?P<rest>.+)$", asked, re.I
        )
        if not found:
            return None
        words = found["rest"].split()
        done = [i for i, w in enumerate(words) if w in _PARTICIPLES or re.search(r"[a-z]ed$", w)]
        at = next((i for i in done if i), 0)
        if not at or words[at - 1].lower() in _BEFORE_A_NOUN:
            if found["wh"] and found["wh"].lower() == "where" and edits.kind(answer) == "name":
                return f"{found['rest']} {found['be']} {_placed('where', answer)}"
            return None
        said = [*words[:at], found["be"], *words[at:]]
        if found["wh"]:
            return " ".join([*said, _placed(found["wh"], answer)])
        if words[-1].lower() in {*_PREPOSITIONS, "called", "named"}:
            return " ".join([*said, answer])
        return None

    def _was(self, asked: str, answer: str) -> str | None:
        """“Who was the first captain”: the first captain was X."""
        found = re.match(rf"^(?:who|what|which)(?: (?P<be>{_BE})|'s) (?P<rest>.+)$", asked, re.I)
        if not found:
            return None
        words = found["rest"].split()
        last = words[-1].lower()
        if len(words) < 2 or last in _PREPOSITIONS or words[-1].endswith(("ed", "ing")):
            return None
        if words[0].lower() not in _BEFORE_A_NOUN and "'s" not in found["rest"]:
            return None
        return f"{found['rest']} {found['be'] or 'is'} {answer}"

    def _subject(self, asked: str, answer: str) -> str | None:
        """“Which band released X”: Y released X."""
        found = re.match(
            r"^(?:what|which)(?P<kind>(?: [\w'-]+){1,3}?) (?P<rest>[\w']+ .+)$", asked, re.I
        )
        if not found:
            return None
        verb, after = found["rest"].split(" ", 1)
        finite = (verb in self.past.values() and verb != "did") or verb in _FINITE
        if not finite or after.split()[-1].lower() in _PREPOSITIONS:
            return None
        if not _AUXILIARIES.isdisjoint(found["kind"].lower().split()):
            return None
        return f"{answer} {found['rest']}"

    def _verb(self, words: list[str]) -> tuple[list[str], str, list[str]] | None:
        """Subject, verb and the rest: the verb is the first one without an article before it."""
        for at in range(1, len(words)):
            if words[at] in self.past and words[at - 1].lower() not in _BEFORE_A_NOUN:
                return words[:at], words[at], words[at + 1 :]
        return None

    def _tensed(self, verb: str, do: str) -> str:
        if do == "did":
            return self.past[verb]
        if do == "do":
            return verb
        if verb in {"have", "be", "do", "go"}:
            return {"have": "has", "be": "is", "do": "does", "go": "goes"}[verb]
        if re.search(r"[^aeiou]y$", verb):
            return f"{verb[:-1]}ies"
        return f"{verb}es" if verb.endswith(("s", "x", "ch", "sh")) else f"{verb}s"


def _goes_on(asked: str) -> bool:
    """Whether the answer belongs after the last word, or is one of several."""
    asks_on = asked.split()[-1].lower() in _PREPOSITIONS
    return bool(
        (asks_on and re.match(r"(?:what|which|how many) ", asked, re.I))
        or re.match(r"who (?:else|not)\b", asked, re.I)
    )


def _placed(wh: str, answer: str) -> str:
    """The answer to when or where, with the preposition that it needs."""
    first = answer.split()[0].lower()
    if first in _PREPOSITIONS | _BEFORE_A_TIME:
        return f"{answer[0].lower()}{answer[1:]}"
    if edits.kind(answer) == "date" and "where" not in wh.lower():
        return f"on {answer}"
    return f"in {answer}"


def asserted(
    sets: Sequence[Asked], pool: Mapping[str, Text], rng: Random, *, cropped: float = 0.5
) -> Iterator[Row]:
    """Claims made from questions: the right one, and some that a passage nearly states.

    A share `cropped` of the premises is cut to the sentences around the answer; others of the
    article are found in `pool`.
    """
    claimant = _Claimant(Declarer.of(list(pool.values())), Around.of(sets, pool), rng, cropped)
    for item in sets:
        yield from claimant.rows(item)


@dataclass(frozen=True)
class _Claimant:
    """Makes the rows of each question."""

    declarer: Declarer
    around: Around
    rng: Random
    cropped: float
    right: dict[str, set[str | None]] = field(default_factory=dict)
    """Id of a passage → the true claims of its questions."""

    def rows(self, item: Asked) -> Iterator[Row]:
        claim = self.declarer.sentence(item.question, item.answers[0])
        if not claim or not holds(item.gold.text, item.answers[0]):
            return
        yield self._row(item, item.gold, item.answers[0], claim, "claim", "entailed")
        choice = self.rng.random()
        if choice < 0.7:
            yield from self._other_name(item)
        elif choice < 0.82:
            yield from self._other_scope(item, claim)
        elif choice < 0.92:
            yield from self._other_claim(item)
        if self.rng.random() < 0.85:
            yield from self._other_passage(item)

    def _other_name(self, item: Asked) -> Iterator[Row]:
        """The claim with something else that its passage names instead of the answer."""
        of = edits.kind(item.answers[0])
        near = find_spans(item.gold.text, of)
        near += [a for o in self.around.beside[item.gold.id] if edits.kind(a := o.answers[0]) == of]
        near = [span for span in near if _wrong(span, item)]
        span = self.rng.choice(near) if near else ""
        claim = self.declarer.sentence(item.question, span)
        if claim and claim not in self._right(item):
            keep = span if self.rng.random() < 0.5 else item.answers[0]
            yield self._row(item, item.gold, keep, claim, "other name")

    def _other_scope(self, item: Asked, claim: str) -> Iterator[Row]:
        changed = edits.rescope(claim, self.rng)
        if changed:
            yield self._row(item, item.gold, item.answers[0], changed, "other scope")

    def _other_claim(self, item: Asked) -> Iterator[Row]:
        """The answer as the claim of another question of the passage."""
        answer = item.answers[0]
        others = [
            other
            for other in self.around.beside[item.gold.id]
            if other.question != item.question
            and edits.kind(other.answers[0]) == edits.kind(answer)
            and not other.overlaps(answer)
        ]
        if not others:
            return
        claim = self.declarer.sentence(self.rng.choice(others).question, answer)
        if claim and claim not in self._right(item):
            yield self._row(item, item.gold, answer, claim, "other claim")

    def _other_passage(self, item: Asked) -> Iterator[Row]:
        """A passage of the same article without an answer, and a name from it as the answer."""
        siblings = self.around.siblings(item)
        if not siblings:
            return
        sibling = self.rng.choice(siblings)
        of = edits.kind(item.answers[0])
        spans = [span for span in find_spans(sibling.text, of) if _wrong(span, item)]
        span = self.rng.choice(spans) if spans else ""
        claim = self.declarer.sentence(item.question, span)
        if claim:
            yield self._row(item, sibling, span, claim, "other passage")

    def _right(self, item: Asked) -> set[str | None]:
        """The true claims of this passage's questions; some have several answers."""
        key = item.gold.id
        if key not in self.right:
            self.right[key] = {
                self.declarer.sentence(o.question, a)
                for o in self.around.beside[key]
                for a in o.answers
            }
        return self.right[key]

    def _row(
        self,
        item: Asked,
        text: Text,
        keep: str,
        claim: str,
        recipe: str,
        label: str = "not_entailed",
    ) -> Row:
        whole = self.rng.random() >= self.cropped
        body = text.text if whole else crop(text.text, keep, self.rng, item.question)
        return Row(text.shown(body, self.rng, 0.85), claim, label, f"{item.source}/{recipe}")


def _wrong(span: str, item: Asked) -> bool:
    """Whether a span is a wrong answer: unlike every right one, and not in the question."""
    return (
        not item.overlaps(span)
        and not holds(item.question, span)
        and not span.endswith(("'s", "’s"))
        and span not in _NO_NAMES
    )
