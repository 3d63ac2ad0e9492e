"""A question is answered with the list or the sentence of a passage that surely answers it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.answer_quoter import AnswerQuoter
from citeproof.testing import TableEntailment
from citeproof.types import Citation, Claim, Verdict
from tests.agents.states import state

TURN = Passage(
    id="turn",
    title="Rules",
    text="Take turns.\n\nDo two of these.\n- Sail: play a card.\n- Rest: draw a card.",
)
SETUP = Passage(id="setup", title="Setup", text="1. Shuffle the cards.\n2. Deal four to each.")


def asked(question: str = "What can I do on my turn?", **more: Any) -> Any:
    given = {"question": question, "passages": [SETUP, TURN], "long_term": ["setup", "turn"]}
    return state(**{**given, **more})


def answers(score: float = 0.9, text: str = "Sail|Rest") -> TableEntailment:
    """What contains one of the texts answers."""
    return TableEntailment(lambda premise, _: score if re.search(text, premise) else 0.1)


def claim(text: str, sentence: str, number: int, passage: str) -> Claim:
    citation = Citation(passage_id=passage, number=number, sentence=sentence)
    proved = Verdict(status="supported", tier="cited", score=1.0)
    return Claim(text=text, citations=(citation,), verdict=proved)


async def texts(quoter: AnswerQuoter, given: Any) -> list[str]:
    """The texts of the claims that are quoted."""
    update = await quoter(given)
    return [claim.text for claim in update.get("claims", ())]


async def test_the_list_that_answers_is_the_answer() -> None:
    said = ["Do two of these.", "Sail: play a card.", "Rest: draw a card."]
    assert await AnswerQuoter(answers())(asked()) == {
        "claims": [claim(text, text, 2, "turn") for text in said]
    }


async def test_a_list_without_an_introduction_begins_with_its_items() -> None:
    quoter, given = AnswerQuoter(answers(text="Shuffle|Deal")), asked("How do I set up the game?")
    assert await texts(quoter, given) == ["Shuffle the cards.", "Deal four to each."]


@pytest.mark.parametrize(
    "given",
    [
        asked("What can I do on my turn, and what can I do later?"),
        asked(passages=[Passage(id="a", text="Do two things.")], long_term=["a"]),
        asked(
            passages=[Passage(id="a", text="- Sail: " + "far " * 150 + "\n- Rest")], long_term=["a"]
        ),
        asked(
            passages=[Passage(id="a", text="\n".join(f"- Sail {n}" for n in range(16)))],
            long_term=["a"],
        ),
        asked(passages=[Passage(id="a", text="- Sail   7\n- Rest   8")], long_term=["a"]),
    ],
)
async def test_no_other_list_is_quoted(given: Any) -> None:
    assert await AnswerQuoter(answers())(given) == {}


@pytest.mark.parametrize(
    ("title", "text", "score", "quoted"),
    [
        ("Rules", TURN.text, 0.74, False),
        ("Rules", TURN.text, 0.75, True),
        ("Rules – Your turn", TURN.text, 0.49, False),
        ("Rules – Your turn", TURN.text, 0.5, True),
        ("My turn – Rules", TURN.text, 0.74, False),
        ("Rules – Your turn", "Do two:\n- Sail: play.\n- Rest.", 0.6, True),
        ("Rules – Your turn", "1. Sail: play.\n2. Rest.", 0.6, True),
        ("Rules – Your turn", "- Sail: play.\n- Rest.", 0.6, False),
        ("Rules – Your turn", "- Sail: play.\n- Rest.", 0.75, True),
    ],
)
async def test_a_list_not_named_in_the_question_and_bullets_alone_must_surely_answer(
    title: str, text: str, score: float, quoted: bool
) -> None:
    passages = [SETUP, TURN.model_copy(update={"title": title, "text": text})]
    given = asked(passages=passages)
    assert bool(await AnswerQuoter(answers(score))(given)) is quoted


@pytest.mark.parametrize(
    ("title", "text", "score", "quoted"),
    [
        ("Rules", "- Sail: play a card.\n- Rest: draw.", 0.9, ["Sail: play a card."]),
        (
            "Rules – Your turn",
            "Do two of these:\n- Sail: play a card.\n- Rest.",
            0.9,
            ["Sail: play a card."],
        ),
        ("Rules", "1. Sail: play a card.\n2. Rest.", 0.9, ["Sail: play a card."]),
        (
            "Rules – Your turn",
            "1. Sail: play a card.\n2. Rest.",
            0.9,
            ["Sail: play a card.", "Rest."],
        ),
        (
            "Rules – Your turn",
            "Do these:\n- Sail: play.\n- Rest.",
            0.8,
            ["Do these:", "Sail: play.", "Rest."],
        ),
        ("Rules", "- Sail: play a card.\n- Rest.", 0.8, []),
    ],
    ids=["bullets", "introduced", "numbered", "steps", "introduced, unsure", "unsure"],
)
async def test_a_single_item_that_answers_is_quoted_alone_except_from_steps(
    title: str, text: str, score: float, quoted: list[str]
) -> None:
    passages = [Passage(id="turn", title=title, text=text)]
    given = asked(passages=passages, long_term=["turn"])
    assert await texts(AnswerQuoter(answers(score, "Sail")), given) == quoted


@pytest.mark.parametrize(
    ("lead", "score", "quoted"),
    [("On each turn, do both:", 0.85, True), ("On each turn:", 0.84, False), ("Do:", 0.9, False)],
)
async def test_a_word_of_the_title_counts_in_the_lead_of_a_list_that_surely_answers(
    lead: str, score: float, quoted: bool
) -> None:
    turns = Passage(id="turn", title="Turns", text=f"{lead}\n1. Sail.\n2. Rest.")
    given = asked(passages=[turns], long_term=["turn"])
    assert bool(await AnswerQuoter(answers(score, "Sail[^$]*Rest"))(given)) is quoted


async def test_bullets_introduced_by_their_purpose_are_steps() -> None:
    steps = ["To sail:", "Play a card.", "Move your ship."]
    text = "\n- ".join(steps)
    passages = [Passage(id="turn", title="Rules – Sailing", text=text)]
    given = asked("How do I sail my ship?", passages=passages, long_term=["turn"])
    assert await texts(AnswerQuoter(answers(0.9, "Play a card")), given) == steps


async def test_a_list_of_two_passages_is_quoted_from_both() -> None:
    first, second = "Do all:\n- Sail: play.\n- Rest.", "- Sail: draw."
    passages = [
        Passage(id="b", title="T", text=second, location="item 3 of 3", start=30, end=43),
        Passage(id="a", title="T", text=first, location="items 1-2 of 3", start=0, end=29),
    ]
    for memory in (["b", "a"], ["a"], ["b"]):
        update = await AnswerQuoter(answers())(asked(passages=passages, long_term=memory))
        cited = [(one.text, one.citations[0].number) for one in update["claims"]]
        assert cited == [("Do all:", 2), ("Sail: play.", 2), ("Rest.", 2), ("Sail: draw.", 1)]
    for given in (
        asked(passages=passages[1:], long_term=["a"]),
        asked(passages=[*passages, SETUP], long_term=["setup"]),
    ):
        assert await AnswerQuoter(answers())(given) == {}


BEGINNING = Passage(
    id="beginning",
    title="Rules",
    text="The first turn\nThe youngest player begins: Mia.\nThen all play as follows:\nShe wins.",
)


def who(question: str = "Who begins?") -> Any:
    return asked(question, passages=[SETUP, BEGINNING], long_term=["setup", "beginning"])


@pytest.mark.parametrize("question", ["Who begins?", "Does the oldest player begin?"])
async def test_the_sentence_that_surely_answers_is_the_answer(question: str) -> None:
    said = "The youngest player begins: Mia."
    assert await AnswerQuoter(answers(0.85, "youngest"))(who(question)) == {
        "claims": [claim(said, said, 2, "beginning")]
    }


@pytest.mark.parametrize(
    ("quoter", "question"),
    [
        (AnswerQuoter(answers(0.84, "youngest")), "Who begins?"),
        (AnswerQuoter(answers(1.0, "youngest"), quote_above=1.0), "Who begins?"),
        (AnswerQuoter(answers(text="youngest"), form="list"), "Who begins?"),
        (
            AnswerQuoter(TableEntailment(lambda premise, _: float(premise.endswith("turn")))),
            "Who begins?",
        ),
        (AnswerQuoter(answers(text="follows")), "Who begins?"),
        (AnswerQuoter(answers(text="youngest")), "Why does Mia begin?"),
        (AnswerQuoter(answers(text="youngest")), "How does beginning differ from playing?"),
        (AnswerQuoter(answers(text="youngest")), "How many players begin?"),
        (AnswerQuoter(answers(text="youngest")), "When do the players begin?"),
        (AnswerQuoter(), "Who begins?"),
    ],
    ids=[
        "unsure",
        "off",
        "a list",
        "a heading",
        "an announcement",
        "why",
        "a comparison",
        "no number",
        "no time",
        "no model",
    ],
)
async def test_no_other_sentence_is_quoted(quoter: AnswerQuoter, question: str) -> None:
    assert await quoter(who(question)) == {}


async def test_a_sentence_that_refers_to_its_heading_is_quoted_only_after_writing() -> None:
    list_ = Passage(id="a", title="Lists – curl-news", text="This list only gets our news.")
    given = asked("Which list gets news?", passages=[list_], long_term=["a"])
    assert await AnswerQuoter(answers(text="news"))(given) == {}
    after = AnswerQuoter(answers(text="news"), after_writing=True)
    assert await texts(after, given) == [list_.text]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("Laptops are replaced every year.", False), ("Ask Mia in IT for it.", True)],
)
async def test_who_is_answered_by_a_person(text: str, quoted: bool) -> None:
    passage = Passage(id="it", title="Handbook", text=text)
    given = asked("Who replaces my laptop?", passages=[passage], long_term=["it"])
    assert bool(await AnswerQuoter(answers(text=text))(given)) is quoted


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Deal these to all players, as you do with the tokens.", False),
        ("A token is a wooden disc.", True),
    ],
)
async def test_what_a_thing_is_is_not_answered_by_a_mention(text: str, quoted: bool) -> None:
    passage = Passage(id="tokens", title="Rules", text=text)
    for question in ("What is a token?", "What are tokens?"):
        given = asked(question, passages=[passage], long_term=["tokens"])
        assert bool(await AnswerQuoter(answers(text=text))(given)) is quoted


@pytest.mark.parametrize(
    ("question", "listed", "quoted"),
    [
        ("Which tools do I need?", 0.49, True),
        ("Which tools do I need?", 0.5, False),
        ("How do I build it?", 0.49, False),
    ],
    ids=["no list answers", "a list may answer", "steps"],
)
async def test_a_question_for_several_things_is_answered_by_a_sentence_if_no_list_answers(
    question: str, listed: float, quoted: bool
) -> None:
    def scores(premise: str, _: str) -> float:
        return listed if "need Go" not in premise and "ui" in premise else 0.9

    text = "You need Go and Node to build it.\n\nThe folders:\n\n- cmd: programs.\n- ui: pages.\n"
    passage = Passage(id="build", title="Build", text=text)
    given = asked(question, passages=[passage], long_term=["build"])
    found = await AnswerQuoter(TableEntailment(scores))(given)
    assert [claim.text for claim in found.get("claims", ())] == (
        ["You need Go and Node to build it."] if quoted else []
    )


MIA, SHE = "Mia begins the first turn.", "She is the youngest of all."
AGAIN = "The first turn is Mia's."


@pytest.mark.parametrize(("alone", "quoted"), [(0.85, MIA), (0.84, f"{MIA} {SHE}")])
async def test_a_quote_is_no_longer_than_it_must_be(alone: float, quoted: str) -> None:
    def scores(premise: str, _: str) -> float:
        return 0.9 if SHE in premise else alone

    passage = Passage(id="mia", title="Rules", text=f"{MIA} {SHE}")
    given = asked("Who begins?", passages=[passage], long_term=["mia"])
    assert await texts(AnswerQuoter(TableEntailment(scores)), given) == [quoted]


@pytest.mark.parametrize(
    ("title", "text", "score", "quoted"),
    [
        ("Other", "The oldest player begins: Bo.", 0.74, True),
        ("Other", "The oldest player begins: Bo.", 0.75, False),
        ("Other", "The youngest player begins.", 0.75, True),
        ("Other", "In 1990, the game was won by Mia, who also began.", 0.75, True),
        ("Rules – Setup", "The oldest player begins: Bo.", 0.89, True),
    ],
)
async def test_another_answer_in_another_document_leaves_the_question_to_the_writer(
    title: str, text: str, score: float, quoted: bool
) -> None:
    def scores(premise: str, _: str) -> float:
        return 0.9 if "Mia." in premise else score

    other = Passage(id="other", title=title, text=text)
    given = asked("Who begins?", passages=[other, BEGINNING], long_term=["other", "beginning"])
    assert bool(await AnswerQuoter(TableEntailment(scores))(given)) is quoted


@pytest.mark.parametrize(
    ("title", "sources", "quoted"),
    [
        ("", ("document 1", "document 2"), False),
        ("README", ("a/README.md", "b/README.md"), False),
        ("", ("", ""), False),
        ("", ("rules.txt", "rules.txt"), True),
    ],
)
async def test_documents_without_a_title_of_their_own_are_told_apart_by_their_sources(
    title: str, sources: tuple[str, str], quoted: bool
) -> None:
    texts = ("The youngest player begins: Mia.", "The oldest player begins: Bo.")
    passages = [
        Passage(id=text, title=title, text=text, source=source)
        for text, source in zip(texts, sources, strict=True)
    ]
    given = asked("Who begins?", passages=passages, long_term=list(texts))
    assert bool(await AnswerQuoter(answers(text="begins"))(given)) is quoted


async def test_a_sentence_on_another_thing_is_no_rival() -> None:
    skat, halma = BEGINNING.model_copy(update={"title": "Skat"}), "The oldest player begins: Bo."
    other = Passage(id="other", title="Halma", text=halma)
    given = asked("Who begins in Skat?", passages=[other, skat], long_term=["other", "beginning"])
    scores = TableEntailment(lambda premise, _: 0.9 if "Mia." in premise else 0.89)
    assert await texts(AnswerQuoter(scores), given) == ["The youngest player begins: Mia."]


@pytest.mark.parametrize(
    ("longer", "quoted"), [(0.90, AGAIN), (0.93, AGAIN), (0.94, f"{MIA} {SHE}")]
)
async def test_of_sentences_that_answer_as_surely_one_without_context_is_quoted(
    longer: float, quoted: str
) -> None:
    passages = [Passage(id=one[:4], title="Rules", text=one) for one in (f"{MIA} {SHE}", AGAIN)]
    given = asked("Who begins?", passages=passages, long_term=[one.id for one in passages])
    scores = {f"{MIA} {SHE}": longer, AGAIN: 0.9}
    entailment = TableEntailment(lambda premise, _: scores.get(premise.rpartition("\n")[2], 0.1))
    assert await texts(AnswerQuoter(entailment), given) == [quoted]


async def test_how_many_is_answered_by_a_number_of_what_is_counted() -> None:
    rules = Passage(id="rules", text="A card shows up to 5 signs. Each player gets 6 cards.")
    given = asked("How many cards does each get?", passages=[rules], long_term=["rules"])
    quoter = AnswerQuoter(answers(text="."))
    assert await texts(quoter, given) == ["Each player gets 6 cards."]


async def test_a_sentence_must_answer_each_part_of_the_question() -> None:
    def scores(premise: str, hypothesis: str) -> float:
        return 0.9 if "Mia" in premise and "begins" in hypothesis else 0.1

    both = who("Who begins, and what does she play?")
    assert await AnswerQuoter(TableEntailment(scores))(both) == {}
    assert await AnswerQuoter(answers(0.9, "Mia"))(both) != {}


@pytest.mark.parametrize(
    ("score", "question", "quoted"),
    [
        (0.38, "Who begins?", True),
        (0.37, "Who begins?", False),
        (0.38, "Does the youngest begin?", True),
        (0.38, "Why does Mia begin?", False),
        (0.38, "What are the players that begin?", True),
        (0.38, "How many players begin?", False),
    ],
)
async def test_after_writing_the_likeliest_sentence_is_quoted(
    score: float, question: str, quoted: bool
) -> None:
    quoter = AnswerQuoter(answers(score, "youngest"), after_writing=True)
    expected = ["The youngest player begins: Mia."] if quoted else []
    assert await texts(quoter, who(question)) == expected


@pytest.mark.parametrize(("whole", "quoted"), [(0.6, True), (0.4, False)])
async def test_the_passage_of_a_quote_answers_as_a_whole(whole: float, quoted: bool) -> None:
    page = Passage(id="a", title="Lamp", text="It burns oil. The lamp was lit in 1871. It is red.")
    model = TableEntailment(
        lambda text, _: whole if page.text in text else 0.95 if "1871" in text else 0.1
    )
    given = asked("When was the lamp lit?", passages=[page], long_term=["a"])
    assert await texts(AnswerQuoter(model), given) == ["The lamp was lit in 1871."] * quoted
    after = AnswerQuoter(model, after_writing=True)
    assert await texts(after, given) == ["The lamp was lit in 1871."]


ANN, BOB, YES = "Ann Lee lit it.", "Bob Ray paid Ann for it.", "Yes, Bob Ray paid for the oil."


@pytest.mark.parametrize(
    ("question", "alone", "quoted"),
    [
        ("Who lit the lamp?", {ANN: 0.9, BOB: 0.2}, ANN),
        ("Who lit the lamp?", {ANN: 0.2, BOB: 0.9}, BOB),
        ("Who lit the lamp?", {ANN: 0.88, BOB: 0.9}, ANN),
        ("Who lit the lamp?", {ANN: 0.3, BOB: 0.4}, ANN),
        ("Who lit the lamp?", {}, ""),
        ("Did Bob pay for it?", {ANN: 0.9}, YES),
    ],
)
async def test_below_a_heading_that_asks_the_question_the_sentence_itself_must_answer(
    question: str, alone: dict[str, float], quoted: str
) -> None:
    passage = Passage(id="p", title="FAQ – Who lit the lamp?", text=f"{ANN} {BOB} {YES}")
    given = asked(question, passages=[passage], long_term=["p"])
    entailment = TableEntailment(
        lambda text, _: 0.95 if "–" in text else alone.get(text.rpartition("\n")[2], 0.1)
    )
    assert await texts(AnswerQuoter(entailment), given) == ([quoted] if quoted else [])


@pytest.mark.parametrize(("heading", "quoted"), [(0.8, []), (0.7, [ANN])])
async def test_a_sentence_may_need_a_heading_that_does_not_answer_by_itself(
    heading: float, quoted: list[str]
) -> None:
    passage = Passage(id="p", title="Tower – The lamp", text=ANN)
    given = asked("Who lit the lamp?", passages=[passage], long_term=["p"])
    scores = {passage.premise: 0.95, "Title: Tower – The lamp\n": heading}
    entailment = TableEntailment(lambda text, _: scores.get(text, 0.1))
    assert await texts(AnswerQuoter(entailment), given) == quoted


async def test_neither_a_heading_nor_a_question_is_quoted() -> None:
    passage = Passage(id="p", title="FAQ", text=f"# Who lit the lamp?\n\nWho knows it? {ANN}")
    given = asked("Who lit the lamp?", passages=[passage], long_term=["p"])
    entailment = TableEntailment(lambda text, _: 0.9 if "Ann" in text else 0.95)
    assert await texts(AnswerQuoter(entailment), given) == [ANN]
