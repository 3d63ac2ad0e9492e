"""Algorithm 1 of LLatrieval, branch by branch, on scripted models."""

from __future__ import annotations

from typing import Any

import pytest

from citeproof.graphs.llatrieval import LLatrievalParameters, build_llatrieval
from citeproof.testing import TableEntailment
from tests.graphs.llatrieval_scripts import QUESTION, Search, shown, texts

SMALL: dict[str, Any] = {"k": 2, "window": 3, "candidates": 6, "prove": False}


def ids(passages: Any) -> str:
    return "".join(passage.id for passage in passages)


def two_rounds(**replies: Any) -> Search:
    """a to f for the question; g, b and h for what is missing."""
    said: dict[str, Any] = {
        "document_selector": [[1, 3], [1, 5], [1, 4]],
        "retrieval_verifier": ["No", "Yes"],
        "missing_info": ["Bo Ray kept it."],
        "answerer": ["It was kept by the boats [1]. Then came g [7]."],
    }
    return Search({"": "abcdef", "Bo": "gbh"}, **{**said, **replies})


# The loop


def test_windows_slide_over_all_candidates_with_d_first() -> None:
    search = Search({"": "abcdef"}, document_selector=[[1, 3], [2, 5]], retrieval_verifier=["Yes"])
    found = search.search(**SMALL)
    windows = ["".join(shown(prompt)) for prompt in search.of("document_selector")]
    assert windows == ["abc", "acdef"]
    assert [(s.round, ids(s.entered), ids(s.left)) for s in found.swaps] == [
        (1, "c", "b"),
        (1, "f", "a"),
    ]
    assert shown(search.of("retrieval_verifier")[0]) == ["c", "f"]


def test_with_verify_first_only_passages_that_do_not_suffice_are_chosen_among() -> None:
    search = Search({"": "abcdef"}, retrieval_verifier=["Yes"])
    found = search.search(**SMALL, verify_first=True)
    assert (ids(found.passages), found.verified, found.candidates) == ("ab", True, 2)
    assert [role for role in search.usual if search.calls(role)] == ["retrieval_verifier"]
    search = two_rounds(retrieval_verifier=["No", "No", "Yes"])
    found = search.search(**SMALL, verify_first=True)
    assert ["".join(shown(prompt)) for prompt in search.of("retrieval_verifier")] == [
        "ab",
        "af",
        "ah",
    ]
    assert [done.sufficient for done in found.rounds] == [False, True]
    assert (ids(found.passages), found.candidates) == ("ah", 8)


def test_passages_that_do_not_suffice_lead_to_a_query_for_what_is_missing() -> None:
    search = two_rounds()
    found = search.search(**SMALL)
    assert search.retriever.queries == [QUESTION, "Bo Ray kept it."]
    assert shown(search.of("missing_info")[0]) == ["a", "f"]
    assert (ids(found.passages), found.verified, found.candidates) == ("ah", True, 8)
    assert [(r.query, r.found, r.new, r.sufficient) for r in found.rounds] == [
        (QUESTION, 6, 6, False),
        ("Bo Ray kept it.", 3, 2, True),
    ]


@pytest.mark.parametrize("rounds", [1, 4])
def test_after_t_rounds_the_passages_are_given_and_not_called_verified(rounds: int) -> None:
    names = iter(["abc", "def", "ghi", "jkl"])
    search = Search(
        lambda _: next(names),
        document_selector=lambda _: {"numbers": [1, 3]},
        retrieval_verifier=lambda _: "No",
        missing_info=[f"Try {n}." for n in range(rounds)],
    )
    found = search.search(**SMALL, max_rounds=rounds)
    assert len(found.rounds) == len(search.calls("retrieval_verifier")) == rounds
    assert len(search.calls("missing_info")) == rounds - 1
    assert found.verified is False
    plural = "" if rounds == 1 else "s"
    assert found.reason == f"The passages were not found to suffice after {rounds} round{plural}."
    assert len(found.passages) == 2


def test_a_round_that_finds_nothing_new_is_neither_selected_nor_verified() -> None:
    search = Search(
        {"": "abc", "new": "de"},
        document_selector=[[1, 2], [3, 4]],
        retrieval_verifier=["No", "Yes"],
        missing_info=["Old.", "Nothing, really.", "Something new."],
    )
    found = search.search(**SMALL)
    assert [done.sufficient for done in found.rounds] == [False, None, None, True]
    assert len(search.calls("document_selector")) == len(search.calls("retrieval_verifier")) == 2
    assert ids(found.passages) == "de"
    first, _, last = search.of("missing_info")
    assert "searched for already" not in first
    assert last.endswith("something else:\n- Old.\n- Nothing, really.")


def test_no_more_than_k_candidates_are_verified_without_selection() -> None:
    search = Search(
        {"": "a", "Bo": "abc"},
        retrieval_verifier=["No", "Yes"],
        missing_info=["Bo."],
        document_selector=[[1, 3]],
    )
    found = search.search(**SMALL)
    assert shown(search.of("retrieval_verifier")[0]) == ["a"]
    assert shown(search.of("document_selector")[0]) == ["a", "b", "c"]
    assert ids(found.passages) == "ac"


