"""A claim whose proof is in doubt gives way to the words of its passage."""

from __future__ import annotations

import re
from typing import Any

import pytest

from citeproof import Passage
from citeproof.agents.quoter import QUOTED, Quoter
from citeproof.state import Draft
from citeproof.testing import TableEntailment
from citeproof.types import Claim, Verdict
from tests.agents.states import state

SENATE = "The President negotiates treaties, but the Senate ratifies them."
PASSAGE = Passage(
    id="a",
    title="Treaties",
    text=f"Treaties are contracts of states. {SENATE} In 1920 it refused the Treaty of Versailles.",
)
CLAIM = "The President ratifies treaties."


def in_doubt(
    text: str = CLAIM, score: float = 0.74, passage: Passage = PASSAGE, **more: Any
) -> Any:
    verdict = Verdict(status="supported", tier="cited", score=score)
    draft = Draft(text=text, cited=(passage.id,), verdict=verdict)
    given = {"question": "Who ratifies treaties?", "passages": [passage], "long_term": ["a"]}
    return state(**{"draft": draft, **given, **more})


def answers(*sentences: str) -> TableEntailment:
    """A model that finds an answer in these, and nowhere else."""
    return TableEntailment(
        lambda premise, _: 0.9 if any(one in premise for one in sentences) else 0.1
    )


def failed(score: float, status: Any = "unsupported") -> Verdict:
    return Verdict(status=status, tier="memory", score=score, trials=2)


def unproved(text: str, score: float, **more: Any) -> Any:
    """A claim that failed its proof."""
    return in_doubt(draft=Draft(text=text, cited=("a",), verdict=failed(score)), **more)


async def quote(given: Any, *sentences: str, **parameters: Any) -> Draft | None:
    update = await Quoter(answers(*sentences or [SENATE]), **parameters)(given)
    return update.get("draft")


async def text_of(given: Any, *sentences: str, model: Any = None, **parameters: Any) -> str | None:
    """The text of the quote; None if the claim stays."""
    judge = model or answers(*sentences or [SENATE])
    draft = (await Quoter(judge, **parameters)(given)).get("draft")
    return draft.text if draft else None


async def test_a_sentence_without_a_number_does_not_tell_how_many() -> None:
    assert await quote(in_doubt(question="How many treaties did they ratify?")) is None


async def test_a_claim_in_doubt_becomes_the_sentence_that_answers() -> None:
    draft = await quote(in_doubt())
    assert draft is not None
    assert (draft.text, draft.cited) == (SENATE, ("a",))
    assert draft.verdict == Verdict(status="supported", tier="cited", score=1.0, reason=QUOTED)


@pytest.mark.parametrize(
    "change",
    [
        {"draft": None},
        {"draft": Draft(text=CLAIM, cited=("a",))},
        {"draft": Draft(text=CLAIM, verdict=Verdict(status="supported", score=0.7))},
        {"draft": Draft(text=CLAIM, cited=("gone",), verdict=failed(0.45))},
    ],
)
async def test_nothing_else_is_quoted(change: Any) -> None:
    assert await quote(in_doubt(**change)) is None


@pytest.mark.parametrize("verdict", [in_doubt()["draft"].verdict, failed(0.45)])
async def test_what_a_person_wrote_stays(verdict: Verdict) -> None:
    draft = Draft(text=CLAIM, cited=("a",), verdict=verdict)
    assert await quote(in_doubt(draft=draft))
    assert await quote(in_doubt(draft=draft.model_copy(update={"edited": True}))) is None


PACS = "Since it runs no scripts, the tool does not support PAC files."
BROWSERS = "A PAC file says to browsers when not to use a proxy."


async def test_a_part_of_a_sentence_gives_way_to_that_sentence_alone() -> None:
    passage = Passage(id="a", title="PAC", text=f"{BROWSERS} {PACS}")
    asked: Any = {"passage": passage, "question": "May the tool read a PAC file?"}
    assert (
        await text_of(in_doubt("The tool does not support PAC files.", **asked), BROWSERS) == PACS
    )


