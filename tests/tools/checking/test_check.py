"""Verdicts on the sentences of a text, and what is tried to reach them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain_core.documents import Document

from citeproof import Passage, check
from citeproof.errors import InputError
from citeproof.testing import ListRetriever, TableEntailment
from citeproof.tools.entailment import Score, premise

TOWER = Passage(id="tower", title="Tower", text="Ann Lee built the tower in 1871. It is white.")
LIGHT = Passage(id="light", text="Bo Ray kept the light for thirty years.", page=3)
STORM = Passage(id="storm", text="A storm broke the lamp in 1902.")
PASSAGES = [TOWER, LIGHT, STORM]

BUILT = "Ann Lee built the tower in 1871."
KEPT = "Bo Ray kept the light for thirty years."
BROKE = "A storm broke the lamp in 1902."

CODE = "```python\nlamp = lens[2]  # lit\n\nprint(lamp)\n```"
TABLE = """| Year | Event | Source |\n|---|---|:-:|
| 1871 | Ann Lee built it. It is white. [1] | [2] |\n| 1902 | Who? | |"""


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def reader(threshold: float = 0.9) -> TableEntailment:
    """Scores the share of the hypothesis's words that the premise has."""

    def score(premise: str, hypothesis: str) -> float:
        return len(words(premise) & words(hypothesis)) / max(1, len(words(hypothesis)))

    return TableEntailment(score, threshold=threshold, name="shares")


async def test_each_verdict() -> None:
    text = (
        "Ann Lee built the tower in 1871 [1]. Bo Ray kept the light for thirty years [9]. "
        "A storm broke the lamp in 1902. Geese fly south [2]. Who fed them [2]?"
    )
    report = await check(text, PASSAGES, reader())
    assert [(one.text, one.verdict) for one in report.sentences] == [
        (BUILT, "supported"),
        (KEPT, "misattributed"),
        (BROKE, "uncited"),
        ("Geese fly south.", "unsupported"),
        ("Who fed them?", "unchecked"),
    ]
    told = [[(own.number, own.passage.id) for own in one.support] for one in report.sentences]
    assert told == [[(1, "tower")], [(2, "light")], [(3, "storm")], [], []]
    assert [one.score for one in report.sentences] == [1.0, 1.0, 1.0, 0.0, None]
    assert report.sentences[0].support[0].sentence == BUILT
    assert report.sentences[1].support[0].passage.page == 3
    once = dict.fromkeys(("supported", "misattributed", "uncited", "unsupported", "unchecked"), 1)
    assert report.counts.model_dump() == {**once, "contradicted": 0}
    assert report.citation_recall == 0.25
    assert (report.model, report.threshold) == ("shares", 0.9)


def entails(premise: str, hypothesis: str) -> float:
    return float(hypothesis.rstrip(".") in premise)


@pytest.mark.parametrize(
    "sources",
    [[TOWER.text, Document(LIGHT.text)], {1: [Document(TOWER.text)], 2: [LIGHT.text]}],
    ids=["listed", "numbered"],
)
async def test_texts_documents_and_functions_check_a_text(sources: Any) -> None:
    text = f"{BUILT[:-1]} [1]. {KEPT[:-1]} [2]. {BROKE}"
    report = await check(text, sources, entails, retriever=lambda _: [Document(STORM.text)])
    assert [one.verdict for one in report.sentences] == ["supported", "supported", "uncited"]
    assert report.model == "entails"


async def test_what_no_source_can_be_is_told() -> None:
    with pytest.raises(InputError, match="The sources are a single text"):
        await check(BUILT, TOWER.text, entails)
    with pytest.raises(InputError, match="Document 1 is not a passage: it is a int"):
        await check(BUILT, [5], entails)  # type: ignore[list-item]


async def test_each_round_is_scored_in_one_call_and_every_pair_once() -> None:
    entailment = reader()
    text = "It is old [1][2]. Cy Fox built the tower [1][2]. Bo Ray kept the light."
    await check(text, PASSAGES, entailment)
    assert entailment.batches == [5, 2]  # one by one, then two together
    tried = [(pair.premise, pair.hypothesis) for pair in entailment.pairs]
    assert len(tried) == len(set(tried))
    first = [one for one, hypothesis in tried if hypothesis.startswith("Cy")]
    # Both cited passages alone and together; the third passage shares no word.
    assert first == [TOWER.premise, LIGHT.premise, premise([TOWER, LIGHT])]


async def test_passages_that_entail_only_together_are_all_named() -> None:
    both = "Ann Lee built the tower in 1871, and Bo Ray kept the light for thirty years"
    report = await check(f"{both} [2][1].", PASSAGES, reader(1.0))
    [sentence] = report.sentences
    assert sentence.verdict == "unsupported"  # "and" stands nowhere
    report = await check(f"{both} [2][1].", PASSAGES, reader(0.8))
    [sentence] = report.sentences
    assert (sentence.verdict, sentence.citations) == ("supported", (2, 1))
    assert [support.number for support in sentence.support] == [1, 2]


