"""The corrector shows the draft with its passages, and reads what stands after the heading."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof import Passage, Verdict
from citeproof.agents.corrector import AGAIN, Corrector, InputPreparer
from citeproof.state import Contrast, memory_passages
from tests.agents.one_node import asking, noted
from tests.agents.states import BUILT, KEPT, LIT, candidate, claim

ROUND = Contrast(number=1, rouge_2=0.0, agreed=False, answer="", verifier_answer="", statements=())
NEXT: dict[str, Any] = {
    "claims": [claim(KEPT, 1), claim(LIT, 2)],
    "kept": [claim(LIT, 2)],
    "long_term": ["b"],
    "short_term": ["c", "d"],
}


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
    node, model = asking(Corrector, "x [3].")
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
    node, _ = asking(Corrector, reply)
    update = await node(candidate(**NEXT, verifier_claims=[claim(LIT, 2)]))
    [corrected] = update["claims"]
    assert (corrected.text, [c.number for c in corrected.citations]) == (KEPT, [3])
    assert update["verifier_claims"] == []


async def test_the_trials_of_a_claim_are_the_answers_that_were_written() -> None:
    node, _ = asking(Corrector, "Bo Ray kept the light [3]. It was lit [2].")
    claims = (await node(candidate(**NEXT, rounds=[ROUND, ROUND])))["claims"]
    unchecked = "nothing has checked this claim"
    verdict = Verdict(status="unchecked", trials=3, reason=unchecked)
    assert [claim.verdict for claim in claims] == [verdict, verdict]


async def test_a_reply_without_an_answer_is_asked_for_once_more() -> None:
    node, model = asking(Corrector, "Corrected answer:", f"{KEPT[:-1]} [3].")
    update, notes = await noted(node(candidate(**NEXT)))
    assert [corrected.text for corrected in update["claims"]] == [KEPT]
    first, second = model.calls
    assert second.prompt == f"{first.prompt}\n\n{AGAIN}"
    assert notes == []


@pytest.mark.parametrize(
    ("replies", "form", "kept", "stands"),
    [
        (["", "[2]"], "prose", [LIT], [LIT]),
        (["", "[2]"], "prose", [], [KEPT, LIT]),
        (["It is fine.", "Still fine."], "list", ["Ann Lee", "Bo Ray"], ["Ann Lee", "Bo Ray"]),
    ],
)
async def test_then_the_draft_stands_or_else_the_answer_before(
    replies: list[str], form: Any, kept: list[str], stands: list[str]
) -> None:
    node, model = asking(Corrector, *replies, form=form)
    state = candidate(**{**NEXT, "kept": [claim(text, 2) for text in kept]})
    update, [note] = await noted(node(state))
    assert [c.text for c in update["claims"]] == stands
    assert (len(model.calls), note.split(":")[0]) == (2, "corrector")


async def test_no_passages_is_no_call() -> None:
    node, model = asking(Corrector)
    assert await node(candidate(short_term=[])) == {}
    assert model.calls == []


# Lists

LIST: dict[str, Any] = {**NEXT, "kept": [claim("Ann Lee", 2), claim("Bo Ray", 2)]}


async def test_the_assessment_before_a_list_is_not_read_as_names() -> None:
    node, _ = asking(
        Corrector,
        "The draft misses Cy Fox [3].\nFinal Answer: Ann Lee [2], Cy Fox [3].",
        form="list",
    )
    claims = (await node(candidate(**LIST)))["claims"]
    assert [(c.text, c.citations[0].number) for c in claims] == [("Ann Lee", 2), ("Cy Fox", 3)]


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


@pytest.mark.parametrize(
    ("k", "shown", "cited", "update"),
    [
        (5, 6, [], {"long_term": [], "short_term": ["g"], "shown": 7}),
        (3, 7, [1], {"stop": "All 7 passages were read before the two models agreed."}),
        (2, 7, [1, 2], {"long_term": ["a", "b"], "short_term": [], "shown": 7}),
    ],
    ids=["fewer than fit", "an exhausted pool", "a full draft needs none"],
)
async def test_at_the_end_of_the_pool(
    k: int, shown: int, cited: list[int], update: dict[str, Any]
) -> None:
    kept = [claim(LIT, *cited)]
    assert await InputPreparer(k=k)(candidate(passages=POOL, shown=shown, kept=kept)) == update
