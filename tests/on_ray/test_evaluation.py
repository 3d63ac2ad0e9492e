from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import PromptError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.on_ray import on_ray
from citeproof.evaluation.results import Result, read_lines
from citeproof.evaluation.runner import Answerer, run
from citeproof.evaluation.traces import find_trace, read_trace
from citeproof.settings import RaySettings
from tests.evaluation.scripted import examples
from tests.evaluation.test_runner import lines, vtg
from tests.on_ray.workers import open_vtg, running

TWO = RaySettings(actors=2)


async def test_two_actors_answer_as_one_process_does(tmp_path: Path, pids: Path) -> None:
    asked = examples(tmp_path, 16)
    with on_ray(partial(open_vtg, pids, delay=0.05), TWO) as graph:
        assert isinstance(graph, Answerer)
        manifest = await run(graph, "vtg", asked, tmp_path / "ray", at_once=2, trace=True)
    alone = await run(vtg(), "vtg", asked, tmp_path / "alone", trace=True)
    assert len(running(pids)) == 2
    assert os.getpid() not in running(pids)
    assert lines(tmp_path / "ray") == lines(tmp_path / "alone")
    assert (manifest.parameters, manifest.totals.answered) == (alone.parameters, 16)
    traces = [read_trace(find_trace(tmp_path / name, "q3")) for name in ("ray", "alone")]
    assert [len(trace.moments) for trace in traces] == [len(traces[1].moments)] * 2


async def test_what_a_killed_actor_had_is_asked_again_and_kept_once(
    tmp_path: Path, pids: Path
) -> None:
    told: list[str] = []

    async def kill_at_the_third(example: Example, _: Result, kept: bool) -> None:
        told.append(example.id)
        if len(told) == 3:
            os.kill(running(pids)[0], signal.SIGKILL)

    asked = examples(tmp_path, 8)
    with on_ray(partial(open_vtg, pids, delay=0.2), TWO) as graph:
        await run(graph, "vtg", asked, tmp_path / "run", at_once=2, on_result=kill_at_the_third)
    assert sorted(told) == sorted(own.id for own in asked)
    found = list(read_lines(tmp_path / "run/results.jsonl", Result))
    assert [(own.id, own.error) for own in found] == [(own.id, None) for own in asked]
    assert len(running(pids)) == 3  # the killed one and its successor among them


async def test_a_question_that_kills_its_actors_is_an_error_and_the_others_go_on(
    tmp_path: Path, pids: Path
) -> None:
    asked = examples(tmp_path, 3)
    asked[1] = asked[1].model_copy(update={"question": "Which deadly colour has number 1?"})
    with on_ray(partial(open_vtg, pids), RaySettings(actors=1)) as graph:
        await run(graph, "vtg", asked, tmp_path / "run", at_once=1)
    found = list(read_lines(tmp_path / "run/results.jsonl", Result))
    assert [own.error and own.error.type for own in found] == [None, "ModelOutageError", None]


def test_what_an_actor_cannot_open_is_told_as_it_is() -> None:
    def open_wrong() -> Any:
        raise PromptError("No prompt", why="none is there", fix="Write one.")

    with pytest.raises(PromptError, match=r"No prompt: none is there\. Write one\."):  # noqa: SIM117
        with on_ray(open_wrong, TWO):
            pass