async def test_one_passage_is_preferred_to_several_and_citations_to_others() -> None:
    best = {STORM.premise: 0.99, premise([TOWER, LIGHT]): 0.97, LIGHT.premise: 0.95}
    table = TableEntailment(lambda premise, _: best.get(premise, 0.6))
    storm = ListRetriever({"": [STORM]})
    report = await check("It is old [1][2].", PASSAGES, table, retriever=storm)
    [sentence] = report.sentences
    assert sentence.verdict == "supported"
    assert [support.passage.id for support in sentence.support] == ["light"]
    assert sentence.score == 0.95


@pytest.mark.parametrize(
    ("marks", "citations", "invalid"),
    [("[0]", (0,), (0,)), ("[1–4]", (1, 2, 3, 4), (4,)), ("[1][1]", (1,), ())],
)
async def test_citations_and_those_that_do_not_exist(
    marks: str, citations: tuple[int, ...], invalid: tuple[int, ...]
) -> None:
    report = await check(f"It is old {marks}.", PASSAGES, reader())
    [sentence] = report.sentences
    assert (sentence.citations, sentence.invalid) == (citations, invalid)
    assert report.invalid_citations == invalid


@pytest.mark.parametrize(
    ("text", "unchecked"),
    [
        ("# Ann Lee built the tower.\nShe did.", ["Ann Lee built the tower."]),
        ("It has these parts:\n- A lamp.", ["It has these parts:"]),
        ("它有这些部分：\n\nIt is old.", ["它有这些部分："]),
        ("Is it old [1]?", ["Is it old?"]),
        ("It is old [1]\n\nIt is white.", []),
        ("The tower\nIt is old.", []),
        (f"{BUILT[:-1]} [1].\n{CODE}\n{KEPT[:-1]} [2].", [CODE]),
        (TABLE, ["Year; Event; Source"]),
    ],
)
async def test_what_is_not_checked(text: str, unchecked: list[str]) -> None:
    entailment = reader()
    report = await check(text, PASSAGES, entailment)
    assert [one.text for one in report.sentences if one.verdict == "unchecked"] == unchecked
    assert not {pair.hypothesis for pair in entailment.pairs} & set(unchecked)


@pytest.mark.parametrize(
    ("text", "checked"),
    [
        (
            "> Ann Lee built the tower, and\n> it is white [1].\n>\n> It is old [2].",
            ["Ann Lee built the tower, and it is white. [1]", "It is old. [2]"],
        ),
        (
            "It is old. ([Wiki][1]) It is white ([A][2], [Wiki][1]).\n\n"
            '[1]: https://x.org/a "A"\n[2]: https://x.org/b',
            ["It is old. [1]", "It is white. [2, 1]"],
        ),
        (
            "It is old[1][2]. It is white[2].\n\nCitations:\n[1] https://x.org/a_b\n[2] https://x.org",
            ["It is old. [1, 2]", "It is white. [2]"],
        ),
        (
            "•\tBo Ray kept the light [2]\no\tHe was born in 1840 [1]\no\tHe died [3]",
            ["Bo Ray kept the light [2]", "He was born in 1840 [1]", "He died [3]"],
        ),
        ("# ii.\n\n# 1. Old\n\nIt is old [1].", ["It is old. [1]"]),
        (f"{BUILT[:-1]} [1].\n{CODE}\n{KEPT[:-1]} [2].", [f"{BUILT} [1]", f"{KEPT} [2]"]),
        (
            TABLE,
            [
                "Year: 1871; Event: Ann Lee built it. It is white. [1, 2]",
                "Year: 1902; Event: Who? []",
            ],
        ),
        # The flags of an answer are no part of its sentences.
        (
            "It is old [1]. [unverified] It is white [1]. [contradicted]",
            ["It is old. [1]", "It is white. [1]"],
        ),
    ],
)
async def test_texts_as_people_paste_them(text: str, checked: list[str]) -> None:
    sentences = (await check(text, PASSAGES, reader())).sentences
    found = [one for one in sentences if one.verdict != "unchecked"]
    assert [f"{one.text} {list(one.citations)}" for one in found] == checked
    assert all(one.text for one in sentences)


async def test_what_the_search_finds_in_a_cited_document_is_cited() -> None:
    near = [Passage(id=f"a{i}", text=f"The keeper of the tower lit lamp {i}.") for i in range(6)]
    proof = Passage(id="proof", text="He lit the light at dusk.")
    sources = {1: [*near, proof], 2: [TOWER]}
    entailment = TableEntailment(lambda premise, _: 0.95 if "dusk" in premise else 0.1)
    said, search = "The keeper of the tower lit a lamp [1].", ListRetriever([proof])
    report = await check(said, sources, entailment, retriever=search, k=5)
    [sentence] = report.sentences
    assert sentence.verdict == "supported"
    assert [(own.number, own.passage.id) for own in sentence.support] == [(1, "proof")]


