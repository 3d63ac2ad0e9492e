"""The fewest passages that prove a claim."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from citeproof import Passage
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair, Score, Support, find_support, find_supports

LETTERS = "pqrst"
PASSAGES = {n: Passage(id=c, text=f"<{c}>") for n, c in enumerate(LETTERS, start=1)}


def entailment(*needed: str) -> TableEntailment:
    """Entailed by any premise that holds all letters of one of `needed`; near it with one."""

    def score(premise: str, _: str) -> float:
        found = [sum(f"<{c}>" in premise for c in letters) / len(letters) for letters in needed]
        return 0.9 if 1.0 in found else max(found) / 10

    return TableEntailment(score)


def kept(support: Support) -> str:
    return "".join(passage.id for passage in support.passages.values())


@pytest.mark.parametrize(
    ("needed", "smallest"),
    [(["q"], "q"), (["q", "s"], "q"), (["ps"], "ps"), (["pqr", "st"], "st"), (["rst"], "rst")],
)
async def test_the_smallest_set_is_found(needed: list[str], smallest: str) -> None:
    support = await find_support(entailment(*needed), "?", PASSAGES, "claim")
    assert (kept(support), support.score, support.holds) == (smallest, 0.9, True)


@pytest.mark.parametrize(
    "needed", ["".join(c) for n in range(1, 4) for c in itertools.combinations(LETTERS, n)]
)
async def test_no_passage_of_the_set_can_be_left_out(needed: str) -> None:
    support = await find_support(entailment(needed), "?", PASSAGES, "claim")
    assert kept(support) == needed


async def test_what_only_more_than_three_passages_entail_is_not_proved() -> None:
    support = await find_support(entailment("pqrs"), "?", PASSAGES, "claim")
    assert not support.holds
    assert support.score < 0.5


@pytest.mark.parametrize(
    ("needed", "score", "holds"),
    [("p", 0.5, True), ("pq", 0.74, False), ("pq", 0.75, True), ("pqr", 0.86, False)],
)
async def test_the_more_passages_the_surer_they_must_be(
    needed: str, score: float, holds: bool
) -> None:
    marks = [f"<{letter}>" for letter in needed]
    model = TableEntailment(lambda text, _: score if all(m in text for m in marks) else 0.1)
    support = await find_support(model, "?", PASSAGES, "claim")
    assert (support.holds, support.score) == (holds, score if holds else 0.1)


@pytest.mark.parametrize(("name", "holds"), [("Pier", False), ("Lamp", True)])
async def test_passages_that_do_not_speak_of_one_another_prove_nothing_together(
    name: str, holds: bool
) -> None:
    passages = {
        1: Passage(id="p", title="Tower", text=f"<p> The {name} is near."),
        2: Passage(id="q", title="Lamp", text="<q>"),
    }
    support = await find_support(entailment("pq"), "?", passages, "claim")
    assert support.holds == holds


async def test_of_several_passages_the_best_is_taken() -> None:
    model = TableEntailment(lambda premise, _: {"<p>": 0.6, "<q>": 0.9}.get(premise, 0.7))
    assert kept(await find_support(model, "?", PASSAGES, "claim")) == "q"


@pytest.mark.parametrize(
    ("final", "found", "asked"),
    [
        ({"p": 0.8, "q": 0.9}, "p", "p"),  # q would score more, but p suffices
        ({"p": 0.4, "q": 0.9}, "q", "pq"),
        ({"p": 0.4, "q": 0.3, "r": 0.2}, "", "pqr"),
    ],
)
async def test_only_the_most_promising_passages_are_read_thoroughly(
    final: dict[str, float], found: str, asked: str
) -> None:
    class Quick(TableEntailment):
        final_below = 0.5
        quick = TableEntailment(lambda text, _: {"<p>": 0.9, "<q>": 0.8, "<r>": 0.7}.get(text, 0.1))

        async def quick_scores(self, pairs: Sequence[Pair]) -> list[float]:
            return await self.quick.scores(pairs)

    model = Quick(lambda text, _: final[text.strip("<>")])
    support = await find_support(model, "?", PASSAGES, "claim")
    assert "".join(pair.premise.strip("<>") for pair in model.pairs) == asked
    assert (support.holds, kept(support) if found else "") == (bool(found), found)


async def test_each_round_of_all_claims_is_one_batch() -> None:
    model = entailment("ps", "q")
    few = {number: PASSAGES[number] for number in (1, 2, 4)}
    without = {number: PASSAGES[number] for number in (1, 4)}
    one, two, none = await find_supports(
        model, "?", [(few, "claim"), (without, "other"), ({}, "third")]
    )
    assert [kept(one), kept(two), kept(none)] == ["q", "ps", ""]
    assert model.batches == [5, 1]


async def test_a_model_that_reads_many_is_asked_about_them_together_first() -> None:
    class Reader(TableEntailment):
        reads_many = True

    model = Reader(lambda premise, _: 0.1)
    support = await find_support(model, "?", PASSAGES, "claim")
    assert (model.batches, support.holds, support.score) == ([1], False, 0.1)


@pytest.mark.parametrize(("text", "holds"), [("It is old.", False), ("It is a school.", True)])
async def test_a_title_alone_proves_nothing(text: str, holds: bool) -> None:
    school = Passage(id="s", title="Sunny Christian School", text=text)
    model = TableEntailment(
        lambda premise, _: 0.9 if "Title" in premise or "a school" in premise else 0.2
    )
    claim = "Sunny Christian School is a Christian school."
    support = await find_support(model, "?", {1: school}, claim)
    assert support.holds is holds


async def test_passages_that_say_otherwise_are_named() -> None:
    model = TableEntailment(lambda text, _: Score(0.1, 0.8 if "<q>" in text else 0.3))
    support = await find_support(model, "?", PASSAGES, "q")
    assert support.opposing == ("q",)
    assert support.verdict("memory").status == "contradicted"


@pytest.mark.parametrize(
    ("claim", "denied"),
    [
        ("The mill was built in 1931.", ["mill"]),
        ("Ada Holt left Mill Songs, season 5.", []),  # its other words are in "songs"
        ("In 1931, Nora Quill won.", ["songs"]),
        ("Geese never fly.", ["geese"]),
    ],
)
async def test_only_a_passage_about_the_subject_denies(claim: str, denied: list[str]) -> None:
    passages = {
        1: Passage(id="mill", title="", text="The mill was built in 1920."),
        2: Passage(id="songs", title="Mill Songs", text="In season 5, Nora Quill left. She won."),
        3: Passage(id="geese", title="Geese", text="They fly south."),
    }
    model = TableEntailment(lambda *_: Score(0.1, 0.9))
    assert list((await find_support(model, "?", passages, claim)).opposing) == denied
