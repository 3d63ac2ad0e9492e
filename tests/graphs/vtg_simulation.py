"""VTG's Algorithm 1, from the paper's pseudocode alone, and worlds of chance to run it in.

Nothing of citeproof is imported here: what `simulate` says is what the pseudocode says (Sun et al.,
appendix D), with "t > T" taken literally, the memory in the order in which its passages were first
met, and the citation simplifier of section 2.3, which leaves out one passage after the other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Event = tuple[object, ...]

EOS = ""


@dataclass
class World:
    """What the models and the retriever say: chance, fixed by a seed.

    `claims`, `citations` and `queries` are replies in order; a citation is a place in the memory
    that the generator is shown. Entailment is a coin for each set of passages and claim, or grows
    with the set (`monotone`), as it would with a perfect model.
    """

    seed: int
    monotone: bool
    trials: int
    most_queries: int
    k: int
    per_query: int
    claims: list[str] = field(default_factory=list)
    citations: list[list[int]] = field(default_factory=list)
    queries: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, seed: int) -> World:
        """The world of a seed."""
        chance = random.Random(seed)
        world = cls(
            seed=seed,
            monotone=seed % 2 == 1,
            trials=chance.randint(0, 5),
            most_queries=chance.randint(1, 4),
            k=chance.randint(1, 5),
            per_query=chance.randint(1, 4),
        )
        calls = chance.randint(0, 14)
        world.claims = [f"Statement {chance.randint(1, 8)} holds." for _ in range(calls)] + [EOS]
        world.citations = [
            chance.sample(range(9), chance.choice((0, 1, 1, 2, 3))) for _ in range(calls)
        ]
        world.queries = [
            [f"Query {call}.{n}?" for n in range(chance.randint(1, world.most_queries))]
            for call in range(calls)
        ]
        return world

    def found(self, query: str, most: int) -> list[str]:
        """R(query, most): none to `most` passages of a pool of twelve."""
        chance = random.Random(f"{self.seed} {query}")
        ranked = chance.sample([f"P{n}" for n in range(12)], 12)
        return ranked[: min(most, chance.randint(0 if query.startswith("Query") else 1, 6))]

    def entails(self, premise: frozenset[str], claim: str) -> bool:
        """Whether the passages, as one premise, entail the claim; none entail nothing."""
        if not premise:
            return False
        if not self.monotone:
            return random.Random(f"{self.seed} {sorted(premise)} {claim}").random() < 0.35
        chance = random.Random(f"{self.seed} {claim}")
        pool = [f"P{n}" for n in range(12)]
        proofs = [chance.sample(pool, chance.randint(1, 3)) for _ in range(2)]
        return any(premise.issuperset(proof) for proof in proofs)


@dataclass
class Trace:
    """All that was asked of the world, in order, and what came of it."""

    events: list[Event] = field(default_factory=list)
    answer: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)
    """Claim, the ids that it cites, and what verified it: cited, memory or nothing."""


def simulate(world: World, question: str) -> Trace:
    """Run Algorithm 1; comments are its lines."""
    trace = Trace()
    met: list[str] = []
    written = cited = asked = 0

    def remember(passages: list[str]) -> list[str]:
        met.extend(p for p in dict.fromkeys(passages) if p not in met)
        return passages

    def retrieve(query: str, most: int) -> list[str]:
        trace.events.append(("retrieve", query, most))
        return remember(world.found(query, most))

    def verified(claim: str, passages: set[str]) -> bool:
        if not passages:
            return False
        trace.events.append(("entails", frozenset(passages), claim))
        return world.entails(frozenset(passages), claim)

    def simplified(claim: str, passages: set[str]) -> set[str]:
        left = set(passages)
        if len(left) < 2:
            return left
        for passage in sorted(left, key=met.index):
            others = left - {passage}
            if others and verified(claim, others):
                left = others
        return left

    t = 0  # 1
    short: set[str] = set()  # 3
    long = set(retrieve(question, world.k))  # 4
    while True:  # 5
        memory = tuple(sorted(short | long, key=met.index))
        text = " ".join(claim for claim, _, _ in trace.answer)
        s = world.claims[written]  # 6
        written += 1
        trace.events.append(("claim", text, memory))
        if s == EOS:  # 8; its citations, which line 7 would ask for, are used nowhere
            return trace  # 9, 29
        trace.events.append(("cite", s, memory))
        places = world.citations[cited]  # 7
        cited += 1
        c = {memory[place] for place in places if place < len(memory)}
        by = ""
        if verified(s, c):  # 11
            by, c = "cited", simplified(s, c)  # 12
        elif verified(s, set(memory)):  # 16
            by, c = "memory", simplified(s, set(memory))  # 17
        if by or t > world.trials:  # 21
            trace.answer.append((s, tuple(sorted(c, key=met.index)), by))  # 13, 18, 22
            if by:
                long |= c  # 14, 19
            t = 0  # 15, 20, 23
            continue
        queries = world.queries[asked]  # 25
        asked += 1
        trace.events.append(("queries", text, s))
        found = [p for query in queries for p in retrieve(query, world.per_query)]
        short = set(found)
        t += 1  # 26
