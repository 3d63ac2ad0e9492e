"""Algorithm 1 of LLatrieval, branch by branch, on scripted models."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from citeproof import LLM, Toolbox
from citeproof.errors import InputError, ModelOutageError, SettingsError
from citeproof.graphs.llatrieval import LLatrievalParameters, build_llatrieval
from citeproof.settings import BudgetSettings
from citeproof.state import SearchRound
from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment
from tests.graphs.llatrieval_scripts import QUESTION, Search, pool, shown, texts
from tests.watching import finished, watch

SMALL: dict[str, Any] = {"k": 2, "window": 3, "candidates": 6, "prove": False}


def ids(passages: Any) -> str:
    return "".join(passage.id for passage in passages)


def steps(search: Search) -> list[str]:
    """Kinds of calls in order, repeats and summaries left out."""
    kinds = [kind for kind, _ in search.prompts if kind != "summarizer"]
    return [kind for n, kind in enumerate(kinds) if n == 0 or kinds[n - 1] != kind]


def two_rounds(**replies: Any) -> Search:
    """a to f for the question; g, b and h for what is missing."""
    said: dict[str, Any] = {
        "document_selector": [[1, 3], [1, 5], [1, 4]],
        "verifier": ["No", "Yes"],
        "passage": ["Bo Ray kept it."],
        "question": ["Who was Bo?"],
        "answerer": ["It was kept by the boats [1]. Then came g [7]."],
    }
    return Search({"": "abcdef", "Bo": "gbh"}, {**said, **replies})


# The loop


def test_passages_that_suffice_end_the_search() -> None:
    search = Search({"": "abcdef"}, {"document_selector": [[1, 3], [2, 5]], "verifier": ["Yes"]})
    found = search.search(**SMALL)
    assert (ids(found.passages), found.verified, found.candidates) == ("cf", True, 6)
    assert found.rounds == (SearchRound(query=QUESTION, found=6, new=6, sufficient=True),)
    assert found.reason == "The passages were found to suffice."
    assert steps(search) == ["document_selector", "verifier"]


def test_windows_slide_over_all_candidates_with_d_first() -> None:
    search = Search({"": "abcdef"}, {"document_selector": [[1, 3], [2, 5]], "verifier": ["Yes"]})
    found = search.search(**SMALL)
    assert [shown(prompt) for prompt in search.of("document_selector")] == [
        ["a", "b", "c"],
        ["a", "c", "d", "e", "f"],
    ]
    assert [(s.round, ids(s.entered), ids(s.left)) for s in found.swaps] == [
        (1, "c", "b"),
        (1, "f", "a"),
    ]
    assert shown(search.of("verifier")[0]) == ["c", "f"]


def test_with_verify_first_passages_that_suffice_are_not_chosen_among() -> None:
    search = Search({"": "abcdef"}, {"verifier": ["Yes"]})
    found = search.search(**SMALL, verify_first=True)
    assert (ids(found.passages), found.verified, found.candidates) == ("ab", True, 2)
    assert steps(search) == ["verifier"]


def test_with_verify_first_passages_that_do_not_suffice_are_chosen_among_and_judged_again() -> None:
    search = two_rounds(verifier=["No", "No", "Yes"])
    found = search.search(**SMALL, verify_first=True)
    assert [shown(prompt) for prompt in search.of("verifier")] == [
        ["a", "b"],
        ["a", "f"],
        ["a", "h"],
    ]
    assert [done.sufficient for done in found.rounds] == [False, True]
    assert (ids(found.passages), found.candidates) == ("ah", 8)


def test_passages_that_do_not_suffice_lead_to_a_query_for_what_is_missing() -> None:
    search = two_rounds()
    found = search.search(**SMALL)
    assert search.queries == [QUESTION, "Bo Ray kept it."]
    assert shown(search.of("passage")[0]) == ["a", "f"]
    assert (ids(found.passages), found.verified, found.candidates) == ("ah", True, 8)
    assert [(r.query, r.found, r.new, r.sufficient) for r in found.rounds] == [
        (QUESTION, 6, 6, False),
        ("Bo Ray kept it.", 3, 2, True),
    ]


def test_passages_found_again_are_not_read_again() -> None:
    search = two_rounds()
    search.search(**SMALL)
    assert shown(search.of("document_selector")[2]) == ["a", "f", "g", "h"]


def test_with_reread_a_passage_that_was_left_out_comes_back() -> None:
    search = two_rounds(document_selector=[[1, 3], [1, 5], [1, 4]])
    found = search.search(**SMALL, reread=True)
    assert shown(search.of("document_selector")[2]) == ["a", "f", "g", "b", "h"]
    assert ids(found.passages) == "ab"
    assert found.candidates == 8


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_after_t_rounds_the_passages_are_given_and_not_called_verified(rounds: int) -> None:
    names = iter(["abc", "def", "ghi", "jkl"])
    search = Search(
        lambda _: next(names),
        {
            "document_selector": lambda _: [1, 3],
            "verifier": lambda _: "No",
            "passage": [f"Try {n}." for n in range(rounds)],
        },
    )
    found = search.search(**SMALL, max_rounds=rounds)
    assert len(found.rounds) == search.calls["verifier"] == rounds
    assert search.calls["passage"] == rounds - 1
    assert found.verified is False
    plural = "" if rounds == 1 else "s"
    assert found.reason == f"The passages were not found to suffice after {rounds} round{plural}."
    assert len(found.passages) == 2


def test_a_round_that_finds_nothing_new_is_neither_selected_nor_verified() -> None:
    search = Search(
        {"": "abc", "new": "de"},
        {
            "document_selector": [[1, 2], [3, 4]],
            "verifier": ["No", "Yes"],
            "passage": ["Old.", "Nothing, really.", "Something new."],
        },
    )
    found = search.search(**SMALL)
    assert [done.sufficient for done in found.rounds] == [False, None, None, True]
    assert search.calls["document_selector"] == search.calls["verifier"] == 2
    assert ids(found.passages) == "de"
    last = search.of("passage")[-1]
    assert last.endswith("\n- Old.\n- Nothing, really."), "so that it writes something else"


def test_a_search_that_finds_nothing_new_ends_after_t_rounds() -> None:
    search = Search(
        {"": "abc"},
        {"document_selector": [[1, 2]], "verifier": ["No"], "passage": lambda _: "Again."},
    )
    found = search.search(**SMALL)
    assert len(found.rounds) == 4
    assert search.calls["passage"] == 3
    assert found.verified is False


def test_no_more_than_k_candidates_are_verified_without_selection() -> None:
    search = Search(
        {"": "a", "Bo": "abc"},
        {"verifier": ["No", "Yes"], "passage": ["Bo."], "document_selector": [[1, 3]]},
    )
    found = search.search(**SMALL)
    assert shown(search.of("verifier")[0]) == ["a"]
    assert shown(search.of("document_selector")[0]) == ["a", "b", "c"]
    assert ids(found.passages) == "ac"


def test_nothing_found_is_an_abstention_without_a_call() -> None:
    result = Search({}).run()
    assert result["answer"].status == "not_found"
    assert result["answer"].reason == "No passage was found for the question."
    assert result["answer"].usage.llm_calls == 0
    retrieval = result["retrieval"]
    assert (retrieval.passages, retrieval.verified, retrieval.candidates) == ((), False, 0)
    assert len(retrieval.rounds) == 1


def test_the_papers_defaults() -> None:
    defaults = LLatrievalParameters()
    assert (defaults.max_rounds, defaults.candidates, defaults.window, defaults.k) == (4, 50, 20, 5)
    assert (defaults.first_query, defaults.query_style) == ("question", "passage")
    assert (defaults.verification, defaults.summarize, defaults.answer) == ("class", True, True)
    search = Search(
        lambda _: [f"p{n}" for n in range(60)],
        {"document_selector": lambda _: [1, 2, 3, 4, 5], "verifier": ["Yes"]},
    )
    found = search.search()
    assert [len(shown(prompt)) for prompt in search.of("document_selector")] == [20, 25, 15]
    assert (len(found.passages), found.candidates) == (5, 50)
    assert search.calls["summarizer"] == 50


# Switches


def test_a_hypothetical_answer_may_be_the_first_query() -> None:
    search = two_rounds(verifier=["Yes"])
    search.search(**SMALL, first_query="passage")
    assert search.queries == ["Bo Ray kept it."]
    assert shown(search.of("passage")[0]) == []


def test_the_missing_info_query_may_be_a_question() -> None:
    search = two_rounds()
    search.search(**SMALL, query_style="question")
    assert search.queries == [QUESTION, "Who was Bo?"]
    assert search.calls["passage"] == 0


def test_verification_by_score_goes_by_the_threshold() -> None:
    search = two_rounds(verifier_score=[{"score": 5}, {"score": 6}])
    found = search.search(**SMALL, verification="score", threshold=6)
    assert [(done.score, done.sufficient) for done in found.rounds] == [(5.0, False), (6.0, True)]
    assert search.calls["verifier"] == 0


def test_the_selector_reads_summaries_and_the_verifier_the_passages() -> None:
    search = two_rounds()
    search.search(**SMALL)
    assert texts(search.of("document_selector")[0]) == ["Sum of a.", "Sum of b.", "Sum of c."]
    assert texts(search.of("verifier")[0]) == ["All about a.", "All about f."]
    assert texts(search.of("passage")[0]) == ["All about a.", "All about f."]


def test_each_passage_is_summarised_once() -> None:
    search = two_rounds()
    search.search(**SMALL, reread=True)
    summed = [shown(prompt)[0] for prompt in search.of("summarizer")]
    assert sorted(summed) == list("abcdefgh")


def test_without_summaries_the_selector_reads_the_passages() -> None:
    search = two_rounds()
    search.search(**SMALL, summarize=False)
    assert search.calls["summarizer"] == 0
    assert texts(search.of("document_selector")[0])[0] == "All about a."


def test_without_an_answer_the_passages_are_all() -> None:
    result = two_rounds().run(**SMALL, answer=False)
    assert (result["answer"].status, result["answer"].claims) == ("not_found", ())
    assert result["answer"].reason == "No answer was asked for."
    assert ids(result["retrieval"].passages) == "ah"


# The answer


def test_the_answer_cites_the_chosen_passages() -> None:
    search = two_rounds(answerer=["Then came the boats [8]. They were kept by a [1][3]."])
    answer = search.run(**SMALL)["answer"]
    assert shown(search.of("answerer")[0]) == ["a", "h"]
    assert answer.text == "Then came the boats [1]. They were kept by a [2]."
    assert ids(answer.passages) == "ha"
    assert {claim.verdict.status for claim in answer.claims} == {"unchecked"}
    assert (answer.status, answer.reason) == ("partial", "The claims were not checked.")


def test_an_answer_from_passages_that_never_sufficed_says_so() -> None:
    answer = two_rounds(verifier=["No"]).run(**SMALL, max_rounds=1)["answer"]
    assert answer.reason == (
        "The passages were not found to suffice after 1 round. The claims were not checked."
    )


def test_the_answerer_may_abstain_if_it_is_offered_to() -> None:
    search = two_rounds(answerer=["DONE"])
    answer = search.run(**SMALL, may_abstain=True)["answer"]
    assert "write only DONE" in search.of("answerer")[0]
    assert answer.status == "not_found"
    assert answer.reason == "The passages that were found do not answer the question."


def test_verifier_missing_info_and_answerer_share_their_beginning() -> None:
    search = two_rounds(verifier=["No"])
    search.run(**SMALL, max_rounds=1)
    [verifying], [answering] = search.of("verifier"), search.of("answerer")
    shared = verifying[: verifying.rindex("</passage>")]
    assert "All about f." in shared
    assert answering.startswith(shared)
    later = two_rounds()
    later.search(**SMALL)
    assert later.of("passage")[0].startswith(shared)


# Malformed output


def test_a_run_of_nothing_but_nonsense_ends_with_the_first_candidates() -> None:
    search = Search(
        {"": "abcdef", "light": "abcdef"},
        {
            "document_selector": lambda _: "the best ones",
            "verifier": lambda _: "Perhaps",
            "passage": lambda _: "",
            "summarizer": lambda _: "",
            "answerer": ["[1][2]"],
        },
    )
    result = search.run(**SMALL)
    assert ids(result["retrieval"].passages) == "ab"
    assert result["retrieval"].verified is False
    assert result["answer"].status == "not_found"
    told = {note.split(":")[0] for note in result["answer"].notes}
    assert told >= {"document_selector", "retrieval_verifier", "missing_info", "summarizer"}


def test_malformed_output_of_a_later_window_keeps_what_was_picked() -> None:
    search = Search({"": "abcdef"}, {"document_selector": [[2, 3], "?", "??"], "verifier": ["Yes"]})
    assert ids(search.search(**SMALL).passages) == "bc"


def test_numbers_out_of_range_or_repeated_are_dropped_and_filled_up() -> None:
    search = Search(
        {"": "abcdef"}, {"document_selector": [[3, 3, 0], [9, 5, 5]], "verifier": ["Yes"]}
    )
    found = search.search(**SMALL)
    assert ids(found.passages) == "fc"


# Input, budgets, parameters


@pytest.mark.parametrize("first_query", ["question", "passage"])
def test_an_empty_question_is_an_error_before_any_call(first_query: str) -> None:
    search = Search({})
    with pytest.raises(InputError, match="question is empty"):
        search.run(" ", first_query=first_query)
    assert search.calls == {}


def test_documents_with_the_question_replace_the_index() -> None:
    search = two_rounds(verifier=["Yes"], answerer=["Bo Ray kept the light [1]."])
    graph = build_llatrieval(search.toolbox(), prove=False)
    documents = ["Bo Ray kept the light.", "Cats sleep all day."]
    result = graph.invoke({"question": QUESTION, "documents": documents})
    assert [p.text for p in result["retrieval"].passages] == documents[:1]
    assert result["answer"].text == "Bo Ray kept the light [1]."
    assert search.queries == []


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


def test_a_budget_spent_by_the_search_leaves_the_verdict() -> None:
    result = two_rounds(verifier=["Yes"]).run(**SMALL, max_calls=9)
    assert result["retrieval"].verified is True
    assert result["answer"].reason == "The budget of 9 calls is spent."


def test_the_toolboxs_budget_holds_where_the_graph_sets_none() -> None:
    tools = two_rounds().toolbox()
    tools.budget = BudgetSettings(calls=1)
    answer = build_llatrieval(tools, at_once=1, prove=False).invoke({"question": "Who?"})["answer"]
    assert answer.reason == "The budget of 1 calls is spent."


def test_usage_counts_calls_and_retrievals() -> None:
    usage = two_rounds().run(**SMALL)["answer"].usage
    # 8 summaries, 3 selections, 2 verdicts, 1 query, 1 answer
    assert (usage.llm_calls, usage.retrievals) == (15, 2)
    assert usage.prompt_tokens > usage.completion_tokens > 0


def test_a_run_may_override_the_parameters_that_the_graph_was_built_with() -> None:
    graph = build_llatrieval(two_rounds().toolbox(), **SMALL, max_rounds=1, answer=False)
    run: Any = {"max_rounds": 2, "k": 3, "answer": False, "window": 3, "candidates": 6}
    found = graph.invoke({"question": QUESTION}, context=run)["retrieval"]
    assert (len(found.rounds), len(found.passages)) == (2, 3)
    schema = graph.get_context_jsonschema()
    assert schema is not None
    assert schema["properties"]["window"]["default"] == 3


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_rounds": 0},
        {"candidates": 0},
        {"window": 0},
        {"k": 51},
        {"threshold": 11},
        {"first_query": "hyde"},
        {"verification": "both"},
        {"query_style": "poem"},
        {"rounds": 2},
    ],
)
def test_unknown_and_impossible_parameters_are_errors(parameters: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(parameters))):
        build_llatrieval(two_rounds().toolbox(), **parameters)


def test_the_graph_shows_the_papers_nodes() -> None:
    graph = build_llatrieval(two_rounds().toolbox()).get_graph()
    assert set(graph.nodes) == {
        "__start__",
        "__end__",
        "__default_error_handler__",
        "question_reader",
        "question_rewriter",
        "answerer",
        "candidate_retriever",
        "claims_verifier",
        "document_selector",
        "missing_info",
        "answer_composer",
        "retrieval_recorder",
        "retrieval_verifier",
        "summarizer",
    }


# What every graph can do


def test_the_output_is_the_answer_and_the_retrieval() -> None:
    result = build_llatrieval(two_rounds().toolbox(), **SMALL).invoke({"question": QUESTION})
    assert set(result) == {"question", "messages", "ledger", "answer", "retrieval"}


async def test_ainvoke_gives_the_same_passages() -> None:
    graph = build_llatrieval(two_rounds().toolbox(), **SMALL)
    result = await graph.ainvoke({"question": QUESTION})
    sync = await asyncio.to_thread(two_rounds().run, **SMALL)
    assert result["retrieval"] == sync["retrieval"]
    assert result["answer"].text == sync["answer"].text


async def test_the_trace_tells_swaps_and_why_the_search_stopped() -> None:
    graph = build_llatrieval(two_rounds().toolbox(), **SMALL)
    moments = await watch(graph, {"question": "?"})
    done = finished(moments)
    first = next(event for event in done if event.node == "document_selector")
    assert first.writes["swaps"] == "round=1, entered=Tc, left=Tb"
    [recorded] = [event for event in done if event.node == "retrieval_recorder"]
    assert "reason=The passages were found to suffice." in recorded.writes["retrieval"]
    story = [moment.event.type for moment in moments]
    assert story.count("passages_retrieved") == 2
    assert story.count("evidence_found") == 1
    assert story.count("claim_accepted") == 2
    assert story[-2:] == ["answer_ready", "node_finished"]


def test_a_second_question_on_a_thread_starts_from_nothing() -> None:
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    results = []
    for search in (two_rounds(), two_rounds()):
        graph = build_llatrieval(search.toolbox(), checkpointer=saver, **SMALL)
        results.append(graph.invoke({"question": QUESTION}, config))
    first, second = results
    assert first["retrieval"] == second["retrieval"]
    assert second["answer"].usage.llm_calls == 15


def test_a_run_that_failed_resumes_where_it_stopped(tmp_path: Path) -> None:
    """The outage hits the second window; summaries and the first window are not asked again."""
    failing = two_rounds()

    def reply(prompt: str) -> Any:
        if '{"numbers"' in prompt and "Sum of d." in prompt:
            raise ConnectionError("the server is gone")
        return failing.reply(prompt)

    config: Any = {"configurable": {"thread_id": "t"}}
    with SqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        broken = Toolbox(
            LLM(ScriptedChatModel(reply), retries=0), retriever=failing.toolbox().retriever
        )
        graph = build_llatrieval(broken, checkpointer=saver, **SMALL)
        with pytest.raises(ModelOutageError, match="the server is gone"):
            graph.invoke({"question": QUESTION}, config)
    assert failing.calls == {"summarizer": 6, "document_selector": 1}
    rest = two_rounds(document_selector=[[1, 5], [1, 4]])
    with SqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
        graph = build_llatrieval(rest.toolbox(), checkpointer=saver, **SMALL)
        result = graph.invoke(None, config)
    assert ids(result["retrieval"].passages) == "ah"
    assert rest.calls["summarizer"] == 2
    assert rest.queries == ["Bo Ray kept it."]


def test_a_strict_checkpoint_can_be_read_again() -> None:
    """In strict mode LangGraph reads back only types that the graph's state declares."""
    code = (
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "from citeproof.graphs.llatrieval import build_llatrieval\n"
        "from tests.graphs.test_llatrieval import QUESTION, SMALL, two_rounds\n"
        "config = {'configurable': {'thread_id': 't'}}\n"
        "tools = two_rounds().toolbox()\n"
        "graph = build_llatrieval(tools, checkpointer=InMemorySaver(), **SMALL)\n"
        "result = graph.invoke({'question': QUESTION}, config)\n"
        "kept = graph.get_state(config).values\n"
        "assert kept['retrieval'] == result['retrieval'], kept['retrieval']\n"
        "assert tuple(kept['rounds']) == result['retrieval'].rounds\n"
        "assert tuple(kept['swaps']) == result['retrieval'].swaps\n"
    )
    strict = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=strict, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Blocked" in done.stderr) == (0, False), done.stderr


