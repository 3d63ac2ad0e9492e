"""The corrector shows the draft with its passages, and reads what stands after the heading."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import LLM, Passage, Verdict
from citeproof.agents.corrector import AGAIN, Corrector, InputPreparer
from citeproof.runtime.meter import Meter, use_meter
from citeproof.state import Contrast, memory_passages
from citeproof.testing import ScriptedChatModel
from tests.agents.calm_states import BUILT, KEPT, LIT, candidate, claim

ROUND = Contrast(number=1, rouge_2=0.0, agreed=False, answer="", verifier_answer="", statements=())
NEXT: dict[str, Any] = {
    "claims": [claim(KEPT, 1), claim(LIT, 2)],
    "kept": [claim(LIT, 2)],
    "long_term": ["b"],
    "short_term": ["c", "d"],
}


def corrector(*replies: str, **knobs: Any) -> tuple[Corrector, ScriptedChatModel]:
    model = ScriptedChatModel(replies)
    return Corrector(LLM(model), **knobs), model


@pytest.mark.parametrize(
    ("kept", "long_term", "draft", "rests"),
    [
        ([], [], "(none)", "none of the passages"),
        (
            [claim(BUILT, 1), claim(LIT, 2)],
            ["a", "b"],
            "Ann Lee built the tower [1]. The tower was lit in 1871 [2].",
            "the first 2 passages, numbers 1, 2",
        ),
    ],
)
async def test_what_the_draft_rests_on(
    kept: list[Any], long_term: list[str], draft: str, rests: str
) -> None:
    node, model = corrector("x [3].")
    await node(candidate(kept=kept, long_term=long_term, short_term=["c"]))
    assert f"Draft: {draft}\n" in model.calls[0].prompt
    assert f"rests on {rests}." in model.calls[0].prompt


@pytest.mark.parametrize(
    "reply",
    [
        "Bo Ray kept the light [3].",
        "Corrected answer: Bo Ray kept the light [3].",
        "It misses the keeper [4].\n\n**Corrected Answer:** Bo Ray kept the light [3].",
        "Corrected answer: x [2].\ncorrected answer:\nBo Ray kept the light [3][1][9].",
    ],
)
async def test_the_answer_is_what_stands_after_the_last_heading(reply: str) -> None:
    """Citations of passages that are not shown in the round, such as 1, are dropped."""
    node, _ = corrector(reply)
    update = await node(candidate(**NEXT, verifier_claims=[claim(LIT, 2)]))
    [corrected] = update["claims"]
    assert (corrected.text, [c.number for c in corrected.citations]) == (KEPT, [3])
    assert update["verifier_claims"] == []


async def test_the_trials_of_a_claim_are_the_answers_that_were_written() -> None:
    node, _ = corrector("Bo Ray kept the light [3]. It was lit [2].")
    claims = (await node(candidate(**NEXT, rounds=[ROUND, ROUND])))["claims"]
    unchecked = "nothing has checked this claim"
    verdict = Verdict(status="unchecked", trials=3, reason=unchecked)
    assert [claim.verdict for claim in claims] == [verdict, verdict]


async def test_a_reply_without_an_answer_is_asked_for_once_more() -> None:
    node, model = corrector("Corrected answer:", f"{KEPT[:-1]} [3].")
    with use_meter(Meter()) as meter:
        [corrected] = (await node(candidate(**NEXT)))["claims"]
    assert corrected.text == KEPT
    first, second = model.calls
    assert second.prompt == f"{first.prompt}\n\n{AGAIN}"
    assert meter.notes == []


@pytest.mark.parametrize(("kept", "stands"), [([LIT], [LIT]), ([], [KEPT, LIT])])
async def test_then_the_draft_stands_or_else_the_answer_before(
    kept: list[str], stands: list[str]
) -> None:
    node, _ = corrector("", "[2]")
    state = candidate(**{**NEXT, "kept": [claim(text, 2) for text in kept]})
    with use_meter(Meter()) as meter:
        claims = (await node(state))["claims"]
    assert [c.text for c in claims] == stands
    assert [note.split(":")[0] for note in meter.notes] == ["corrector"]


async def test_no_passages_is_no_call() -> None:
    node, model = corrector()
    assert await node(candidate(short_term=[])) == {}
    assert model.calls == []


# Lists

LIST: dict[str, Any] = {**NEXT, "kept": [claim("Ann Lee", 2), claim("Bo Ray", 2)]}


async def test_the_assessment_before_a_list_is_not_read_as_names() -> None:
    node, _ = corrector(
        "The draft misses Cy Fox [3].\nFinal Answer: Ann Lee [2], Cy Fox [3].", form="list"
    )
    claims = (await node(candidate(**LIST)))["claims"]
    assert [(c.text, c.citations[0].number) for c in claims] == [("Ann Lee", 2), ("Cy Fox", 3)]


async def test_a_list_without_its_heading_is_asked_for_once_more() -> None:
    node, model = corrector("It is fine.", "Still fine.", form="list")
    claims = (await node(candidate(**LIST)))["claims"]
    assert [c.text for c in claims] == ["Ann Lee", "Bo Ray"]
    assert len(model.calls) == 2


# The input of a round: the kept passages, then unseen ones, k in all


POOL = [Passage(id=c, text=c) for c in "abcdefg"]


@pytest.mark.parametrize(
    ("cited", "long_term", "short_term", "shown"),
    [
        ([], "", "def", 6),
        ([2], "b", "de", 5),
        ([3, 1], "ac", "d", 4),
        ([1, 2, 3], "abc", "", 3),
    ],
)
async def test_kept_passages_are_filled_up_with_unseen_ones(
    cited: list[int], long_term: str, short_term: str, shown: int
) -> None:
    kept = [claim(BUILT, *cited[:1]), claim(LIT, *cited)]
    state = candidate(passages=POOL, shown=3, long_term=["g"], kept=kept)
    update = await InputPreparer(k=3)(state)
    assert update == {
        "long_term": list(long_term),
        "short_term": list(short_term),
        "shown": shown,
    }
    after: Any = {**state, **update}
    read = memory_passages(after)
    assert "".join(passage.id for passage in read.values()) == long_term + short_term


async def test_the_last_passages_of_the_pool_may_be_fewer_than_fit() -> None:
    update = await InputPreparer(k=5)(candidate(passages=POOL, shown=6))
    assert (update["short_term"], update["shown"]) == (["g"], 7)


async def test_an_exhausted_pool_stops_the_run_and_says_so() -> None:
    update = await InputPreparer(k=3)(candidate(passages=POOL, shown=7, kept=[claim(LIT, 1)]))
    assert update == {"stop": "All 7 passages were read before the two models agreed."}


async def test_a_full_draft_goes_on_without_unseen_passages() -> None:
    kept = [claim(LIT, 1, 2)]
    update = await InputPreparer(k=2)(candidate(passages=POOL, shown=7, kept=kept))
    assert update == {"long_term": ["a", "b"], "short_term": [], "shown": 7}
