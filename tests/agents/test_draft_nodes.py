"""VTG's nodes that cite, verify, trim and accept the claim in hand."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from citeproof import Citation, Claim, Passage, Verdict
from citeproof.agents.citation_generator import CitationAttacher, CitationGenerator
from citeproof.agents.claim_acceptor import LONGEST, ClaimAcceptor, Reviewer
from citeproof.agents.generation_verifier import GenerationVerifier, MemoryVerifier
from citeproof.agents.simplifier import Simplifier
from citeproof.errors import SettingsError
from citeproof.runtime.events import ClaimDrafted, ClaimReviewed, Event, ReviewRequested
from citeproof.state import Draft, VTGState
from citeproof.testing import ListRetriever, TableEntailment
from citeproof.tools.entailment import Score
from tests.agents.one_node import asking
from tests.agents.states import BUILT, CLAIM, LIT, A, B, C, claim, state
from tests.chain import chain


async def test_a_forgotten_passage_cannot_be_cited() -> None:
    node, _ = asking(CitationGenerator, {"citations": [3]})
    assert await node(state()) == {"draft": Draft(text=CLAIM, cited=())}


# The first tier reads the cited passages, each by itself


@pytest.mark.parametrize(("score", "status"), [(0.5, "supported"), (0.49, "unsupported")])
async def test_the_threshold_itself_counts_as_entailed(score: float, status: Any) -> None:
    entailment = TableEntailment({(A.premise, CLAIM): score}, threshold=0.5)
    draft = Draft(text=CLAIM, cited=("b", "a"))
    update = await GenerationVerifier(entailment)(state(draft=draft, rejected=["x"]))
    verdict = Verdict(status=status, tier="cited", score=score, trials=2)
    assert update == {"draft": draft.model_copy(update={"verdict": verdict})}


# The second tier reads the whole memory


async def test_a_supported_claim_cites_what_proves_it() -> None:
    entailment = TableEntailment(lambda premise, claim: 0.8 if "Light" in premise else 0.3)
    update = await MemoryVerifier(entailment)(state(short_term=["c"]))
    verdict = Verdict(status="supported", tier="memory", score=0.8, trials=1)
    assert update == {"draft": Draft(text=CLAIM, cited=("b",), verdict=verdict)}
    assert [pair.premise.count("Title:") for pair in entailment.pairs] == [1, 1, 1]


@pytest.mark.parametrize(("premise", "cited"), [("fewest", "b"), ("whole", "a")])
async def test_a_failed_claim_cites_what_comes_nearest(premise: Any, cited: str) -> None:
    entailment = TableEntailment(lambda premise, claim: 0.4 if "Light" in premise else 0.1)
    update: Any = await MemoryVerifier(entailment, premise)(state(short_term=["c"]))
    assert (update["draft"].cited, update["rejected"]) == ((cited,), [CLAIM])


async def test_a_claim_that_a_passage_denies_is_contradicted() -> None:
    entailment = TableEntailment(lambda premise, _: Score(0.1, 0.9 if "Light" in premise else 0.0))
    given = state(draft=Draft(text="The light tower was lit in 1872.", cited=("a",)))
    draft: Any = (await MemoryVerifier(entailment)(given))["draft"]
    assert (draft.verdict.status, draft.against) == ("contradicted", ("b",))


# The simplifier keeps a set from which no passage can be left out

PROVED = Verdict(status="supported", tier="cited", score=0.9)


def two_cited(verdict: Verdict | None = PROVED) -> Any:
    """A draft that cites <p> and <q>."""
    draft = Draft(text="claim", cited=("p", "q"), verdict=verdict)
    passages = [Passage(id=letter, text=f"<{letter}>") for letter in "pq"]
    return state(draft=draft, passages=passages, long_term=["p", "q"])


@pytest.mark.parametrize(("single", "kept", "score"), [(0.6, ("p",), 0.6), (0.1, ("p", "q"), 0.9)])
async def test_the_score_is_that_of_what_is_left(
    single: float, kept: tuple[str, ...], score: float
) -> None:
    model = TableEntailment(lambda premise, _: {"<p>": single, "<q>": 0.1}.get(premise, 0.9))
    left: Any = (await Simplifier(model)(two_cited()))["draft"]
    assert (left.cited, left.verdict.score) == (kept, score)


async def test_what_proves_nothing_keeps_its_citations() -> None:
    assert await Simplifier(TableEntailment({}))(two_cited(None)) == {}


async def test_what_the_simplifier_writes_can_be_kept_by_a_checkpointer() -> None:
    """The score of a model that knows contradictions is more than a number."""
    model = TableEntailment(lambda premise, _: Score(0.8 if "<p>" in premise else 0.1, 0.05))
    kind, _ = JsonPlusSerializer().dumps_typed(await Simplifier(model)(two_cited()))
    assert kind == "msgpack"


# The acceptor appends the claim and evolves the memory


async def test_the_claim_has_its_run_numbers_and_supporting_sentences() -> None:
    update = await ClaimAcceptor()(state(draft=Draft(text=CLAIM, cited=("a",), verdict=PROVED)))
    citation = Citation(passage_id="a", number=1, sentence="Ann Lee built the tower.")
    assert update["claims"] == [Claim(text=CLAIM, citations=(citation,), verdict=PROVED)]


# Citations after the fact: the best match of each claim


async def test_each_claim_cites_the_passage_that_matches_it_best() -> None:
    source = ListRetriever([C, B, A])
    update = await CitationAttacher(source)(
        {"question": "Who?", "claims": [claim(LIT), claim(BUILT), claim(LIT), claim("Quite so.")]}
    )
    assert update["passages"] == [B, A]
    assert update["long_term"] == ["b", "a"]
    assert [[(x.number, x.passage_id) for x in c.citations] for c in update["claims"]] == [
        [(1, "b")],
        [(2, "a")],
        [(1, "b")],
        [],
    ]
    assert update["claims"][0].citations[0].sentence == B.text
    assert {c.verdict.status for c in update["claims"]} == {"unchecked"}


async def test_a_name_is_searched_for_behind_the_question() -> None:
    source = ListRetriever([A])
    await CitationAttacher(source, form="list")({"question": "Who?", "claims": [claim("Ann")]})
    assert source.queries == ["Who? Ann"]


# A person decides on a claim that could not be proved


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
