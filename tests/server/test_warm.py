"""`ask`, `chat` and `check` use a server of the same store, and answer as without it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import httpx
import pytest
import uvicorn
from rich.console import Console

from citeproof import Answer, CheckReport, Passage, Toolbox, cli
from citeproof.console.chat import Chat
from citeproof.console.runs import RemoteRuns, post
from citeproof.console.threads import Checkpoints, Thread
from citeproof.console.warm import Note, find_server, fingerprint
from citeproof.errors import CiteproofError, ModelError
from citeproof.runtime.events import AnswerReady, ReviewRequested
from citeproof.settings import ChromaSettings, Settings
from citeproof.testing import ListRetriever, TableEntailment
from citeproof.tools.entailment import Pair
from tests.command import run
from tests.graphs.scripts import BUILT, LIT, Script, timeless
from tests.server.serving import (
    ANSWER,
    QUESTION,
    StuckModel,
    reply,
    served,
    toolbox,
    word_index,
)

NOTE = Path(".citeproof/serve.json")
TEXT = "Ann Lee built the tower. Cy Fox built the tower.\n"
"""Scripted models, with an index of words: what a server and a command line both open."""


refuse = AsyncMock(side_effect=AssertionError("nobody decides"))


def tools(*_: Any, **__: Any) -> Toolbox:
    return toolbox(index=word_index(Path(".citeproof")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an index, and a real server of it in a process of its own."""
    made = tmp_path_factory.mktemp("warm")
    (made / "tower.md").write_text("Ann Lee built the tower.\n\nThe tower was lit in 1871.\n")
    index = word_index(made / ".citeproof")
    index.update([made / "tower.md"])
    index.close()
    command = [sys.executable, "-m", __name__, str(made)]
    log = (made / "log").open("w")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("Open http://127.0.0.1:")
        yield made
        assert (made / NOTE).exists()
        server.terminate()  # as a service manager does; Ctrl-C leaves by an exception
        assert server.wait(60) == 128 + signal.SIGTERM
    assert not (made / NOTE).exists(), "it takes its note away"


