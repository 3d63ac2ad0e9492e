from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from citeproof import Passage, build_vtg
from citeproof.errors import InputError
from citeproof.evaluation.examples import Example
from citeproof.evaluation.manifest import require_manifest
from citeproof.evaluation.results import Result, append, read_lines, read_results
from citeproof.evaluation.runner import run
from citeproof.evaluation.traces import find_trace, read_trace
from tests.evaluation.scripted import COLOURS, examples, reply, toolbox, write
from tests.watching import started

ROOT = Path(__file__).parents[2]


def vtg(script: Any = reply, delay: float = 0.0) -> Any:
    return build_vtg(toolbox(script, delay), max_claims=1)


def lines(folder: Path) -> list[Any]:
    """The result file, apart from times; and from what is cached, which depends on the order."""
    text = (folder / "results.jsonl").read_text("utf-8")
    found = [json.loads(line) for line in text.splitlines()]
    for line in found:
        del line["seconds"]
        if line["answer"] is not None:
            del line["answer"]["usage"]["seconds"], line["answer"]["usage"]["cached_tokens"]
    return found


async def test_each_answer_is_on_disk_before_it_is_told_of_and_ends_in_order(
    tmp_path: Path,
) -> None:
    told: list[str] = []

    async def tell(example: Example, result: Result, kept: bool) -> None:
        told.append(example.id)
        assert list(read_results(folder / "results.jsonl")) == told
        assert (result.error, kept) == (None, False)

    asked, folder = examples(tmp_path, 6), tmp_path / "run"
    manifest = await run(vtg(), "vtg", asked, folder, at_once=3, on_result=tell)
    assert sorted(told) == [example.id for example in asked]
    found = list(read_lines(folder / "results.jsonl", Result))
    assert [result.id for result in found] == [example.id for example in asked]
    assert found[4].output == "Number 4 is green [1]."
    assert [passage.id for passage in found[4].docs] == ["d4"]
    assert found[4].retrieved == ("d4", "e4")
    assert found[4].details == {}
    assert manifest == require_manifest(folder)
    assert (manifest.totals.answered, manifest.totals.waiting) == (6, 0)
    assert manifest.totals.usage.llm_calls == 12
    assert list(read_lines(folder / "examples.jsonl", Example)) == asked


async def test_a_folder_in_the_home_folder_holds_the_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    asked = examples(tmp_path, 1)
    await run(vtg(), "vtg", asked, Path("~/run"), trace=True)
    held = {path.name for path in (tmp_path / "home" / "run").iterdir()} - {".lock"}
    files = {"alce.json", "examples.jsonl", "manifest.json", "results.jsonl", "traces"}
    assert (held, Path("~").exists()) == (files, False)


@pytest.mark.parametrize("at_once", [1, 3])
async def test_no_more_examples_are_in_work_than_allowed(tmp_path: Path, at_once: int) -> None:
    working, most, real = 0, 0, vtg()

    class Graph:
        output_channels = ("answer",)

        async def astream(self, asked: Any, **_: Any) -> Any:
            nonlocal working, most
            working += 1
            most = max(most, working)
            async for part in real.astream(asked, **_):
                yield part
            working -= 1

    await run(Graph(), "vtg", examples(tmp_path, 8), tmp_path / "run", at_once=at_once)
    assert most == at_once


async def test_an_error_is_kept_and_its_example_asked_again(tmp_path: Path) -> None:
    broken = True

    def script(prompt: str) -> Any:
        if broken and "number 2?" in prompt:
            return ValueError("no key sk-abcdefgh1234 for\nthis")
        return reply(prompt)

    asked, folder = examples(tmp_path, 4), tmp_path / "run"
    manifest = await run(vtg(script), "vtg", asked, folder)
    assert (manifest.totals.answered, manifest.totals.errors) == (3, 1)
    failed = read_results(folder / "results.jsonl")["q2"].error
    assert failed is not None
    assert failed.type == "ModelError"
    assert "no key *** for this" in failed.message
    data = json.loads((folder / "alce.json").read_text("utf-8"))["data"]
    assert [one["id"] for one in data] == ["q0", "q1", "q3"]  # an error is no empty answer
    broken, kept = False, []

    async def tell(example: Example, result: Result, old: bool) -> None:
        kept.append((example.id, old))

    again = await run(vtg(script), "vtg", asked, folder, resume=True, on_result=tell)
    assert kept == [("q0", True), ("q1", True), ("q3", True), ("q2", False)]
    assert (again.totals.answered, again.totals.errors) == (4, 0)
    assert [sitting.finished is not None for sitting in again.sittings] == [True, True]
    await run(vtg(), "vtg", asked, tmp_path / "undisturbed")
    assert lines(folder) == lines(tmp_path / "undisturbed")


