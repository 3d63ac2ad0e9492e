from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citeproof.console.page import render_trace
from citeproof.errors import InputError, ModelError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.results import Failure, Result, lines_of
from citeproof.evaluation.runner import describe
from citeproof.evaluation.traces import (
    Trace,
    find_trace,
    make_trace,
    read_trace,
    record,
    replay,
    trace_path,
    write_trace,
)
from citeproof.files import write_whole
from citeproof.graphs.registry import METHODS
from citeproof.graphs.shape import read_shape
from citeproof.runtime.events import AnswerReady, ClaimDelta, LLMCalled, PairsScored
from citeproof.runtime.moments import Moment
from tests.console.sample import ANSWER, EVENTS, QUESTION, timed

VTG = METHODS["vtg"].sketch()


def trace(moments: Sequence[Moment] | None = None, **fields: Any) -> Trace:
    result = Result.model_validate({"id": "", "question": QUESTION, "answer": ANSWER, **fields})
    return make_trace(VTG, "vtg", result, timed() if moments is None else moments)


def test_a_trace_comes_back_as_it_was_written(tmp_path: Path) -> None:
    made = trace()
    write_trace(tmp_path / "a.jsonl", made)
    assert read_trace(tmp_path / "a.jsonl") == made
    assert made.graph == read_shape(VTG)
    assert made.answer == ANSWER
    first, second, *_ = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    assert json.loads(first)["question"] == QUESTION
    began = {"type": "node_started", "id": "id-of-retriever", "node": "retriever"}
    event = {**began, "reads": {"question": QUESTION}}
    assert json.loads(second) == {"at": 0.0, "namespace": [], "event": event}


def test_times_count_from_the_first_event_and_pieces_of_claims_are_left_out() -> None:
    made = trace([own.model_copy(update={"at": own.at + 1e6}) for own in timed()])
    own = [event for event in EVENTS if not isinstance(event, ClaimDelta)]
    assert [moment.event for moment in made.moments] == own
    assert made.moments[0].at == 0.0
    assert made.moments[-1].at == pytest.approx(timed()[-1].at, abs=1e-3)


def test_the_answer_of_a_graph_that_tells_none_is_told() -> None:
    ready = AnswerReady(answer=ANSWER)
    inside = Moment(at=2.0, namespace=("retrieval_stage:1f",), event=ready)
    made = trace([Moment(at=1.0, event=EVENTS[0]), inside])
    told = [(own.at, own.event) for own in made.moments]
    assert told == [(0.0, EVENTS[0]), (1.0, ready), (1.0, ready)]
    assert made.answer == ANSWER
    assert trace([inside], answer=None).answer is None


def test_a_page_shows_the_answer_with_its_trace_unfolded() -> None:
    page = render_trace(trace())
    assert '<details class="trace" id="trace" open>' in page
    assert "2 of 3 claims proved" in page
    assert "evidence finder → claim generator: 1 ×" in page


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (Failure(type="ModelError", message="no <key>"), "an error: ModelError: no &lt;key&gt;"),
        (Failure(type="KeyboardInterrupt", message=""), "ended in an error: KeyboardInterrupt<"),
        (None, "The run was interrupted."),
    ],
)
def test_a_run_without_an_answer_says_why(error: Failure | None, why: str) -> None:
    broken = trace(timed(EVENTS[:-2]), answer=None, error=error)
    assert broken.answer is None
    page = render_trace(broken)
    assert "Broken off" in page
    assert why in page
    assert "memory verifier" in page


async def test_a_replayed_run_ends_with_its_outcome() -> None:
    assert [moment async for moment in replay(trace())] == list(trace().moments)
    broken = trace(timed(EVENTS[:-2]), answer=None)
    *_, last = [moment.event async for moment in replay(broken)]
    assert isinstance(last, AnswerReady)
    assert (last.answer.status, last.answer.reason) == ("not_found", "The run was interrupted.")


def test_a_recording_is_kept_also_where_the_run_fails(tmp_path: Path) -> None:
    moments = [Moment(at=1e6, event=EVENTS[0])]
    path = tmp_path / "a.jsonl"
    with (
        pytest.raises(ModelError, match="no answer"),
        record(path, VTG, "vtg", QUESTION, moments),
    ):
        raise ModelError("no answer for sk-abcdefgh1234")
    kept = read_trace(path)
    assert kept.error == Failure(type="ModelError", message="no answer for ***.")
    assert [moment.event for moment in kept.moments] == [EVENTS[0]]
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]