async def test_a_quote_is_not_about_a_claim_for_a_not_in_both() -> None:
    passage = Passage(id="a", title="PAC", text=f"{BROWSERS} {PACS}")
    asked: Any = {"passage": passage, "question": "May the tool read a PAC file?"}
    answering = TableEntailment(lambda premise, _: 0.6 if BROWSERS in premise else 0.1)
    claim = in_doubt("PAC files the tool does not support.", **asked)
    assert await Quoter(answering)(claim) == {}


async def test_a_contradicted_claim_becomes_what_the_passage_says() -> None:
    verdict = failed(0.5, "contradicted")
    draft = await quote(
        in_doubt(draft=Draft(text=CLAIM, cited=("a",), verdict=verdict, against=("a",)))
    )
    assert draft is not None
    assert (draft.text, draft.against) == (SENATE, ())


async def test_a_claim_that_was_nearly_proved_becomes_the_sentence_that_answers() -> None:
    draft = await quote(unproved(CLAIM, 0.45))
    expected = Verdict(status="supported", tier="cited", score=1.0, trials=2, reason=QUOTED)
    assert draft == Draft(text=SENATE, cited=("a",), verdict=expected)


@pytest.mark.parametrize(
    "given",
    [
        unproved(CLAIM, 0.1),
        in_doubt("It refused the Treaty of Versailles in 1920."),
    ],
    ids=["a claim that was far from proved", "a claim with which it shares nothing"],
)
@pytest.mark.parametrize(("answer", "quoted"), [(0.74, False), (0.75, True)])
async def test_only_a_sentence_that_surely_answers_replaces(
    answer: float, quoted: bool, given: Any
) -> None:
    model = TableEntailment(lambda text, _: answer if text.endswith(f"\n{SENATE}") else 0.1)
    assert await text_of(given, model=model) == (SENATE if quoted else None)


@pytest.mark.parametrize(("score", "quoted"), [(0.5, True), (0.49, False)])
async def test_a_far_claim_gives_way_to_a_sentence_with_its_option_that_answers(
    score: float, quoted: bool
) -> None:
    said = "With `--connect-timeout` you tell curl the longest time."
    passage = Passage(id="a", title="Timeout", text=f"{said}\n\ncurl --connect-timeout 9 a b")
    claim = "To give up after 3 seconds, use `--connect-timeout` with a value of 3."
    given = unproved(claim, 0.37, passage=passage, question="How do I limit the time?")
    model = TableEntailment(lambda premise, _: score if said in premise else 0.7)
    assert await text_of(given, model=model) == (said if quoted else None)


async def test_the_passage_that_has_the_option_of_the_claim_is_quoted() -> None:
    said = "To prefer multiplexing, set the `CURLOPT_PIPEWAIT` option."
    other = Passage(id="b", title="Multiplexing", text=said)
    memory = {"passages": [PASSAGE, other], "long_term": ["a", "b"]}
    given = unproved("Set `CURLOPT_PIPEWAIT` to hold it back.", 0.2, **memory)
    quoted = await quote(given, said)
    assert quoted is not None
    assert (quoted.text, quoted.cited) == (said, ("b",))


async def test_nothing_unrelated_replaces_a_claim_that_was_far_from_proved() -> None:
    assert await quote(unproved("In 1920 it met in Paris.", 0.44)) is None


PORT = "The default port is 4532 for rigctld and 4533 for rotctld."
PORTS = Passage(id="a", title="Radios", text=f"Some radios have 4533 channels. {PORT}")


@pytest.mark.parametrize(
    ("said", "score", "quoted"),
    [
        ("The rotator daemon listens on 4533.", 0.3, True),
        ("The rotator daemon listens on 4533.", 0.29, False),
        ("The rotator daemon listens on 4534.", 0.49, False),
        ("The rotator daemon listens on a port.", 0.49, False),
    ],
)
async def test_a_failed_claim_gives_way_to_a_sentence_with_its_numbers(
    said: str, score: float, quoted: bool
) -> None:
    model = TableEntailment(lambda text, _: score if text.endswith(PORT) else 0.1)
    asked = "On which port does the rotator daemon listen?"
    given = unproved(said, 0.2, question=asked, passages=[PORTS])
    assert await text_of(given, model=model) == (PORT if quoted else None)


ROW = "Treatment: Vaccination; Dog: €62; Cat: €55"
PRICES = Passage(id="a", title="Prices", text=f"Treatment: Consultation; Dog: €38; Cat: €34\n{ROW}")