async def test_events_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    def script(prompt: str) -> Any:
        return ValueError("broken") if "number 2?" in prompt else reply(prompt)

    async def tell(example: Example, result: Result, _: bool) -> None:
        kept = read_trace(find_trace(folder, example.id))
        assert (kept.question, kept.answer) == (example.question, result.answer)
        assert kept.error == result.error

    asked, folder = examples(tmp_path, 3), tmp_path / "run"
    await run(vtg(script), "vtg", asked, folder, trace=True, on_result=tell)
    assert sorted(file.name for file in (folder / "traces").iterdir()) == [
        f"{number}.jsonl" for number in (1, 2, 3)
    ]
    failed = read_trace(find_trace(folder, "q2"))
    assert failed.answer is None
    assert failed.error is not None
    assert failed.error.type == "ModelError"
    whole = read_trace(find_trace(folder, "1"))
    assert whole.graph is not None
    assert "claim_generator" in whole.graph.nodes
    nodes = started(list(whole.moments))
    assert (nodes[0], nodes[-1]) == ("question_reader", "answer_composer")
    # Asked again without, q2 keeps no events: the old ones were those of another attempt.
    await run(vtg(), "vtg", asked, folder, resume=True)
    with pytest.raises(InputError, match="kept no events of 'q2'"):
        find_trace(folder, "q2")
    assert read_trace(find_trace(folder, "1")) == whole


async def test_a_torn_last_line_is_dropped_and_its_example_asked_again(tmp_path: Path) -> None:
    asked, folder = examples(tmp_path, 3), tmp_path / "run"
    await run(vtg(), "vtg", asked, folder)
    whole, expected = (folder / "results.jsonl").read_bytes(), lines(folder)
    for cut in (0, whole.index(b"\n"), len(whole) - 1):
        (folder / "results.jsonl").write_bytes(whole[:cut])
        calls: list[str] = []

        def script(prompt: str, calls: list[str] = calls) -> Any:
            calls.append(prompt)
            return reply(prompt)

        await run(vtg(script), "vtg", asked, folder, resume=True)
        assert lines(folder) == expected
        assert len(calls) == 2 * (3 - whole[:cut].count(b"\n"))


def test_a_broken_line_that_is_not_the_last_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    append(path, Result(id="a", question="?"))
    path.write_bytes(path.read_bytes() + b"{}\n")
    with pytest.raises(InputError, match=r"results.jsonl, line 2, is no result"):
        read_results(path)


async def test_another_configuration_is_refused_by_name(tmp_path: Path) -> None:
    asked, folder = examples(tmp_path, 3), tmp_path / "run"
    about = {"settings": {"llm": {"model": "a", "timeout": 1}}, "name": "numbers.jsonl"}
    await run(vtg(), "vtg", asked, folder, about=about)
    before = (folder / "manifest.json").read_bytes()
    with pytest.raises(InputError, match="contains a run. Continue it"):
        await run(vtg(), "vtg", asked, folder, about=about)
    other = build_vtg(toolbox(), max_claims=2)
    with pytest.raises(InputError, match=r"parameters.max_claims \(1 there, 2 here\)\. Name"):
        await run(other, "vtg", asked, folder, about=about, resume=True)
    with pytest.raises(InputError, match=r"data.examples \(3 there, 2 here\); data.chosen"):
        await run(vtg(), "vtg", asked[:2], folder, about=about, resume=True)
    about["settings"] = {"llm": {"model": "b", "timeout": 1}}
    with pytest.raises(InputError, match=r"settings.llm.model \(a there, b here\)"):
        await run(vtg(), "vtg", asked, folder, about=about, resume=True)
    assert (folder / "manifest.json").read_bytes() == before
    about["settings"] = {"llm": {"model": "a", "timeout": 9}}
    await run(vtg(), "vtg", asked, folder, about=about, resume=True)


