"""`citeproof chat`: a conversation over a pipe."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from citeproof import Toolbox, build_vtg
from citeproof.console.chat import Chat
from citeproof.console.runs import LocalRuns
from citeproof.console.threads import Thread
from tests.command import run
from tests.graphs.scripts import BUILT, LIT, Script

BEFORE, ASKED, WHOLE = "Who built the tower?", "And when was it lit?", "When was the tower lit?"


class Talk(Script):
    """A script whose model is interrupted at some call."""

    interrupted: int = -1

    def reply(self, prompt: str) -> str:
        if sum(self.calls.values()) == self.interrupted:
            self.interrupted = -1
            os.kill(os.getpid(), signal.SIGINT)
        return super().reply(prompt)


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talk:
    made = Talk([BUILT, "DONE", LIT, "DONE"], [[1], [2]], rewriting=WHOLE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".citeproof").mkdir()
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: made.toolbox())
    return made


def chat(*lines: str, options: tuple[str, ...] = (), code: int | None = None) -> Any:
    return run(["chat", *options], code, input="\n".join(lines))


@pytest.mark.usefixtures("script")
def test_a_conversation_over_a_pipe() -> None:
    result = chat(BEFORE, "", ASKED, "/sources", "/save a.html", "/quit", "Never asked?", code=0)
    assert result.stdout.splitlines()[:8] == [
        f"> {BEFORE}",
        "✓ Ann Lee built the tower. [1]",
        "1 of 1 claim proved · 1 source: /sources",
        f"> {ASKED}",
        f"· asking: {WHOLE}",
        "✓ The tower was lit in 1871. [1]",
        "1 of 1 claim proved · 1 source: /sources",
        "> /sources",
    ]
    assert "[1] Light" in result.stdout
    page = Path("a.html").read_text("utf-8")
    assert WHOLE in page
    assert ASKED in page, "as the trace shows it"
    assert "Never asked?" not in result.stdout


def test_a_thread_is_resumed_by_another_process(script: Talk) -> None:
    chat(BEFORE, options=("--thread", "t"), code=0)
    result = chat("/sources", ASKED, options=("--thread", "t"))
    assert result.stdout.startswith("t: 1 question so far\n> /sources\n")
    assert "[1] Tower" in result.stdout
    assert f"· asking: {WHOLE}" in result.stdout
    assert script.queries == [BEFORE, WHOLE]
    chat("/save b.html", options=("--thread", "t"), code=0)
    assert f"Asked in a conversation: {ASKED}" in Path("b.html").read_text("utf-8")


def test_ask_with_the_same_thread_goes_on_with_the_conversation(script: Talk) -> None:
    chat(BEFORE, options=("--thread", "t"), code=0)
    assert f"· asking: {WHOLE}" in run(["ask", ASKED, "--thread", "t"], code=0).stdout
    assert script.queries == [BEFORE, WHOLE]


def test_that_an_answer_has_notes_or_near_passages_is_told(script: Talk) -> None:
    script.claims, script.rewriting = ["DONE"] * 2, "No question"
    out, _ = chat_here(script, BEFORE, ASKED)
    told = [line for line in out.splitlines() if line.endswith("/sources")]
    assert told == ["2 near passages: /sources", "2 near passages · 1 note: /sources"]


@pytest.mark.parametrize("options", [(), ("--thread", "t")])
def test_new_begins_a_conversation_without_the_one_before(
    script: Talk, options: tuple[str, ...]
) -> None:
    result = chat(BEFORE, "/new", "/sources", ASKED, options=options, code=1)  # no answer yet
    assert "There is no answer yet. Ask something first." in result.stderr
    assert "asking:" not in result.stdout
    assert script.queries == [BEFORE, ASKED]


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/nothing", "There is no /nothing. Ask, or: /sources"),
        ("/save", "/save needs a name"),
        ("/save no/such/folder/a.html", "no/such/folder"),
    ],
)
def test_what_cannot_be_done_is_told_and_the_chat_goes_on(line: str, told: str) -> None:
    result = chat(BEFORE, line, ASKED, code=1)
    assert told in result.stderr
    assert "✓ The tower was lit in 1871. [1]" in result.stdout


def chat_here(script: Talk, *lines: str) -> tuple[str, str]:
    """A chat in this process, which an interrupt can reach; its output and what it complains of."""

    def build(**more: Any) -> Any:
        return build_vtg(script.toolbox(), **more)

    out, err = io.StringIO(), io.StringIO()
    console, complaints = (Console(file=file, width=99) for file in (out, err))
    own = Chat(LocalRuns(build), Thread("chat"), console, complaints)
    assert own.run(io.StringIO("\n".join(lines))) == 0
    return out.getvalue(), err.getvalue()


def test_ctrl_c_stops_the_answer_and_not_the_chat(script: Talk) -> None:
    script.interrupted, script.claims = 1, [BUILT, LIT, "DONE"]
    out, err = chat_here(script, BEFORE, ASKED)
    assert err == "Stopped.\n"
    assert out.endswith(
        f"> {ASKED}\n✓ The tower was lit in 1871. [1]\n1 of 1 claim proved · 1 source: /sources\n"
    )


def test_asked_the_same_again_a_stopped_answer_goes_on(script: Talk) -> None:
    script.interrupted = 3
    script.claims, script.citations = [BUILT, LIT, "DONE"], [[1], [2], [2]]
    out, err = chat_here(script, BEFORE, BEFORE)
    assert err == "Stopped.\n"
    assert script.queries == [BEFORE], "it has searched once"
    assert script.calls == {"claim_generator": 3, "citation_generator": 3}
    assert out.splitlines()[2:] == [
        f"> {BEFORE}",
        "✓ The tower was lit in 1871. [1]",
        "",
        "Answer",
        "✓ Ann Lee built the tower. [1]",
        "✓ The tower was lit in 1871. [2]",
        "2 of 2 claims proved · 2 sources: /sources",
    ]
