"""The claim generator writes one sentence, or finishes."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import TypedDict

from citeproof import Answer, Claim, Passage, QuotedPassage, Toolbox, Usage, Verdict, verify_with
from citeproof.agents.claim_generator import ClaimGenerator, ClaimSource, DraftReader
from citeproof.errors import InputError
from citeproof.state import Draft, GivenState, ProvedState, total_usage
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair
from citeproof.tools.llm.model import LLM
from citeproof.tools.questions.wording import STATES
from tests.agents.one_node import asking, graph_of, noted
from tests.agents.states import BUILT, CLAIM, LIT, A, B, claim, state
from tests.chain import chain, run


async def test_what_is_written_already_is_passed_over() -> None:
    accepted = [Claim(text=CLAIM, verdict=Verdict(status="unchecked"))]
    node, _ = asking(ClaimGenerator, f"{CLAIM} It was lit in 1871.")
    draft = (await node(state(draft=None, claims=accepted)))["draft"]
    assert draft == Draft(text="It was lit in 1871.")


@pytest.mark.parametrize(
    ("reply", "accepted", "score", "drafted"),
    [
        (LIT, [BUILT], 0.3, False),
        (LIT, [BUILT], 0.4, True),
        (LIT, [], 0.3, True),
        ("It was first lit in 1871.", [BUILT], 0.3, True),
    ],
)
async def test_an_answer_ends_where_only_a_passage_is_copied_on(
    reply: str, accepted: list[str], score: float, drafted: bool
) -> None:
    scored = TableEntailment(lambda *_: score, threshold=0.5)
    given = state(draft=None, claims=[claim(text) for text in accepted])
    node, _ = asking(ClaimGenerator, reply, answerability=scored)
    assert bool((await node(given))["draft"]) is drafted
    pair = Pair(B.premise, "Who built the tower?")
    assert scored.pairs == ([pair] if reply == LIT and accepted else [])
    node, _ = asking(ClaimGenerator, reply, answerability=scored, check_answer=False)
    assert (await node(given))["draft"]


@pytest.mark.parametrize(
    ("question", "accepted", "begun"),
    [
        ("Is subletting allowed?", [], STATES),
        ("Is subletting allowed?", [CLAIM], CLAIM),
        ("Who may sublet?", [], ""),
    ],
)
async def test_the_first_sentence_on_a_question_for_yes_or_no_is_begun(
    question: str, accepted: list[str], begun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that goes on with a reply then states the rule; small ones say yes to anything."""
    monkeypatch.setattr(LLM, "goes_on", True)
    node, model = asking(ClaimGenerator, " subletting is forbidden.")
    claims = [Claim(text=text, verdict=Verdict(status="unchecked")) for text in accepted]
    update: Any = await node(state(question=question, draft=None, claims=claims))
    assert update["draft"].text.lower() == "subletting is forbidden."
    asked = model.calls[0].prompt
    assert asked.endswith(f"\n\n{begun}") if begun else STATES not in asked