@pytest.mark.parametrize("text", ["", " \n\t", "***", "[1]"])
async def test_no_words_no_sentences_no_pairs(text: str) -> None:
    entailment = reader()
    report = await check(text, PASSAGES, entailment)
    assert (report.sentences, report.citation_recall) == ((), None)
    assert entailment.batches == []


async def test_without_passages_nothing_is_supported() -> None:
    report = await check("It is old [1].", [], reader())
    [sentence] = report.sentences
    assert (sentence.verdict, sentence.score, sentence.invalid) == ("unsupported", None, (1,))


async def test_other_scripts() -> None:
    passage = Passage(id="ja", text="灯台は1871年に建てられた。")
    text = "灯台は1871年に建てられた。[1] Élan né à Québec 🙂 [1]."
    report = await check(text, [passage], reader())
    assert [one.verdict for one in report.sentences] == ["supported", "unsupported"]
    assert report.sentences[1].text == "Élan né à Québec 🙂."


async def test_of_a_number_with_many_passages_the_nearest_are_tried() -> None:
    pages = [Passage(id=f"p{n}", text=f"Page {n} tells of goose number {n}.") for n in range(40)]
    pages[33] = Passage(id="p33", text="The keeper owned a parrot.")
    entailment = reader()
    report = await check("The keeper owned a parrot [2].", {1: [TOWER], 2: pages}, entailment, k=3)
    [sentence] = report.sentences
    assert (sentence.verdict, sentence.support[0].passage.id) == ("supported", "p33")
    # At most three of the number, these together, and three others.
    assert len(entailment.pairs) <= 7


async def test_a_number_without_shared_words_is_tried_all_the_same() -> None:
    pages = [Passage(id=f"p{n}", text=f"Goose {n}.") for n in range(9)]
    table = TableEntailment(lambda premise, _: 1.0 if premise == "Goose 0." else 0.0)
    report = await check("Une oie [1].", {1: pages}, table, k=2)
    assert report.sentences[0].verdict == "supported"


async def test_k_others_are_tried_beside_those_that_are_cited() -> None:
    passages = [Passage(id=f"p{n}", text=f"The tower is old, says {n}.") for n in range(9)]
    unlike = [Passage(id=f"u{n}", text="Geese fly.") for n in range(2)]
    for k, first in ((1, passages[:2]), (2, passages[:2]), (5, passages[:2]), (3, unlike)):
        passages[:2] = first
        entailment = TableEntailment({})
        await check("The tower is old [1][2].", passages, entailment, k=k)
        others = [p.premise for p in passages[2:]]
        assert sum(pair.premise in others for pair in entailment.pairs) == k


async def test_a_retriever_may_find_what_no_number_cites() -> None:
    report = await check(BROKE, [TOWER], reader(), retriever=ListRetriever([STORM]))
    [support] = report.sentences[0].support
    assert (support.number, support.passage) == (None, STORM)


async def test_many_citations_are_not_read_as_one_endless_premise() -> None:
    passages = [Passage(id=f"p{n}", text=f"Line {n}.") for n in range(30)]
    entailment = TableEntailment({})
    await check("It is old [1-30].", passages, entailment)
    assert max(pair.premise.count("Line") for pair in entailment.pairs) == 3
    assert {p.text for p in passages} <= {pair.premise for pair in entailment.pairs}


@pytest.mark.parametrize("cited", ["[1][2]", "[2]"])
async def test_pieces_of_a_document_that_share_its_id_are_told_apart(cited: str) -> None:
    pieces = [Passage(id="doc", text=text) for text in (BROKE, KEPT, BROKE)]
    [sentence] = (await check(f"{KEPT[:-1]} {cited}.", pieces, reader())).sentences
    assert sentence.verdict == "supported"
    assert [(own.number, own.passage.text) for own in sentence.support] == [(2, KEPT)]


async def test_k_must_make_sense() -> None:
    with pytest.raises(InputError, match="0 passages cannot be tried"):
        await check("It is old.", PASSAGES, reader(), k=0)


async def test_a_passage_that_says_otherwise_is_shown() -> None:
    entailment = TableEntailment(lambda text, _: Score(0.1, 0.9 if "Tower" in text else 0.2))
    report = await check("The tower was built by Cy Fox [2].", PASSAGES, entailment)
    [sentence] = report.sentences
    assert (sentence.verdict, sentence.support) == ("contradicted", ())
    assert [one.passage for one in sentence.against] == [TOWER]
    assert report.counts.contradicted == 1
