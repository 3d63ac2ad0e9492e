"""Which claims answer a question."""

from __future__ import annotations

import pytest

from citeproof.testing import TableEntailment, passage
from citeproof.tools.questions.answering import find_answered, quote_nearest
from citeproof.types import Citation, Claim, Passage, Verdict

SENTENCE = "In 1950 Noble made Kintner president."
UNTITLED = Passage(id="a", text=SENTENCE)
ABC = Passage(id="a", title="ABC", text=SENTENCE)


def claim(text: str, status: str = "supported") -> Claim:
    citation = Citation(passage_id="a", number=1, sentence=SENTENCE)
    return Claim.model_validate(
        {"text": text, "citations": (citation,), "verdict": Verdict(status=status)}
    )


async def answers(
    model: TableEntailment, *claims: Claim, question: str = "Who?", source: Passage = UNTITLED
) -> tuple[bool, bool, bool]:
    """Whether proved claims, failed claims and claims that come close answer."""
    [proved], [failed], [likely] = await find_answered(model, [question], claims, {"a": source})
    return proved, failed, likely


@pytest.mark.parametrize(
    ("of_claim", "of_sentence", "answered"),
    [(0.6, 0.1, True), (0.3, 0.5, True), (0.3, 0.4, False), (0.2, 0.9, False)],
)
async def test_the_sentence_that_proves_may_complete_a_claim(
    of_claim: float, of_sentence: float, answered: bool
) -> None:
    model = TableEntailment(lambda text, _: of_sentence if SENTENCE in text else of_claim)
    found = await answers(model, claim("It was Kintner."), source=ABC)
    assert found[:2] == (answered, False)
    assert model.pairs[0].premise == "Title: ABC\nIt was Kintner."


async def test_a_claim_is_read_below_the_heading_of_its_sentence() -> None:
    model = TableEntailment({})
    source = Passage(id="a", title="ABC", text=f"Early years\n\n{SENTENCE}\n\nLater\n\nIt grew.")
    await answers(model, claim("It was Kintner."), source=source)
    assert model.pairs[0].premise == "Title: ABC\nEarly years\nIt was Kintner."


async def test_claims_that_answer_together_are_told_apart() -> None:
    together = "Do both: Sail; Rest; They end."
    model = TableEntailment(lambda text, _: 0.6 if together in text else 0.1)
    assert (await answers(model, *map(claim, ("Do both:", "Sail", "Rest", "They end."))))[0]


@pytest.mark.parametrize(("of_both", "answered"), [(0.74, False), (0.75, True)])
async def test_claim_and_sentence_may_surely_answer_together(
    of_both: float, answered: bool
) -> None:
    both = f"{SENTENCE}\nIt was Kintner."
    model = TableEntailment(lambda text, _: of_both if both in text else 0.3)
    assert (await answers(model, claim("It was Kintner.")))[:2] == (answered, False)


@pytest.mark.parametrize(
    ("said", "answered"), [("Noble made some.", False), ("Noble made two.", True)]
)
async def test_how_many_needs_a_number(said: str, answered: bool) -> None:
    model = TableEntailment(lambda *_: 0.9)
    question = "How many presidents did Noble make in 1950?"
    assert (await answers(model, claim(said), question=question))[0] is answered


async def test_the_sentence_behind_a_claim_that_failed_answers_nothing() -> None:
    model = TableEntailment(lambda text, _: 0.9 if SENTENCE in text else 0.3)
    assert await answers(model, claim("It was Noble.", "unsupported")) == (False, False, False)


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("Is subletting allowed?", True),
        ("Can I sublet it?", True),
        ("Is smoking allowed in the flat?", False),
        ("Who allows subletting?", False),
        ("Is subletting in Leeds allowed?", False),
    ],
)
async def test_a_claim_settles_a_question_for_yes_or_no_by_its_words(
    question: str, answered: bool
) -> None:
    said = claim("Subletting is forbidden.")
    found = await answers(TableEntailment({}), said, question=question)
    assert found[:2] == (answered, False)


@pytest.mark.parametrize(
    ("question", "score", "likely"),
    [("Who?", 0.24, False), ("Who?", 0.25, True), ("How many did he make?", 0.4, False)],
)
async def test_a_claim_that_comes_close_likely_answers(
    question: str, score: float, likely: bool
) -> None:
    model = TableEntailment(lambda *_: score)
    found = await answers(model, claim("It was Kintner."), question=question)
    assert found == (False, False, likely)


KEPT = passage("Every change is pushed. The snapshots are kept for 20 days.", id="kept")
MADE = passage("Tarballs are kept online. They are made there.", id="made")
HEADING = passage("Tarballs", id="heading")


async def test_of_each_nearest_passage_the_likeliest_sentence_is_quoted() -> None:
    table = {"pushed": 0.4, "20 days": 0.2, "online": 0.3, "made": 0.1}
    model = TableEntailment(lambda text, _: max(s for part, s in table.items() if part in text))
    passages = [HEADING, MADE, KEPT]
    near = await quote_nearest(model, "Where are tarballs kept?", passages)
    assert [(one.passage.id, one.sentence) for one in near] == [
        ("heading", "Tarballs"),
        ("made", "Tarballs are kept online."),
        ("kept", "Every change is pushed."),
    ]
    near = await quote_nearest(model, "For how long are tarballs kept?", passages)
    assert near[2].sentence == "The snapshots are kept for 20 days.", "the other tells no time"


async def test_without_a_model_the_nearest_sentences_have_the_words_of_the_question() -> None:
    near = await quote_nearest(None, "For how long are tarballs kept online?", [KEPT, MADE])
    assert [one.sentence for one in near] == [
        "The snapshots are kept for 20 days.",
        "Tarballs are kept online.",
    ]


async def test_another_claims_year_does_not_tell_how_strong() -> None:
    proved = Verdict(status="supported")
    said = "Ann is the brewer since 2011.", "The stout is the strongest beer."
    claims = [Claim(text=text, verdict=proved) for text in said]
    parts = ["Who is the brewer?", "How strong is the stout?"]
    model = TableEntailment(
        lambda text, asked: 0.9 if ("stout" if "stout" in asked else "Ann") in text else 0.1
    )
    answered = await find_answered(model, parts, claims, {})
    assert answered.proved == [True, False]


@pytest.mark.parametrize(("cited", "proved"), [(0.04, False), (0.06, True)])
async def test_a_claim_from_a_passage_about_something_else_only_may_answer(
    cited: float, proved: bool
) -> None:
    """The claim has the words of the question, and its passage has not."""
    source = Passage(id="a", title="Disk", text="It is full. Delete some files. It is slow.")
    citation = Citation(passage_id="a", number=1, sentence="Delete some files.")
    verdict = Verdict(status="supported", score=0.9)
    claim = Claim(text="To test it, delete some files.", citations=(citation,), verdict=verdict)
    model = TableEntailment(
        lambda text, _: cited if source.text in text else 0.9 if "To test" in text else 0.1
    )
    found = await find_answered(model, ["How do I test it?"], [claim], {"a": source})
    assert (found.proved, found.likely) == ([proved], [True])