@pytest.mark.parametrize(("answer", "quoted"), [(0.49, False), (0.5, True)])
async def test_a_failed_claim_from_the_wrong_row_becomes_the_row_that_answers(
    answer: float, quoted: bool
) -> None:
    model = TableEntailment(lambda text, _: answer if text.endswith(ROW) else 0.2)
    asked = "What does it cost to vaccinate a cat?"
    given = unproved("Vaccinating a cat costs €34.", 0.1, question=asked, passages=[PRICES])
    assert await text_of(given, model=model) == (ROW if quoted else None)


@pytest.mark.parametrize(("score", "quoted"), [(0.89, True), (0.9, False)])
async def test_what_is_surely_proved_stays(score: float, quoted: bool) -> None:
    assert (await quote(in_doubt(score=score)) is not None) is quoted


@pytest.mark.parametrize(
    ("question", "score", "quoted"),
    [
        ("How do I ratify a treaty?", 0.71, False),
        ("How do I ratify a treaty?", 0.69, True),
        ("What does ratifying a treaty take?", 0.71, True),
    ],
)
async def test_a_claim_that_tells_how_gives_way_at_a_lower_score(
    question: str, score: float, quoted: bool
) -> None:
    claim = "To ratify a treaty, the President asks the Senate."
    assert (await quote(in_doubt(claim, score, question=question)) is not None) == quoted


async def test_a_sentence_is_read_below_its_heading() -> None:
    passage = Passage(id="a", title="Clinic", text=f"It is big.\n\nAt night\n\n{SENATE}")
    model = TableEntailment(lambda text, _: 0.9 if f"\nAt night\n{SENATE}" in text else 0.1)
    assert await text_of(in_doubt(passage=passage), model=model) == SENATE


async def test_the_limit_is_a_parameter() -> None:
    assert await quote(in_doubt(score=0.74), quote_below=0.7) is None
    assert await quote(in_doubt(score=0.95), quote_below=1.0) is not None


async def test_a_sentence_that_does_not_answer_is_not_quoted() -> None:
    assert await quote(in_doubt(), "nothing of this") is None
    assert await quote(in_doubt(), "nothing of this", check_answer=False)


async def test_without_a_model_of_answers_the_nearest_sentence_is_quoted() -> None:
    draft = (await Quoter()(in_doubt())).get("draft")
    assert draft is not None
    assert draft.text == SENATE


async def test_the_sentence_with_the_names_and_numbers_of_the_claim_goes_first() -> None:
    claim = "The Senate refused to ratify the Treaty of Versailles in 1920."
    quoted = await text_of(in_doubt(claim), SENATE, "In 1920")
    assert quoted == "In 1920 it refused the Treaty of Versailles."


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("The zone is set with tzconf. The following sets the zone:", "The zone is set so."),
        ("The zone of the system can be chosen.", "The zone is set by `dpkg-tz zone`."),
        ("Name of the zone that shall be set now.", "The zone is set by `dpkg-tz zone`."),
        ("The clock is right. " + "The zone of it " * 50 + "is set.", "The zone is set."),
    ],
)
async def test_what_leads_on_lacks_the_command_or_is_long_is_not_quoted(
    text: str, claim: str
) -> None:
    passage = Passage(id="a", title="Time and dpkg-tz", text=text)
    given = in_doubt(claim, passage=passage, question="How is the clock adjusted?")
    assert await text_of(given, "zone") in (None, "The zone is set with tzconf.")


async def test_a_sentence_that_the_answer_has_already_is_not_quoted_again() -> None:
    said = Claim(text=SENATE, verdict=Verdict(status="supported"))
    assert await quote(in_doubt(claims=[said])) is None


async def test_a_sentence_that_refers_to_the_one_before_it_is_quoted_with_it() -> None:
    passage = Passage(
        id="a", title="Light", text="Ann Lee kept the light. She was born in York in 1820."
    )
    assert (
        await text_of(in_doubt("Ann Lee was born in York.", passage=passage), "York")
        == passage.text
    )
    said = Claim(text="Ann Lee kept the light.", verdict=Verdict(status="supported"))
    given = in_doubt("Ann Lee was born in York.", passage=passage, claims=[said])
    assert await text_of(given, "York") == "She was born in York in 1820."


