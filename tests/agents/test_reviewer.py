"""The reviewer interrupts its graph, and does what it is resumed with."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from citeproof import Citation, Claim, Verdict
from citeproof.agents.claim_acceptor import LONGEST, Reviewer
from citeproof.errors import SettingsError
from citeproof.runtime.events import ClaimDrafted, ClaimReviewed, Event, ReviewRequested
from citeproof.state import Draft, VTGState
from tests.agents.states import CLAIM, A, B, state
from tests.chain import chain

FAILED = Verdict(status="unsupported", tier="memory", score=0.1, trials=3)
DRAFT = Draft(text=CLAIM, cited=("b", "a"), verdict=FAILED)
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Review:
    """A graph of nothing but the reviewer."""

    def __init__(self, checkpointer: Any) -> None:
        self.graph = chain(VTGState, reviewer=Reviewer()).compile(checkpointer=checkpointer)

    def go(self, given: Any) -> tuple[Any, list[Event]]:
        """What the graph gives, and what it tells."""
        config = CONFIG if self.graph.checkpointer else None
        parts = list(self.graph.stream(given, config, stream_mode=["custom", "values"]))
        told = [part for mode, part in parts if mode == "custom"]
        return [part for mode, part in parts if mode == "values"][-1], told

    def decided(self, *replies: Any) -> tuple[Any, list[Event]]:
        """What comes of the replies, one after the other."""
        self.go(state(draft=DRAFT, rejected=["x", "y"]))
        for reply in replies:
            left = self.go(Command(resume=reply))
        return left


def problem(left: Any) -> str:
    [waiting] = left["__interrupt__"]
    return ReviewRequested.model_validate(waiting.value).problem


def test_the_run_waits_with_all_that_a_decision_needs() -> None:
    left, told = Review(InMemorySaver()).go(state(draft=DRAFT))
    [waiting] = left["__interrupt__"]
    [event] = told
    assert isinstance(event, ReviewRequested)
    assert waiting.value == event.model_dump(mode="json")
    assert event.claim == Claim(
        text=CLAIM,
        citations=(
            Citation(passage_id="a", number=1, sentence="Ann Lee built the tower."),
            Citation(passage_id="b", number=2, sentence="The tower was lit in 1871."),
        ),
        verdict=FAILED,
    )
    assert event.passages == (A, B)
    assert event.problem == ""


@pytest.mark.parametrize("decision", ["approve", "drop"])
@pytest.mark.parametrize("text", ["", CLAIM, f" {CLAIM[:-1]} [1]."])
def test_an_approval_and_a_drop_are_written_down(decision: Any, text: str) -> None:
    left, told = Review(InMemorySaver()).decided({"decision": decision, "text": text})
    assert left["draft"] == DRAFT.model_copy(update={"decision": decision})
    assert told == [ClaimReviewed(text=CLAIM, decision=decision)]


def test_an_edit_is_a_new_draft_that_nobody_has_verified() -> None:
    left, told = Review(InMemorySaver()).decided(
        {"decision": "edit", "text": " Ann  Lee\nbuilt\x1b it [1][passage 2]. "}
    )
    assert left["draft"] == Draft(text="Ann Lee built it.", cited=("b", "a"), edited=True)
    assert left["rejected"] == ["x", "y"]
    assert told == [
        ClaimReviewed(text=CLAIM, decision="edit"),
        ClaimDrafted(text="Ann Lee built it.", trial=3),
    ]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("approve", "Input should be a valid dictionary"),
        (False, "Input should be a valid dictionary"),
        ({"text": "x"}, "decision: Field required"),
        ({"decision": "yes"}, "decision: Input should be 'approve', 'edit' or 'drop'"),
        ({"decision": "approve", "why": "x"}, "why: Extra inputs are not permitted"),
        ({"decision": "approve", "text": "Other words."}, "text: only an edit changes the claim"),
        ({"decision": "edit"}, "text: an edited claim needs words"),
        ({"decision": "edit", "text": " [1] … "}, "text: an edited claim needs words"),
        ({"decision": "edit", "text": "x" * (LONGEST + 1)}, f"at most {LONGEST} characters"),
    ],
)
def test_a_reply_of_no_use_is_told_and_asked_for_again(reply: Any, said: str) -> None:
    review = Review(InMemorySaver())
    left, told = review.decided(reply)
    assert said in problem(left)
    assert 'Resume with {"decision": "approve"}' in problem(left)
    assert [type(event) for event in told] == [ReviewRequested]
    left, told = review.go(Command(resume={"decision": "approve"}))
    assert "__interrupt__" not in left
    assert told == [ClaimReviewed(text=CLAIM, decision="approve")]


def test_each_problem_is_that_of_the_last_reply() -> None:
    review = Review(InMemorySaver())
    left, _ = review.decided("x", {"decision": "edit"})
    assert problem(left).startswith("text: ")
    left, told = review.go(None)
    assert problem(left).startswith("text: ")
    assert len(told) == 1, "who looks again is told again"


def test_without_a_checkpointer_it_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"A review needs a checkpointer.*checkpointer=…"):
        Review(None).go(state(draft=DRAFT))


async def test_there_is_nothing_to_decide_without_a_draft() -> None:
    assert await Reviewer()(state(draft=None)) == {}
