"""Whether the passages answer is asked before anything is written."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.answerability_verifier import UNSURE, AnswerabilityVerifier
from citeproof.testing import Choice, ListRetriever, ScriptedChatModel, TableEntailment
from citeproof.tools.llm.opening import no_llm
from tests.agents.states import BROKE, KEPT, LIT, A, B, C, D, state


def node(score: Any, found: list[Passage] | None = None, llm: Any = None) -> Any:
    """A verifier whose model scores by a function, or by the first of these words in a text."""

    def scored(text: str, asked: str) -> float:
        if callable(score):
            return float(score(text, asked))
        return next((own for word, own in score.items() if word in text), 0.1)

    retriever = None if found is None else ListRetriever(lambda _: found)
    return AnswerabilityVerifier(llm or no_llm(), retriever, TableEntailment(scored))


def judging(yes: float) -> ScriptedChatModel:
    """A language model that thinks so of every passage."""
    return ScriptedChatModel(lambda _: Choice(Yes=yes, No=1 - yes))


async def test_a_memory_that_answers_stays() -> None:
    verifier = node({"Tower": 0.6})
    expected = {"passages": [A, B, C], "long_term": ["a", "b"], "answerable": True, "doubt": ""}
    assert await verifier(state()) == expected
    assert verifier.answerability.pairs[0].hypothesis == "Who built the tower?"


@pytest.mark.parametrize(
    ("score", "memory", "sure", "after"),
    [
        ({"Storm": 0.9}, "ab", True, "da"),
        ({"Storm": 0.7}, "ab", False, "da"),
        ({"Storm": 0.9, "Keeper": 0.5}, "abc", True, "dca"),
    ],
    ids=[
        "comes into the memory",
        "leaves doubt unless it is sure",
        "stands before what came first",
    ],
)
async def test_what_answers_further_down(
    score: dict[str, float], memory: str, sure: bool, after: str
) -> None:
    update = await node(score, [A, B, C, D])(state(long_term=list(memory)))
    assert (update["answerable"], update["long_term"]) == (True, list(after))
    assert update["doubt"] == ("" if sure else UNSURE)
    assert [passage.id for passage in update["passages"]][: len(after)] == list(after)
    assert len(update["passages"]) == 4


@pytest.mark.parametrize(
    ("sure", "after"),
    [(0.9, ["tower", "lee", "keeper"]), (0.7, ["tower", "keeper", "fish", "lee"])],
)
async def test_beside_a_sure_answer_only_what_may_answer_or_is_named_stays(
    sure: float, after: list[str]
) -> None:
    texts = {
        "tower": "Its builder was Ann Lee (engineer).",
        "keeper": "Bo Ray kept it.",
        "fish": "There is a market.",
        "lee": "She was born in 1840.",
    }
    titles = {"tower": "Tower", "keeper": "Keeper", "fish": "Market", "lee": "Ann Lee (engineer)"}
    given = [Passage(id=one, title=titles[one], text=text) for one, text in texts.items()]
    scores = {"builder": sure, "kept": 0.3, "market": 0.05, "1840": 0.01}
    update = await node(scores)(state(passages=given, long_term=list(texts)))
    assert sorted(update["long_term"]) == sorted(after)
    assert len(update["passages"]) == 4


async def test_each_part_of_a_question_needs_a_sure_answer() -> None:
    def score(text: str, asked: str) -> float:
        return 0.9 if "Lee" in text and "Who" in asked else 0.05

    given = [Passage(id="a", text="Ann Lee built it."), Passage(id="b", text="It was in spring.")]
    asked = state(question="Who built it and when?", passages=given, long_term=["a", "b"])
    assert (await node(score)(asked))["long_term"] == ["a", "b"]


async def test_sure_answers_that_are_not_in_the_memory_do_not_empty_it() -> None:
    scores = {("Lee", "Who"): 0.9, ("spring", "when"): 0.9}

    def score(text: str, asked: str) -> float:
        return next((s for (t, a), s in scores.items() if t in text and a in asked), 0.05)

    others = [Passage(id=f"{n}", text=f"Ships, {n}.") for n in range(9)]
    who, when = Passage(id="who", text="By Ann Lee."), Passage(id="when", text="In spring.")
    given = state(question="Who built it and when?", passages=others[:1], long_term=["0"])
    assert (await node(score, [*others, who, when])(given))["long_term"] == ["0"]


async def test_two_passages_can_answer_together() -> None:
    def score(text: str, _: str) -> float:
        return 0.8 if "Tower" in text and "Light" in text else 0.3

    assert (await node(score)(state()))["answerable"] is True
    doubtful = node(lambda *args: score(*args) - 0.1)
    assert (await doubtful(state()))["answerable"] is False


@pytest.mark.parametrize(
    ("whole", "sentence", "answerable"),
    [(0.3, 0.8, True), (0.6, 0.3, False), (0.05, 0.99, False)],
    ids=["lost among other things", "no sentence says it", "far from it"],
)
async def test_the_likeliest_passage_is_read_sentence_by_sentence(
    whole: float, sentence: float, answerable: bool
) -> None:
    page = Passage(id="p", title="Manual", text="It cools fast. It lasts 9 hours. It has wheels.")
    verifier = node({page.text: whole, "lasts": sentence})
    update = await verifier(state(passages=[page], long_term=["p"]))
    assert update["answerable"] is answerable


@pytest.mark.parametrize(
    "verifier",
    [
        AnswerabilityVerifier(no_llm()),
        AnswerabilityVerifier(no_llm(), answerability=TableEntailment({}), check_answer=False),
    ],
)
async def test_nobody_is_asked_where_nobody_is_to_be(verifier: AnswerabilityVerifier) -> None:
    assert await verifier(state()) == {"answerable": None}


async def test_each_part_of_a_question_brings_its_passage_into_the_memory() -> None:
    def score(text: str, asked: str) -> float:
        answers = ("Tower" in text and "built" in asked) or ("Storm" in text and "broke" in asked)
        return 0.9 if answers else 0.1

    question = "Who built it, and what broke the lamp?"
    update = await node(score, [B, C, A, D])(state(question=question, long_term=["a", "b", "c"]))
    assert set(update["long_term"]) == {"a", "b", "d"}


async def test_the_rest_of_a_list_is_kept_beside_the_memory() -> None:
    first, rest, other = (
        Passage(id=place, title=place, text=f"- {place}", source=source, location=place)
        for place, source in [
            ("items 1-4 of 9", "x"),
            ("items 5-9 of 9", "x"),
            ("item 1 of 9", "y"),
        ]
    )
    found = [A, other, rest, first]
    update = await node({"items 1-4": 0.9}, found)(state(passages=[A], long_term=["a"]))
    assert update["long_term"] == [first.id]
    assert update["passages"] == [first, rest, A]


@pytest.mark.parametrize(
    ("score", "yes", "calls", "answerable", "doubt"),
    [
        (0.4, 0.7, 1, True, False),
        (0.6, 0.3, 1, True, True),
        (0.4, 0.3, 2, False, False),
        (0.6, 0.9, 1, True, False),
        (0.4, 0.8, 1, True, False),
        (0.1, 0.6, 2, False, False),
        (0.1, 0.8, 1, True, True),
        (0.1, 0.95, 1, True, False),
        (0.9, 0.1, 0, True, False),
    ],
)
async def test_the_language_model_is_asked_where_it_is_in_doubt(
    score: float, yes: float, calls: int, answerable: bool, doubt: bool
) -> None:
    judge = judging(yes)
    update = await node({"": score}, llm=judge)(state())
    assert (update["answerable"], bool(update["doubt"])) == (answerable, doubt)
    assert len(judge.calls) == calls


async def test_the_language_model_reads_the_passage_that_the_score_is_of() -> None:
    scores = {"Tower": 0.5, "Light": 0.4, "Storm": 0.45, "Keeper": 0.6}
    judge = judging(0.7)
    update = await node(scores, [A, B, D, C], judge)(state())
    assert update["long_term"] == ["c", "a"]
    assert [KEPT in str(call) for call in judge.calls] == [True]


async def test_the_language_model_reads_what_is_likeliest_after_the_close_reading() -> None:
    page = Passage(id="a", title="Tower", text=f"{BROKE} {KEPT} It is white.")
    judge = judging(0.7)
    await node({page.text: 0.6, LIT: 0.55}, llm=judge)(state(passages=[page, B]))
    assert [LIT in str(call) for call in judge.calls] == [True]


@pytest.mark.parametrize(("place", "read"), [(45, True), (55, False)])
async def test_more_of_what_is_found_is_read_before_anything_is_guessed(
    place: int, read: bool
) -> None:
    others = [Passage(id=f"o{n}", title="Other", text=f"It rains ({n}).") for n in range(60)]
    llm = ScriptedChatModel([]) if read else no_llm()
    verifier = node({"Storm": 0.8}, [*others[:place], D, *others[place:]], llm)
    update = await verifier(state(long_term=["a", "b"]))
    assert (update["answerable"], "d" in update["long_term"]) == (read, read)


async def test_a_guessed_answer_finds_what_the_question_does_not() -> None:
    """In other words than the documents', the model recognizes no answer, but the judge does."""
    guess = "A storm broke the lamp."
    prompts: list[str] = []

    def reply(prompt: str) -> Any:
        prompts.append(prompt)
        if "one sentence" in prompt:
            return guess
        return Choice(Yes=0.8, No=0.2) if BROKE in prompt else Choice(Yes=0.5, No=0.5)

    searched = {"Who built the tower?": [A, B, C], guess: [D, B]}
    verifier = AnswerabilityVerifier(
        ScriptedChatModel(reply),
        ListRetriever(lambda query: searched[query]),
        TableEntailment(lambda *_: 0.05),
    )
    update = await verifier(state())
    assert (update["answerable"], bool(update["doubt"])) == (True, True)
    assert update["long_term"] == ["d", "b"], "what the judge found goes first"
    assert len(prompts) == 4, "the guess, and one passage after the other until one answers"


