"""Makes twins that a reader must read closely: one entailed, one not, with the same words.

They differ in subject and object, in an attribute of a neighbour, in order of time, comparison,
distant negation, or attribution. Names, places and verbs are drawn anew for each pair, so only
close reading tells the twins apart. `swapped_titles` and `siblings` do the same with passages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from citeproof.tools.entailment.spans import replace_span
from training import edits
from training.claims import Declarer
from training.make import Around, Asked, Text
from training.rows import Row

_FIRST = """Agnes Boris Clara Derek Elena Felix Greta Hugo Ingrid Jonas Karin Lucas Mira Nadia Oscar
Paula Quentin Rosa Simon Teresa Ulrich Vera Walter Xenia Yusuf Zora"""
_LAST = """Abbott Brandt Calloway Duarte Ekström Falk Grimaldi Hartley Ivanov Jansen Keller
Lindqvist Moreau Novak Okafor Petrov Quist Ramos Schmidt Tanaka Urban Vance Whitlock Yilmaz
Zeller"""
_PLACE = """Ardmore Belgrave Corwen Dunmere Eastholt Farleigh Glenrock Harrow Iverton Jarvis Kelby
Langport Marden Norwick Oakhurst Penrith Quarley Redcliff Stanmore Tilbury Upwey Valmont"""
_THING = """bridge museum library factory lighthouse theatre school harbour observatory mill tunnel
station hospital chapel market dam archive tower"""
_WORK = """novel symphony film painting opera play poem essay documentary song treaty map"""

_ROLES = (
    # a does something to b; the same from the other side
    ("{a} sold the {w} to {b}.", "{b} bought the {w} from {a}."),
    ("{a} taught {b} for {n} years.", "{b} was a student of {a}."),
    ("{a} succeeded {b} as mayor of {p}.", "{b} was mayor of {p} before {a}."),
    ("{a} defeated {b} in the final.", "{b} lost the final to {a}."),
    ("{a} hired {b} in {y}.", "{b} was employed by {a}."),
    ("{a} is the daughter of {b}.", "{b} is a parent of {a}."),
    ("{a} lent {b} {n},000 crowns.", "{b} borrowed money from {a}."),
    ("{a} was arrested by {b} in {p}.", "{b} arrested {a}."),
    ("The letter was written by {a} and sent to {b}.", "{a} wrote to {b}."),
    ("{a} reports to {b}.", "{b} is the superior of {a}."),
    ("{a} accused {b} of fraud.", "{b} was accused by {a}."),
    ("{a} outlived {b} by {n} years.", "{b} died before {a}."),
    ("{a} inherited the {t} from {b}.", "The {t} went from {b} to {a}."),
    ("{a}, who had trained under {b}, opened a studio in {p}.", "{b} trained {a}."),
)
_NEIGHBOURS = (
    "{a} wrote the {w} {m} in {y}. {rel}, {b}, wrote {q} in {z}.",
    "{a} designed the {t} of {p} in {y}; {b} designed that of {r} in {z}.",
    "The {t} in {p} was opened by {a} in {y}, and the {t} in {r} by {b} in {z}.",
    "{a} joined the board in {y}. {b} followed in {z}.",
    "In {y}, {a} moved to {p}. In {z}, {b} moved to {r}.",
)
_FACTS = (
    ("{a} wrote {m}.", "{a} wrote {q}.", "{b} wrote {q}."),
    (
        "{a} designed the {t} of {p}.",
        "{a} designed the {t} of {r}.",
        "{b} designed the {t} of {r}.",
    ),
    (
        "The {t} in {p} was opened in {y}.",
        "The {t} in {p} was opened in {z}.",
        "{b} opened the {t} in {r}.",
    ),
    ("{b} joined the board in {z}.", "{b} joined the board in {y}.", "{a} joined in {y}."),
    ("{a} moved to {p}.", "{a} moved to {r}.", "{b} moved to {r} in {z}."),
)
_ORDERS = (
    ("The {t} was finished in {y}, {n} years after the {u}.", "The {u} is older than the {t}."),
    ("{a} left {p} in {y} and {b} in {z}.", "{a} left {p} before {b}."),
    (
        "Before the {t} burned down, the {u} had been sold.",
        "The {u} was sold before the {t} burned.",
    ),
    ("Only once the {t} had been paid for was the {u} begun.", "The {t} was paid for first."),
    ("The {t} opened in {y}. The {u} had opened {n} years earlier.", "The {u} opened first."),
)
_COMPARISONS = (
    ("The {t} of {p} is {n} metres high, that of {r} {k} metres.", "{r} has the higher {t}.", True),
    (
        "The {t} of {p} cost {n} million and that of {r} {k} million.",
        "The {t} of {p} cost more.",
        False,
    ),
    ("{p} has {n},000 inhabitants; {r} has {k},000.", "{p} is smaller than {r}.", True),
    ("{a} served {n} years and {b} {k}.", "{a} served longer than {b}.", False),
    ("At {n} km the road to {p} is shorter than the one to {r}.", "{r} is farther than {p}.", True),
    ("The {t} is smaller than the {u} but older.", "The {u} is the larger of the two.", True),
    ("The {t} is smaller than the {u} but older.", "The {u} is the older of the two.", False),
)
_UNSAID = (
    "It is not true that {s}",
    "The old view that {s} has been given up",
    "Contrary to what is often written, it was never shown that {s}",
    "{a} claims that {s}, which the archive contradicts",
    "A rumour has it that {s}",
    "{a} denied that {s}",
    "Had the plan been carried out, one could say that {s}",
    "Nobody has found evidence that {s}",
    "Earlier guides state that {s}; this is an error",
    "{a} believes that {s}, though others doubt it",
    "It was feared that {s}",
    "Critics allege that {s}",
)
_SAID = (
    "It is well documented that {s}",
    "The records confirm that {s}",
    "{a} was able to prove that {s}",
    "As everybody in {p} knows, {s}",
    "Although {a} denied it for years, it is certain that {s}",
    "It turned out that {s}",
    "{a} was glad to learn that {s}",
    "Few visitors realise that {s}",
)


def contrasts(texts: Sequence[Text], rng: Random, count: int) -> Iterator[Row]:
    """Twins of all kinds, `count` of each; some placed among the sentences of a passage."""
    for make in (_roles, _neighbours, _order, _comparison, _attribution):
        source = f"contrasts/{make.__name__[1:]}"
        for _ in range(count):
            around = rng.choice(texts) if rng.random() < 0.4 else None
            for premise, hypothesis, label in make(rng):
                yield Row(_among(premise, around), hypothesis, label, source)


def swapped_titles(sets: Sequence[Asked], pool: Mapping[str, Text], rng: Random) -> Iterator[Row]:
    """Claims, and the same facts stated about the subject of a sister article."""
    declarer = Declarer.of(list(pool.values()))
    titles = sorted({item.gold.title for item in sets if edits.kind(item.gold.title) == "name"})
    for item in sets:
        title = item.gold.title
        claim = declarer.sentence(item.question, item.answers[0])
        if not claim or title not in claim or edits.kind(title) != "name":
            continue
        alike = [o for o in titles if o != title and _alike(o, title)] or titles
        other = rng.choice(alike)
        if other in item.gold.text or other == title:
            continue
        source = f"{item.source}/title"
        yield Row(item.gold.premise, claim, "entailed", source)
        yield Row(item.gold.premise, replace_span(claim, title, other), "not_entailed", source)


def siblings(sets: Sequence[Asked], pool: Mapping[str, Text], rng: Random) -> Iterator[Row]:
    """True claims against other passages of the article, with and without the right one."""
    declarer, around = Declarer.of(list(pool.values())), Around.of(sets, pool)
    for item in sets:
        claim = declarer.sentence(item.question, item.answers[0])
        near = around.siblings(item)
        if not claim or not near:
            continue
        some = rng.sample(near, min(len(near), rng.randint(1, 3)))
        source = f"{item.source}/siblings"
        if len(some) > 1 or rng.random() < 0.8:
            yield Row("\n".join(t.premise for t in some), claim, "not_entailed", source)
        if rng.random() < 0.5:
            with_gold = [item.gold, *some[:2]]
            rng.shuffle(with_gold)
            yield Row("\n".join(t.premise for t in with_gold), claim, "entailed", source)


def _alike(one: str, other: str) -> bool:
    return len(one.split()) == len(other.split()) and bool(set(one.split()) & set(other.split()))


def _among(premise: str, around: Text | None) -> str:
    return premise if around is None else f"Title: {around.title}\n{premise} {around.text[:300]}"


def _fill(rng: Random) -> dict[str, str]:
    """Values for the blanks: people a, b, places p, r, things t, u, years y < z, numbers n < k."""
    first, last = rng.sample(_FIRST.split(), 2), rng.sample(_LAST.split(), 2)
    last[1] = last[0] if rng.random() < 0.3 else last[1]
    (p, r), (t, u) = rng.sample(_PLACE.split(), 2), rng.sample(_THING.split(), 2)
    year, number = rng.randint(1750, 1995), rng.randint(3, 60)
    titles = rng.sample(
        [f"{a} {b}" for a in ("Blue", "Silent", "Last", "Red") for b in _PLACE.split()], 2
    )
    return {
        "a": f"{first[0]} {last[0]}",
        "b": f"{first[1]} {last[1]}",
        "p": p,
        "r": r,
        "t": t,
        "u": u,
        "w": rng.choice(_WORK.split()),
        "m": titles[0],
        "q": titles[1],
        "y": str(year),
        "z": str(year + rng.randint(1, 25)),
        "n": str(number),
        "k": str(number + rng.randint(2, 40)),
        "rel": rng.choice(("His brother", "Her sister", "A rival", "A cousin", "Another member")),
    }


def _exchanged(values: Mapping[str, str], one: str, other: str) -> dict[str, str]:
    return {**values, one: values[other], other: values[one]}


def _roles(rng: Random) -> Iterator[tuple[str, str, str]]:
    said, other_side = rng.choice(_ROLES)
    values = _fill(rng)
    swapped = _exchanged(values, "a", "b")
    claim = said if rng.random() < 0.3 else other_side
    yield said.format(**values), claim.format(**values), "entailed"
    yield said.format(**values), claim.format(**swapped), "not_entailed"


def _neighbours(rng: Random) -> Iterator[tuple[str, str, str]]:
    place = rng.randrange(len(_NEIGHBOURS))
    values = _fill(rng)
    premise = _NEIGHBOURS[place].format(**values)
    right, wrong, also = (text.format(**values) for text in _FACTS[place])
    yield premise, right if rng.random() < 0.5 else also, "entailed"
    yield premise, wrong, "not_entailed"


def _order(rng: Random) -> Iterator[tuple[str, str, str]]:
    premise, right = rng.choice(_ORDERS)
    values = _fill(rng)
    pair = "ab" if "{a}" in right else "tu"
    yield premise.format(**values), right.format(**values), "entailed"
    yield premise.format(**values), right.format(**_exchanged(values, *pair)), "contradiction"


def _comparison(rng: Random) -> Iterator[tuple[str, str, str]]:
    premise, claim, true = rng.choice(_COMPARISONS)
    values = _fill(rng)
    compared = (pair for pair in ("ab", "pr") if any(f"{{{name}}}" in claim for name in pair))
    pair = next(compared, "tu")
    other = claim.format(**_exchanged(values, *pair))
    labels = ("entailed", "contradiction") if true else ("contradiction", "entailed")
    yield premise.format(**values), claim.format(**values), labels[0]
    yield premise.format(**values), other, labels[1]


def _attribution(rng: Random) -> Iterator[tuple[str, str, str]]:
    values = _fill(rng)
    fact = rng.choice([text for some in _FACTS for text in some]).format(**values)
    inside = fact.rstrip(".")
    inside = f"the{inside[3:]}" if inside.startswith("The ") else inside
    # Another person makes the statement.
    values["a"] = f"{rng.choice(_FIRST.split())} {rng.choice(_LAST.split())}"
    unsaid, said = (rng.choice(some).format(s=inside, **values) + "." for some in (_UNSAID, _SAID))
    yield said, fact, "entailed"
    yield unsaid, fact, "not_entailed"
    if rng.random() < 0.25:
        yield unsaid, unsaid, "entailed"