def test_the_papers_defaults() -> None:
    defaults = LLatrievalParameters()
    assert (defaults.max_rounds, defaults.candidates, defaults.window, defaults.k) == (4, 50, 20, 5)
    assert (defaults.first_query, defaults.query_style) == ("question", "passage")
    assert (defaults.verification, defaults.summarize, defaults.answer) == ("class", True, True)
    search = Search(
        lambda _: [f"p{n}" for n in range(60)],
        document_selector=lambda _: {"numbers": [1, 2, 3, 4, 5]},
        retrieval_verifier=["Yes"],
    )
    found = search.search()
    assert [len(shown(prompt)) for prompt in search.of("document_selector")] == [20, 25, 15]
    assert (len(found.passages), found.candidates) == (5, 50)
    assert len(search.calls("summarizer")) == 50


# Switches


def test_a_hypothetical_answer_may_be_the_first_query() -> None:
    search = two_rounds(retrieval_verifier=["Yes"])
    search.search(**SMALL, first_query="passage")
    assert search.retriever.queries == ["Bo Ray kept it."]
    assert shown(search.of("missing_info")[0]) == []


@pytest.mark.parametrize(("summarize", "said"), [(True, "Sum of"), (False, "All about")])
def test_the_selector_may_read_summaries_and_the_verifier_the_passages(
    summarize: bool, said: str
) -> None:
    search = two_rounds()
    search.search(**SMALL, summarize=summarize)
    assert texts(search.of("document_selector")[0]) == [f"{said} {name}." for name in "abc"]
    assert texts(search.of("retrieval_verifier")[0]) == ["All about a.", "All about f."]
    assert texts(search.of("missing_info")[0]) == ["All about a.", "All about f."]
    assert bool(search.calls("summarizer")) is summarize


# The answer


def test_the_answer_cites_the_chosen_passages() -> None:
    search = two_rounds(answerer=["Then came the boats [8]. They were kept by a [1][3]."])
    answer = search.run(**SMALL)["answer"]
    assert shown(search.of("answerer")[0]) == ["a", "h"]
    assert answer.text == "Then came the boats [1]. They were kept by a [2]."
    assert ids(answer.passages) == "ha"
    assert {claim.verdict.status for claim in answer.claims} == {"unchecked"}
    assert (answer.status, answer.reason) == ("partial", "The claims were not checked.")


def test_verifier_missing_info_and_answerer_share_their_beginning() -> None:
    search = two_rounds(retrieval_verifier=["No"])
    search.run(**SMALL, max_rounds=1)
    [verifying], [answering] = search.of("retrieval_verifier"), search.of("answerer")
    shared = verifying[: verifying.rindex("</passage>")]
    assert "All about f." in shared
    assert answering.startswith(shared)
    later = two_rounds()
    later.search(**SMALL)
    assert later.of("missing_info")[0].startswith(shared)


# Malformed output


def test_a_run_of_nothing_but_nonsense_ends_with_the_first_candidates() -> None:
    search = Search(
        {"": "abcdef", "light": "abcdef"},
        document_selector=lambda _: "the best ones",
        retrieval_verifier=lambda _: "Perhaps",
        missing_info=lambda _: "",
        summarizer=lambda _: "",
        answerer=["[1][2]"],
    )
    result = search.run(**SMALL)
    assert ids(result["retrieval"].passages) == "ab"
    assert result["retrieval"].verified is False
    assert result["answer"].status == "not_found"
    told = {note.split(":")[0] for note in result["answer"].notes}
    assert told >= {"document_selector", "retrieval_verifier", "missing_info", "summarizer"}


# Input, budgets, parameters


@pytest.mark.parametrize(
    ("calls", "chosen", "unread"),
    [
        (3, "ab", 4),  # while summaries are written: the best that was found
        (6, "ab", 4),  # before the first selection
        (7, "ac", 3),  # before the second
        (8, "af", 0),  # before the verification
    ],
)
def test_a_spent_budget_ends_the_run_with_what_is_chosen(
    calls: int, chosen: str, unread: int
) -> None:
    result = two_rounds().run(**SMALL, max_calls=calls, at_once=1)
    answer, retrieval = result["answer"], result["retrieval"]
    assert (answer.status, answer.reason) == ("not_found", f"The budget of {calls} calls is spent.")
    assert answer.usage.llm_calls == calls
    assert ids(retrieval.passages) == chosen
    assert retrieval.candidates == 6 - unread
    assert (retrieval.verified, retrieval.reason) == (False, answer.reason)


# What every graph can do


def test_the_claims_of_the_answer_are_proved() -> None:
    search = Search(
        {"": "ab"},
        retrieval_verifier=["Yes"],
        answerer=["Ann Lee kept it [1]. Bo Ray lit it [2]."],
    )
    entailment = TableEntailment(lambda _, claim: 0.9 if "Ann" in claim else 0.1)
    tools = search.toolbox(entailment=entailment)
    answer = build_llatrieval(tools, k=2).invoke({"question": QUESTION})["answer"]
    assert [claim.verdict.status for claim in answer.claims] == ["supported", "unsupported"]
    assert (answer.status, answer.reason) == ("partial", "1 of 2 claims could not be proved.")