@pytest.mark.parametrize("yes", [0.7, 0.8, 0.95])
async def test_an_answer_by_the_judges_word_alone_is_looked_for_again(yes: float) -> None:
    """The passage that answers in other words is often far from the question."""
    guess = "A storm broke the lamp."
    scores = {"Tower": 0.4, "Light": 0.2, "Storm": 0.7, "Keeper": 0.1}
    asked: list[str] = []

    def reply(prompt: str) -> Any:
        asked.append(prompt)
        return guess if "one sentence" in prompt else Choice(Yes=yes, No=1 - yes)

    searched = {"Who built the tower?": [A, B, C], guess: [D]}
    model = TableEntailment(lambda text, _: next(s for k, s in scores.items() if k in text))
    verifier = AnswerabilityVerifier(
        ScriptedChatModel(reply), ListRetriever(lambda query: searched[query]), model
    )
    update = await verifier(state())
    assert (update["answerable"], update["doubt"]) == (True, ""), "as at the first look"
    assert "d" in update["long_term"]
    judged_anew = 2 if yes < 0.75 else 1
    assert len(asked) == 2 + judged_anew, "the first look, the guess, and what is not judged yet"


async def test_what_surely_answers_a_guess_needs_no_judge() -> None:
    judge = ScriptedChatModel(lambda _: "The storm.")
    searched = {"Who built the tower?": [A, B]}
    model = TableEntailment(lambda text, _: 0.9 if BROKE in text else 0.1)
    verifier = AnswerabilityVerifier(
        judge, ListRetriever(lambda query: searched.get(query, [D])), model
    )
    update = await verifier(state())
    assert (update["answerable"], update["doubt"]) == (True, "")
    assert "d" in update["long_term"]
    assert len(judge.calls) == 1