async def test_folders_that_cannot_be_a_run_are_refused(tmp_path: Path) -> None:
    asked = examples(tmp_path, 1)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file cannot be written"):
        await run(vtg(), "vtg", asked, tmp_path / "file")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("")
    with pytest.raises(InputError, match="mine is not empty and contains no run"):
        await run(vtg(), "vtg", asked, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/manifest.json").write_text('{"method": "vtg"}')
    with pytest.raises(InputError, match=r"manifest.json is no manifest of a run: parameters"):
        await run(vtg(), "vtg", asked, tmp_path / "broken", resume=True)


async def test_a_folder_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    asked = examples(tmp_path, 1)

    async def tell(*_: Any) -> None:
        with pytest.raises(InputError, match="is in use"):
            await run(vtg(), "vtg", asked, tmp_path / "run", resume=True)

    await run(vtg(), "vtg", asked, tmp_path / "run", on_result=tell)


async def test_a_full_disk_ends_the_run_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from citeproof.evaluation import runner

    real, left = append, 2

    def full(path: Path, result: Result) -> None:
        nonlocal left
        if not left:
            raise InputError(f"{path} cannot be written", why="No space left on device")
        left -= 1
        real(path, result)

    monkeypatch.setattr(runner, "append", full)
    asked, folder = examples(tmp_path, 6), tmp_path / "run"
    with pytest.raises(InputError, match="No space left"):
        await run(vtg(), "vtg", asked, folder, at_once=2)
    assert len(read_results(folder / "results.jsonl")) == 2
    manifest = require_manifest(folder)
    assert (manifest.totals.answered, manifest.totals.waiting) == (2, 4)


async def test_examples_must_be_there_and_have_ids_of_their_own(tmp_path: Path) -> None:
    [one] = examples(tmp_path, 1)
    with pytest.raises(InputError, match="Two examples have the id 'q0'"):
        await run(vtg(), "vtg", [one, one], tmp_path / "run")
    with pytest.raises(InputError, match="There is no example to answer"):
        await run(vtg(), "vtg", [], tmp_path / "run")
    assert not (tmp_path / "run").exists()


async def test_an_example_is_asked_with_all_its_documents(tmp_path: Path) -> None:
    asked: list[Any] = []

    class Graph:
        output_channels = ("answer",)

        async def astream(self, question: Any, **_: Any) -> Any:
            asked.append(question)
            return
            yield

    documents = tuple(Passage(id=f"d{n}", text=f"Text {n}.") for n in range(12))
    one = Example(id="a", question="?", task="qa", documents=documents)
    bare = Example(id="b", question="?", task="qa")
    manifest = await run(Graph(), "x", [one, bare], tmp_path / "run", at_once=1)
    assert asked == [{"question": "?", "documents": list(documents)}, {"question": "?"}]
    assert manifest.totals.errors == 2  # the stand-in answers nothing


async def test_flags_for_readers_are_no_part_of_the_output(tmp_path: Path) -> None:
    graph = build_vtg(
        toolbox(lambda prompt: reply(prompt) if "{" in prompt else "Pigs fly."),
        max_claims=1,
        max_trials=0,
        memory=False,
    )
    await run(graph, "vtg", examples(tmp_path, 1), tmp_path / "run")
    [result] = read_results(tmp_path / "run/results.jsonl").values()
    assert result.answer is not None
    assert result.answer.text == "Pigs fly [1]. [unverified]"
    assert result.output == "Pigs fly [1]."


def begin(folder: Path) -> tuple[subprocess.Popen[bytes], list[str]]:
    """A process that answers twelve questions, with an answer in `run`; and its command."""
    data = str(write(folder / "numbers.jsonl", 12))
    command = [sys.executable, "-m", "tests.evaluation.scripted", "eval", "--data", data]
    command += ["--out", str(folder / "run"), "--set", "max_claims=1", "--at-once", "2", "--resume"]
    slow = {**os.environ, "DELAY": "0.2"}  # it cannot end before it is told to
    process = subprocess.Popen(command, cwd=ROOT, env=slow, stderr=subprocess.PIPE)
    while process.poll() is None and not read_results(folder / "run/results.jsonl"):
        time.sleep(0.01)
    return process, command


def test_a_run_that_is_killed_ends_as_one_that_was_not(tmp_path: Path) -> None:
    process, resuming = begin(tmp_path)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    folder = tmp_path / "run"
    assert 0 < len(read_results(folder / "results.jsonl")) < 12
    subprocess.run(resuming, cwd=ROOT, check=True, capture_output=True)
    given = [(line["id"], line["output"].split()[3]) for line in lines(folder)]
    assert given == [(f"q{n}", COLOURS[n % 3]) for n in range(12)]
    sittings = require_manifest(folder).sittings
    assert [one.finished is None for one in sittings] == [True, False]


def test_ctrl_c_ends_a_run_cleanly(tmp_path: Path) -> None:
    process, _ = begin(tmp_path)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    said = "Interrupted. The answers so far are saved; continue with --resume.\n"
    assert told.decode().endswith(said)
    manifest = require_manifest(tmp_path / "run")
    assert manifest.sittings[0].finished is not None
    done = len(lines(tmp_path / "run"))
    assert 0 < done < 12
    assert (manifest.totals.answered, manifest.totals.waiting) == (done, 12 - done)