def test_a_batch_of_questions_runs_at_once_without_mixing() -> None:
    def reply(prompt: str) -> Any:
        if '{"numbers"' in prompt:
            return '{"numbers": [2, 1]}'
        return "Yes" if "Answer Yes or No" in prompt else "x"

    def find(query: str) -> Any:
        return pool(*(f"{query}{n}" for n in range(4)))

    tools = Toolbox(ScriptedChatModel(reply), retriever=ListRetriever(find))
    graph = build_llatrieval(tools, k=2, answer=False)
    results = graph.batch([{"question": f"Q{n}?"} for n in range(10)])
    assert [ids(result["retrieval"].passages) for result in results] == [
        f"Q{n}?1Q{n}?0" for n in range(10)
    ]


def test_the_claims_of_the_answer_are_proved() -> None:
    search = Search(
        {"": "ab"}, {"verifier": ["Yes"], "answerer": ["Ann Lee kept it [1]. Bo Ray lit it [2]."]}
    )
    entailment = TableEntailment(lambda _, claim: 0.9 if "Ann" in claim else 0.1)
    tools = Toolbox(
        ScriptedChatModel(search.reply),
        retriever=ListRetriever(search.retrieve),
        entailment=entailment,
    )
    answer = build_llatrieval(tools, k=2).invoke({"question": QUESTION})["answer"]
    assert [claim.verdict.status for claim in answer.claims] == ["supported", "unsupported"]
    assert (answer.status, answer.reason) == ("partial", "1 of 2 claims could not be proved.")