async def test_low_scores_leave_the_order_of_the_search() -> None:
    """Scores below a tenth tell nothing about which of two passages answers."""
    scores = {"Tower": 0.01, "Light": 0.02, "Storm": 0.07, "Keeper": 0.09}
    update = await node(scores, [A, B, D, C])(state())
    assert update["long_term"] == ["a", "b"]


async def test_a_judge_that_says_neither_leaves_it_to_the_model() -> None:
    judge = ScriptedChatModel(lambda _: "Perhaps.", logprobs=False)
    assert (await node({"": 0.6}, llm=judge)(state()))["answerable"] is True


@pytest.mark.parametrize(
    ("question", "score", "answerable", "calls"),
    [
        ("Did anybody build it?", 0.6, True, 0),
        ("Did anybody build it?", 0.4, False, 2),
        ("Who built it?", 0.4, False, 2),
    ],
)
async def test_a_yes_or_no_question_is_judged_only_at_the_second_look(
    question: str, score: float, answerable: bool, calls: int
) -> None:
    judge = judging(0.1)
    update = await node({"": score}, llm=judge)(state(question=question))
    assert update["answerable"] is answerable
    assert len(judge.calls) == calls


async def test_no_judge_is_asked_about_a_passage_without_a_name_of_the_question() -> None:
    for question, asks in (("Who built it?", True), ("Who built Pellow Head?", False)):
        judge = judging(0.9)
        await node({"": 0.4}, llm=judge)(state(question=question))
        assert bool(judge.calls) is asks


async def test_what_something_is_is_searched_for_as_a_definition_too() -> None:
    found = ListRetriever({"definition of tower": [D], "tower": [B]})
    model = TableEntailment(lambda text, _: 0.9 if "Storm" in text else 0.1)
    verifier = AnswerabilityVerifier(no_llm(), found, model)
    update = await verifier(state(question="What is a tower?"))
    assert (update["long_term"][0], update["answerable"]) == ("d", True)
    assert found.queries == ["What is a tower?", "definition of tower"]