@pytest.fixture
def opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line in that folder; what it has opened by itself."""
    found: list[str] = []

    def open_tools(*_: Any, **__: Any) -> Toolbox:
        found.append("models")
        return tools()

    monkeypatch.chdir(folder)
    monkeypatch.setattr(Toolbox, "from_settings", open_tools)
    return found


def warm_and_cold(command: list[str], opened: list[str], **more: Any) -> tuple[Any, Any]:
    """What a command gives with the server, and without it."""
    warm = run(command, **more)
    assert opened == [], warm.output
    cold = run([*command, "--cold"], **more)
    assert opened == ["models"], cold.output
    assert warm.exit_code == cold.exit_code, warm.output
    return warm, cold


@pytest.mark.parametrize("more", [[], ["--set", "max_claims=1"], ["--method", "vanilla"]])
def test_the_answer_is_that_of_this_process(opened: list[str], more: list[str]) -> None:
    warm, cold = warm_and_cold(["ask", QUESTION, "--json", *more], opened)
    first, second = map(Answer.model_validate_json, (warm.stdout, cold.stdout))
    assert timeless(first) == timeless(second)
    assert {one.source for one in first.passages} <= {str(Path("tower.md").absolute())}
    assert "Using the models of citeproof serve" not in cold.stderr


def test_pages_and_events_are_those_of_this_process(opened: list[str]) -> None:
    def seen(place: str) -> tuple[str, list[str]]:
        page = Path(f"{place}.html").read_text("utf-8")
        lines = map(json.loads, Path(f"{place}.jsonl").read_text("utf-8").splitlines())
        first, *others = lines
        return json.dumps(first["graph"]), [one["event"]["type"] for one in others if page]

    for place, more in (("warm", []), ("cold", ["--cold"])):
        files = ["--html", f"{place}.html", "--events", f"{place}.jsonl"]
        run(["ask", QUESTION, *files, *more], code=0)
    assert opened == ["models"]
    assert seen("warm") == seen("cold")


def test_a_thread_goes_on_with_and_without_the_server(opened: list[str]) -> None:
    named = ["--thread", "t"]
    run(["chat", *named], input=QUESTION, code=0)
    assert opened == []
    cold = run(["chat", *named, "--cold"], input="/sources")
    assert cold.stdout.startswith("t: 1 question so far\n")
    warm = run(["chat", *named], input="/sources\n/new\n/sources")
    assert warm.stdout.startswith("t: 1 question so far\n")
    assert "There is no answer yet" in warm.stderr


def test_a_chat_without_a_name_answers_alike(opened: list[str]) -> None:
    warm, cold = warm_and_cold(["chat"], opened, input=f"{QUESTION}\n/sources")
    first, second = (told.stdout.splitlines()[:-1] for told in (warm, cold))  # the last has times
    assert first == second


@pytest.mark.parametrize("thread", [None, "automatic", "named"])
async def test_a_claim_is_decided_on_from_afar(tmp_path: Path, thread: str | None) -> None:
    script = Script(["Cy Fox built it."] * 2 + [LIT, "DONE"], [[1], [1], [2]], [["Who?"]])
    kept = Thread("t", Checkpoints(tmp_path), automatic=thread == "automatic")
    asked: list[str] = []

    async def decide(request: ReviewRequested) -> dict[str, str]:
        asked.append(request.claim.text)
        return {"decision": "drop"}

    with served(tmp_path, script.toolbox(), own="secret") as url:
        note = Note(address=url, pid=0, host="", token="secret", settings="")
        runs = RemoteRuns(note, "vtg", {"review": True, "max_trials": 0})
        told = runs.ask(QUESTION, kept if thread else None, decide, review=True)
        *_, last = [moment.event async for moment in told if moment.event.type == "answer_ready"]
        wrong = RemoteRuns(note.model_copy(update={"token": "other"}), "vtg")
        with pytest.raises(CiteproofError, match="the command line of the same user"):
            await wrong.begun(kept)
        assert httpx.get(f"{url}/api/warm").status_code == 401
    assert isinstance(last, AnswerReady)
    assert (asked, last.answer.text) == (["Cy Fox built it."], "The tower was lit in 1871 [1].")
    assert kept.is_kept is (thread == "named")


class _StuckEntailment(TableEntailment):
    """Never scores; tells when it is asked, and when its caller gives up."""

    def __init__(self) -> None:
        super().__init__({})
        self.asked, self.given_up = threading.Event(), threading.Event()

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        self.asked.set()
        try:
            return await asyncio.Future()
        finally:
            self.given_up.set()


async def test_a_check_ends_when_its_command_goes_away(tmp_path: Path) -> None:
    stuck = _StuckEntailment()
    with served(tmp_path, toolbox(entailment=stuck), own="secret") as url:
        note = Note(address=url, pid=0, host="", token="secret", settings="")
        asking = asyncio.create_task(post(note, "check", {"text": BUILT}))
        assert await asyncio.to_thread(stuck.asked.wait, 60)
        asking.cancel()
        assert await asyncio.to_thread(stuck.given_up.wait, 60)


def test_a_server_without_models_is_of_no_use(tmp_path: Path) -> None:
    failing = Mock(side_effect=ModelError("The model cannot be downloaded", why="offline"))
    settings = Settings(chroma=ChromaSettings(path=tmp_path))
    with served(tmp_path, failing, own="secret") as url:
        told = httpx.post(f"{url}/api/check", json={"text": BUILT}, timeout=60)
        assert told.status_code == 503, "it has failed to open them"
        own = {"pid": os.getpid(), "host": socket.gethostname(), "settings": fingerprint(settings)}
        file = tmp_path / "serve.json"
        file.write_text(Note(address=url, token="secret", **own).model_dump_json())
        file.chmod(0o600)
        assert find_server(settings) is None
        assert file.exists()


def test_a_chat_whose_server_ends_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteRuns, "begun", AsyncMock(return_value=(None, 0)))
    gone = Note(address="http://127.0.0.1:9", pid=0, host="", token="", settings="")
    console = Console(file=(told := io.StringIO()), width=200)
    own = Chat(RemoteRuns(gone, "vtg"), Thread("t"), console, console)
    assert own.run(io.StringIO(QUESTION)) == 1
    assert "Run the command again" in told.getvalue()


def test_a_prompt_that_cannot_be_read_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "citation_generator.md").write_bytes(b"caf\xe9")
    command = ["serve", "--port", "0", "--store", str(tmp_path / "s")]
    told = run([*command, "--set", f"prompts={tmp_path}"], code=2).stderr
    assert f"The prompt '{tmp_path / 'citation_generator.md'}' cannot be read" in told


@pytest.mark.parametrize("line_end", ["\x85", "\u2028", "\u2029"])
async def test_a_text_may_have_line_ends_of_unicode(tmp_path: Path, line_end: str) -> None:
    passage = Passage(id="a", text=f"{BUILT}{line_end}It is tall.", title="Tower")
    own = toolbox()
    own.retriever = ListRetriever([passage])
    with served(tmp_path, own, own="secret") as url:
        runs = RemoteRuns(Note(address=url, pid=0, host="", token="secret", settings=""), "vtg")
        told = [moment.event async for moment in runs.ask(QUESTION, None, refuse)]
    [last] = [event for event in told if isinstance(event, AnswerReady)]
    assert last.answer.passages == (passage,)


async def test_a_conversation_is_answered_on_the_page_or_from_afar(tmp_path: Path) -> None:
    model = StuckModel(reply)
    kept = Thread("t", Checkpoints(tmp_path))
    with served(tmp_path, toolbox(model), own="secret") as url:
        runs = RemoteRuns(Note(address=url, pid=0, host="", token="secret", settings=""), "vtg")
        body = {"question": QUESTION, "conversation": "t"}
        async with httpx.AsyncClient() as http, http.stream("POST", f"{url}/api/ask", json=body):
            assert await asyncio.to_thread(model.stuck.wait, 60)
            for one in (anext(runs.ask(QUESTION, kept, refuse)), runs.forget(kept)):
                with pytest.raises(CiteproofError, match="This conversation is being answered"):
                    await one


@pytest.mark.parametrize("own", ["127.0.0.1", "::1"])
def test_localhost_is_noted_as_the_address_that_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str
) -> None:
    def read_note(_: uvicorn.Server, sockets: list[socket.socket]) -> None:
        noted.append(json.loads((tmp_path / "serve.json").read_text())["address"])
        addresses.append(sockets[0].getsockname()[:2])

    noted: list[str] = []
    addresses: list[tuple[str, int]] = []
    find = partial(socket.getaddrinfo, own)  # which of the two comes first is up to the system
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *given, **more: find(*given, **more))
    monkeypatch.setattr(uvicorn.Server, "run", read_note)
    run(["serve", "--host", "localhost", "--port", "0", "--store", str(tmp_path)], code=0)
    [(host, port)] = addresses
    assert host == own
    assert noted == [f"http://{f'[{own}]' if ':' in own else own}:{port}"]


def test_a_text_is_checked(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "citeproof.console.checking.searching", lambda *_, **__: pytest.fail("cold")
    )
    Path("text.txt").write_text(TEXT)
    told = run(["check", "text.txt", "--json"])
    report = CheckReport.model_validate_json(told.stdout)
    assert [one.verdict for one in report.sentences] == ["uncited", "unsupported"]
    assert told.exit_code == 1


@pytest.mark.parametrize(
    "more",
    [
        ["--llm", "openai:gpt-4o"],
        ["--set", "entailment.threshold=0.4"],
        ["--docs", "tower.md"],
        ["--cold"],
    ],
)
def test_other_settings_and_documents_are_for_this_process(
    opened: list[str], more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citeproof.console.ask.read_first", lambda *_: None)
    run(["ask", QUESTION, *more], code=0)
    assert opened == ["models"]


def test_an_error_at_the_server_is_the_same_error(opened: list[str]) -> None:
    lost = run(["ask", "A" * 20, "--method", "vanilla", "--set", "k=0"], code=2)
    assert "The parameter k cannot be" in lost.stderr


def test_a_command_of_its_own_needs_no_models(folder: Path) -> None:
    command = [sys.executable, "-c", "from citeproof.cli import main; main()", "ask", QUESTION]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert ANSWER.split(" [1]")[0] in done.stdout
    assert "Using the models of citeproof serve at http://127.0.0.1:" in done.stderr


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        ({"pid": 2**22 + 1}, False),  # of a process that is gone
        ({"address": "http://127.0.0.1:9"}, False),
        ({"address": "http://example.org:80"}, True),
        ({"host": "elsewhere"}, True),
        ({"settings": "others"}, True),
    ],
)
def test_a_note_of_no_use_is_ignored(
    opened: list[str], change: dict[str, Any], stays: bool
) -> None:
    before = NOTE.read_bytes()
    NOTE.write_text(json.dumps(json.loads(before) | change))
    try:
        run(["ask", QUESTION], code=0)
        assert (opened, NOTE.exists()) == (["models"], stays)
    finally:
        NOTE.write_bytes(before)
        NOTE.chmod(0o600)


def test_a_note_that_others_could_have_written_is_ignored(opened: list[str]) -> None:
    assert NOTE.stat().st_mode & 0o777 == 0o600
    NOTE.chmod(0o644)
    try:
        run(["ask", QUESTION], code=0)
    finally:
        NOTE.chmod(0o600)
    assert opened == ["models"]


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    setattr(Toolbox, "from_settings", tools)  # noqa: B010
    sys.argv = ["citeproof", "serve", "--port", "0"]
    cli.main()