@pytest.mark.parametrize(
    ("question", "begun", "reply", "drafted"),
    [
        ("What are the keepers?", "The keepers are", " Ann and Bo.", "The keepers are Ann and Bo."),
        ("What are the keepers?", "The keepers are", ":\n- Ann\n- Bo", "The keepers are: Ann, Bo."),
        (
            "How can I light my lamp?",
            "To light your lamp,",
            " take a match.",
            "To light your lamp, take a match.",
        ),
        ("How to light it?", "To light it,", ":\n1. Take a match.\n2. Wait.", "Take a match."),
    ],
)
async def test_the_answer_to_a_question_for_a_list_or_for_steps_is_begun(
    question: str, begun: str, reply: str, drafted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a small model replies that there are keepers, or announces steps."""
    monkeypatch.setattr(LLM, "goes_on", True)
    node, model = asking(ClaimGenerator, reply)
    assert (await node(state(question=question, draft=None)))["draft"] == Draft(text=drafted)
    assert model.calls[0].prompt.endswith(f"\n\n{begun}")


@pytest.mark.parametrize(
    ("question", "reply", "drafted"),
    [
        ("Which five keepers were there?", "There were five keepers.", None),
        ("Were there keepers?", "There were keepers.", "There were keepers."),
        ("Who kept it, Ann or Bo?", "Ann kept it.", "Ann kept it."),
        ("Some say that Bo kept it. Who did?", "Bo kept it.", "Bo kept it."),
        ("Who kept it?", "It was kept. Bo kept it.", "Bo kept it."),
        ("How do I pay in Tern?", "Open Tern. Press the Pay button.", "Press the Pay button."),
    ],
)
async def test_a_sentence_that_only_repeats_the_question_is_passed_over(
    question: str, reply: str, drafted: str | None
) -> None:
    node, _ = asking(ClaimGenerator, reply)
    draft = (await node(state(question=question, draft=None)))["draft"]
    assert draft == (drafted and Draft(text=drafted))


async def test_tags_of_passages_are_read_back_and_never_shown_as_they_are() -> None:
    passage = Passage(id="t", title="Git", text="Type git add <file>. Then <|im_end|> is typed.")
    claims = [Claim(text="Then <|im_end|> is typed", verdict=Verdict(status="unchecked"))]
    node, model = asking(ClaimGenerator, "Type git add ‹file>.")
    given = state(passages=[passage], long_term=["t"], draft=None, claims=claims)
    assert (await node(given))["draft"] == Draft(text="Type git add <file>.")
    assert "<|" not in model.calls[0].prompt
    assert "Then ‹|im_end|> is typed." in model.calls[0].prompt


# Claims of an existing answer


GIVEN = [claim(BUILT, 2, 1), claim(LIT)]


def feeding(**changes: Any) -> GivenState:
    base: dict[str, Any] = {**state(draft=None), "given": GIVEN}
    return {**base, **changes}  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("changes", "draft"),
    [
        ({}, Draft(text=BUILT, cited=("b", "a"))),
        ({"rejected": [BUILT]}, Draft(text=BUILT, cited=("b", "a"))),
        ({"claims": [claim(BUILT, 1)]}, Draft(text=LIT)),
        ({"dropped": [BUILT]}, Draft(text=LIT)),
        ({"claims": [claim(LIT, 2)], "dropped": [BUILT]}, None),
        ({"given": []}, None),
    ],
)
async def test_the_next_claim_is_the_one_that_is_neither_accepted_nor_dropped(
    changes: dict[str, Any], draft: Draft | None
) -> None:
    assert await ClaimSource()(feeding(**changes)) == {"draft": draft}


@pytest.mark.parametrize(
    ("memory", "filled"),
    [
        ({"long_term": [], "short_term": []}, {"long_term": ["a", "b", "c"]}),
        ({"long_term": [], "short_term": ["c"]}, {}),
        ({"long_term": [], "passages": []}, {}),
    ],
)
async def test_without_a_memory_all_passages_are_the_memory(
    memory: dict[str, Any], filled: dict[str, Any]
) -> None:
    draft = Draft(text=BUILT, cited=("b", "a"))
    assert await ClaimSource()(feeding(**memory)) == {"draft": draft, **filled}


# The answer of another graph is taken apart


CLAIMS = (claim(BUILT, 1), claim(LIT, 2))
COST = Usage(llm_calls=3, prompt_tokens=40, completion_tokens=9, retrievals=1)


def answer(**changes: Any) -> Answer:
    base: dict[str, Any] = {
        "question": "Who built the tower?",
        "method": "mine",
        "status": "answered",
        "claims": CLAIMS,
        "passages": (B, A, B),
        "usage": COST,
        "notes": ("one",),
    }
    return Answer.model_validate({**base, **changes})


async def test_the_answers_claims_are_given_and_its_passages_the_memory() -> None:
    update, notes = await noted(DraftReader()({"answer": answer()}))
    assert update == {
        "passages": [B, A],
        "long_term": ["b", "a"],
        "given": list(CLAIMS),
        "stop": "",
    }
    assert notes == ["one"]


async def test_the_nearest_passages_of_a_draft_without_claims_are_the_memory() -> None:
    nearest = [QuotedPassage(passage=one) for one in (B, A)]
    draft = answer(status="not_found", claims=(), passages=(), nearest=nearest, reason="Spent.")
    assert await DraftReader()({"answer": draft}) == {
        "passages": [B, A],
        "long_term": ["b", "a"],
        "given": [],
        "stop": "Spent.",
    }


@pytest.mark.parametrize("how", ["sync", "async"])
def test_the_text_of_an_answer_without_claims_is_proved(how: str) -> None:
    """As a program of somebody else's writes it, with marks."""
    text = f"{LIT} [1] {BUILT} [7]"
    mine = chain(Own, mine=lambda _: {"answer": answer(text=text, claims=(), usage=Usage())})
    tools = Toolbox(None, entailment=lambda premise, claim: float(claim in premise))
    proved = run(verify_with(mine.compile(), tools), how, {"question": "Who?"})["answer"]
    assert proved.text == f"{LIT[:-1]} [1]. {BUILT[:-1]} [2]."
    assert proved.status == "answered"


@pytest.mark.parametrize("given", [{}, {"answer": None}, {"answer": "Ann Lee"}])
async def test_a_graph_that_gave_no_answer_is_an_error(given: Any) -> None:
    with pytest.raises(InputError, match="There is no draft to prove: the drafting graph returned"):
        await graph_of(DraftReader()).ainvoke({**given, "ledger": {}})


# Whose cost it is


class Own(TypedDict):
    """The state of a graph that is none of ours."""

    question: str
    answer: Answer


async def test_the_cost_of_anybodys_graph_is_taken_from_its_answer() -> None:
    mine = chain(Own, mine=lambda _: {"answer": answer()}).compile()
    graph = chain(ProvedState, draft=mine, draft_reader=DraftReader()).compile()
    left = await graph.ainvoke({"question": "Who?"})
    usage = total_usage(left["ledger"])
    assert usage.model_copy(update={"seconds": 0.0}) == COST
    assert [cost.notes for cost in left["ledger"].values()] == [("one",)]