def test_that_a_recording_has_no_place_is_told_before_the_run(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="cannot be written: there is no folder"),
        record(tmp_path / "no" / "a.jsonl", VTG, "vtg", QUESTION, []),
    ):
        pytest.fail("the run was begun")


@pytest.mark.parametrize(
    ("number", "line", "message"),
    [
        (1, "", "line 1, is no part of a trace: Invalid JSON"),
        (1, '{"method": "vtg"}', "line 1, is no part of a trace: question: Field required"),
        (1, '{"version": 2, "method": "m", "question": "q"}', "line 1, .* version: Input should"),
        (3, '{"at": 1, "event": {"type": "moon_landed"}}', "line 3, .* event: Input tag"),
        (3, '{"at": 1, "ev', "line 3, is no part of a trace: Invalid JSON"),
        (3, "\ufffd", "line 3, is no part"),
    ],
)
def test_a_file_that_was_changed_is_refused_with_its_line(
    tmp_path: Path, number: int, line: str, message: str
) -> None:
    path = tmp_path / "a.jsonl"
    write_trace(path, trace())
    lines = path.read_text("utf-8").splitlines()
    lines[number - 1] = line
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError, match=message):
        read_trace(path)


def test_a_file_without_events_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_trace(path, trace([], answer=None))
    with pytest.raises(InputError, match="shows nothing: nothing happened in the run"):
        read_trace(path)
    with pytest.raises(InputError, match=r"b\.jsonl cannot be read: No such file"):
        read_trace(tmp_path / "b.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of three examples, of which two kept their events."""
    keys = ("q/1", "2", "1")
    asked = [Example(id=key, question=QUESTION, task="qa") for key in keys]
    write_whole(tmp_path / "examples.jsonl", lines_of(asked))
    describe(VTG, "vtg", asked).write(tmp_path)
    (tmp_path / "traces").mkdir()
    for number in (1, 3):
        write_trace(trace_path(tmp_path, number), trace())
    return tmp_path


@pytest.mark.parametrize(("example", "number"), [("q/1", 1), ("1", 3), ("3", 3)])
def test_an_example_is_found_by_its_id_or_else_by_its_number(
    folder: Path, example: str, number: int
) -> None:
    assert find_trace(folder, example) == folder / "traces" / f"{number}.jsonl"


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (None, r"has several traces\. Name one of 1 \(q/1\), 3 \(1\)\."),
        ("2", r"kept no events of '2': there is no such example, or no answer with --trace yet\."),
        ("../1", r"kept no events of '\.\./1': .*Name one of 1 \(q/1\), 3 \(1\)\."),
    ],
)
def test_an_example_that_is_not_there_is_told_with_those_that_are(
    folder: Path, example: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        find_trace(folder, example)


def test_an_id_without_a_trace_is_not_taken_for_the_number_of_another_example(
    folder: Path,
) -> None:
    trace_path(folder, 3).unlink()  # that of the example with the id 1
    with pytest.raises(InputError, match=r"kept no events of '1': .*Name one of 1 \(q/1\)\."):
        find_trace(folder, "1")


def test_the_only_trace_of_a_run_needs_no_name(folder: Path) -> None:
    trace_path(folder, 3).unlink()
    assert find_trace(folder, None) == trace_path(folder, 1)
    trace_path(folder, 1).unlink()
    with pytest.raises(InputError, match=r"kept no events\. Run citeproof eval with --trace"):
        find_trace(folder, None)


def test_what_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no run: there is no manifest"):
        find_trace(tmp_path, "1")
    file = tmp_path / "a.jsonl"
    assert find_trace(file, None) == file
    with pytest.raises(InputError, match=r"is not the folder of a run\. Leave '1' out"):
        find_trace(file, "1")
    for name in ("~$run", "x" * 300):
        assert find_trace(Path(name), None) == Path(name)


def test_a_run_that_broke_off_tells_what_it_cost() -> None:
    broken = trace(timed(EVENTS[:-2]), answer=None, error=Failure(type="E", message="m"))
    calls = [event for event in EVENTS if isinstance(event, LLMCalled)]
    pairs = sum(len(event.pairs) for event in EVENTS if isinstance(event, PairsScored))
    spent = broken.outcome.usage
    assert spent.prompt_tokens == sum(event.usage.prompt_tokens for event in calls) > 0
    assert spent.nli_pairs == pairs > 0
    assert "<li>0.00 s</li>" not in render_trace(broken)
