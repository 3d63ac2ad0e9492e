"""`ask --review` at a terminal: a person approves, edits, drops, or comes back later."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console

from citeproof import Toolbox, cli
from citeproof.console import review
from citeproof.errors import InputError
from citeproof.runtime.events import ReviewRequested
from citeproof.types import Citation, Claim, Passage, Verdict
from tests.command import run
from tests.graphs.scripts import BUILT, LIT, Script

WRONG = "Cy Fox built the tower."
ASK = ["ask", "Who built the tower?", "--review", "--set", "max_trials=0"]
PROMPT = "[q]uit: "
WORDS = "In your words: "
STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Seen(NamedTuple):
    """What a command left."""

    code: int
    text: str


def at_terminal(folder: Path, arguments: Sequence[str], *typed: tuple[str, str]) -> Seen:
    """The command line on scripted tools, at a terminal of its own.

    Args:
        folder: Where it runs.
        arguments: Of the command.
        *typed: What is waited for, and what is typed then.
    """
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    environment["LANGGRAPH_STRICT_MSGPACK"] = "true"  # as the command line has it, here set sooner
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(folder), *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    read, text, left = b"", "", list(typed)
    while True:
        try:
            read += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        text = STYLES.sub("", read.decode(errors="replace"))
        if left and text.rstrip("\r\n").endswith(left[0][0]):
            keys = left.pop(0)[1]
            if keys == "^C":  # it is no controlling terminal, which would send this by itself
                # Python misses a signal that comes between the prompt and the read behind it.
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
            else:
                os.write(ours, f"{keys}\n".encode())
    os.close(ours)
    assert left == [], text
    return Seen(process.wait(timeout=60), text)


def test_a_person_edits_approves_and_drops(tmp_path: Path) -> None:
    keys = [(PROMPT, "x"), (PROMPT, "e"), (WORDS, "Cy Fox helped."), (PROMPT, "a"), (PROMPT, "d")]
    code, text = at_terminal(tmp_path, ASK, *keys)
    assert code == 0, text
    assert "Nothing proves this claim:" in text
    assert f"“{BUILT}”" in text
    assert "Please select one of the available options" in text
    assert "Cy Fox helped. [1] (unverified, approved by a person)" in text
    assert "Bad one. (rejected: dropped: it could not be verified)" in text
    assert f"{LIT} [2]" in text
    assert "partial · 1 of 2 claims proved" in text


@pytest.mark.parametrize("keys", ["q", "^C"])
def test_who_quits_at_the_prompt_is_asked_again_later(tmp_path: Path, keys: str) -> None:
    kept = [*ASK, "--thread", "t"]
    code, text = at_terminal(tmp_path, kept, (PROMPT, keys))
    assert code == 130, text
    assert "The run is saved" in text
    calls = (tmp_path / "calls").read_text(encoding="utf-8")
    kept.remove("--review")  # what waits is asked about all the same, what comes after it is not
    code, text = at_terminal(tmp_path, kept, (PROMPT, "d"))
    assert code == 0, text
    assert "answer: Bad one [1]. [unverified] The tower was lit in 1871 [2]." in text
    assert (tmp_path / "calls").read_text(encoding="utf-8").startswith(calls)


def test_without_a_terminal_a_review_is_refused_before_models_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Toolbox, "from_settings", lambda *_, **__: pytest.fail("opened"))
    for wish in (["--review"], ["--set", "review=true"]):
        result = run([*ASK[:2], *wish], input="a\n", code=2)
        assert result.stderr.startswith("A claim can be reviewed only at a terminal: nobody can ")
        assert result.stdout == ""


def test_what_strangers_wrote_is_neither_markup_nor_control(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evil = "[red]R[/red] \x1b]0;owned\x07\u202eabc"
    request = ReviewRequested(
        claim=Claim(
            text=evil,
            citations=(Citation(passage_id="p", number=1, sentence=evil),),
            verdict=Verdict(status="unsupported", score=0.3, trials=2, reason=evil),
        ),
        passages=(Passage(id="p", text=evil, title=evil),),
        problem=evil,
    )
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    monkeypatch.setattr(sys, "stdin", Keys("a\n"))
    assert asyncio.run(review.decide(request, console)) == {"decision": "approve", "text": ""}
    assert out.getvalue().count("[red]R[/red] ]0;ownedabc") == 5
    assert "score 0.30, 2 trials" in out.getvalue()


def test_a_prompt_leaves_the_signals_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    request = ReviewRequested(
        claim=Claim(text=WRONG, verdict=Verdict(status="unsupported")), passages=()
    )
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(sys, "stdin", Keys(""))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(review.decide(request, Console(file=io.StringIO(), force_terminal=True)))
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(InputError):
        asyncio.run(review.decide(request, Console(file=io.StringIO(), force_terminal=False)))


class Keys(io.StringIO):
    """What is typed at a terminal."""

    def isatty(self) -> bool:
        return True


def main(folder: Path, arguments: list[str]) -> None:
    """The command line, over a model that says the same in every process."""

    class Logged(Script):
        def _next(self, node: str, replies: Sequence[Any], prompt: str) -> str:
            done = log.read_text(encoding="utf-8") if log.exists() else ""
            self.calls[node] = done.count(node)
            log.write_text(f"{done}{node}\n", encoding="utf-8")
            return super()._next(node, replies, prompt)

    os.chdir(folder)
    Path(".citeproof").mkdir(exist_ok=True)
    log = folder / "calls"
    claims = [WRONG, WRONG, "Bad one.", "Bad one.", LIT, "DONE"]
    script = Logged(claims, [[1]] * 4 + [[2]], questions=[["Who?"]] * 2)
    setattr(Toolbox, "from_settings", lambda *_, **__: script.toolbox())  # noqa: B010
    sys.argv = ["citeproof", *arguments]
    cli.main()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