async def test_a_sentence_that_refers_to_its_heading_replaces_no_proved_claim() -> None:
    passage = Passage(id="a", title="Lists – curl-news", text="This list only gets our news.")
    claim = "The list for news is curl-news."
    assert await quote(in_doubt(claim, passage=passage), "news") is None
    given = unproved(claim, 0.5, passage=passage)
    assert await text_of(given, "news") == passage.text


async def test_no_single_sentence_replaces_a_claim_that_sums_up_a_list() -> None:
    gains = "- WAL is faster\n- Readers do not block writers.\n- WAL needs fewer fsync operations."
    passage = Passage(id="a", title="WAL", text=gains)
    asked: Any = {"passage": passage, "question": "What are the advantages?"}
    summed_up = "It is faster, needs fewer fsync operations, and readers do not block writers."
    assert await quote(in_doubt(summed_up, **asked), "WAL") is None
    assert (
        await text_of(in_doubt("It needs fewer fsync operations.", **asked), "WAL")
        == "WAL needs fewer fsync operations."
    )


async def test_a_claim_that_mixes_other_sentences_is_replaced_by_one() -> None:
    effects = (
        "Common: a headache, a dry mouth. Uncommon: dizziness, nausea. Rare: a fast heartbeat."
    )
    passage = Passage(id="a", title="Norvalin", text=effects)
    mixed = "Common effects are a headache, a dry mouth, dizziness, nausea and a fast heartbeat."
    given = in_doubt(mixed, passage=passage, question="What are common effects?")
    assert await text_of(given, "headache") == "Common: a headache, a dry mouth."


@pytest.mark.parametrize(
    "text",
    [
        "To reconcile:\n- after each, compare the balance of the bank",
        "Bank manual\n\nNothing else is said here.",
        "Using the Bank to compare the balance\n\nNothing else is said here.",
        "Mark  Balance   State\n---------------------\nOne   bank      right",
    ],
)
async def test_a_part_of_a_sentence_a_heading_or_a_drawn_table_replaces_no_proved_claim(
    text: str,
) -> None:
    passage = Passage(id="a", title="Reconciling", text=text)
    given = in_doubt("Compare the balance of the bank.", passage=passage, question="How?")
    named = re.compile("bank|balance", re.IGNORECASE)
    model = TableEntailment(lambda text, _: 0.9 if named.search(text.split("\n")[-1]) else 0.1)
    assert await Quoter(model)(given) == {}


async def test_a_failed_claim_of_two_words_is_not_replaced() -> None:
    """Any sentence on opening something would do for "Open HomeBank."."""
    text = "When you open an old file, choose a currency."
    passage = Passage(id="a", title="HomeBank", text=text)
    for said, replaced in (("Open HomeBank.", False), ("Open an old file.", True)):
        given = unproved(said, 0.5, passage=passage, question="How do I start?")
        assert (await quote(given, "currency") is not None) is replaced


@pytest.mark.parametrize(("score", "quoted"), [(0.79, True), (0.8, False)])
async def test_a_claim_that_is_rather_sure_gives_way_only_to_what_says_the_same(
    score: float, quoted: bool
) -> None:
    given = in_doubt("It refused the Treaty of Versailles in 1920.", score)
    assert (await quote(given) is not None) is quoted


async def test_a_claim_whose_name_the_nearest_sentence_lacks_gives_way_to_what_answers() -> None:
    """The passage has the name elsewhere, so the entailment model was rather sure."""
    refused = "The Emperor had refused the treaty."
    text = f"The Netherlands signed in 1648. {refused} It lasted."
    passage = Passage(id="a", title="Treaty", text=text)
    given = {"passages": [passage], "question": "Who refused the treaty?"}
    claim = "The Netherlands had refused the treaty."
    assert await text_of(in_doubt(claim, 0.85, passage, **given), refused) == refused


async def test_a_quote_needs_the_number_that_its_part_of_the_question_asks_for() -> None:
    strongest = "The stout is the strongest beer that they brew."
    passage = Passage(id="a", title="Stout", text=f"{strongest} It has a strength of 6.2 percent.")
    question = "Who is the head brewer, and how strong is the stout?"
    claim = in_doubt("The stout has 6.2 percent.", passage=passage, question=question)
    assert await text_of(claim, strongest) == f"{strongest} It has a strength of 6.2 percent."
