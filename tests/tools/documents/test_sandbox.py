"""Reading in a process with limits."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import DocumentError, MissingExtraError
from citeproof.tools.documents.base import Document, Part, from_json, to_json
from citeproof.tools.documents.files import parse
from citeproof.tools.documents.sandbox import Sandbox
from citeproof.types import Box

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no limits")
PAGE = Path("/docs/a.html")
GOOD = b"<title>Lamp</title><h1>Lamp</h1><p>It burns.<table><tr><th>a<th>b<tr><td>1<td>2</table>"


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    box = Sandbox()
    yield box
    box.close()


def test_it_reads_what_the_reader_reads(sandbox: Sandbox) -> None:
    assert sandbox.parse(GOOD, PAGE) == parse(GOOD, PAGE)
    text = Path("/docs/a.txt")
    assert sandbox.parse(b"It burns.", text) == parse(b"It burns.", text)


def test_the_process_is_started_once(sandbox: Sandbox) -> None:
    """However much memory the one that starts it has taken."""
    ours = bytearray(1 << 30)
    ours[:: 1 << 12] = b"x" * (1 << 18)
    sandbox.memory = 1 << 30
    sandbox.parse(GOOD, PAGE)
    first = sandbox._running
    sandbox.parse(GOOD, PAGE)
    assert first
    assert sandbox._running is first


def test_modules_of_the_folder_at_hand_are_not_run(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    assert sandbox.parse(GOOD, PAGE).title == "Lamp"


def test_errors_come_back_as_they_are(sandbox: Sandbox) -> None:
    for name, data in (("a.docx", b"PK no"), ("a.html", b"<p>"), ("a.xyz", b"x")):
        with pytest.raises(DocumentError) as here:
            parse(data, Path(name))
        with pytest.raises(DocumentError) as there:
            sandbox.parse(data, Path(name))
        assert str(there.value) == str(here.value)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"wall_seconds": 0.7}, "more than 0.7 seconds"),
        ({"processor_seconds": 1}, "more than 1 seconds of processor time"),
        ({"memory": 400 << 20}, "memory"),
    ],
)
def test_a_file_beyond_a_limit_costs_only_itself(limits: dict[str, Any], why: str) -> None:
    box = Sandbox(**limits)
    try:
        with pytest.raises(DocumentError, match=why):
            box.parse(b"<p>a" * 3_000_000, PAGE)
        box.wall_seconds = 60
        assert box.parse(GOOD, PAGE) == parse(GOOD, PAGE)
    finally:
        box.close()


def test_a_process_that_dies_costs_only_its_file(sandbox: Sandbox) -> None:
    sandbox.parse(GOOD, PAGE)
    assert sandbox._running
    os.kill(sandbox._running[0].pid, signal.SIGSEGV)
    with pytest.raises(DocumentError, match=r"crashed \(signal 11\)"):
        sandbox.parse(GOOD, PAGE)
    assert sandbox.parse(GOOD, PAGE).title == "Lamp"


def test_transport_keeps_everything() -> None:
    box = Box(start=0, end=2, left=0, top=0, right=1, bottom=1)
    text = "It burns \ud83d."
    parts = (
        Part(text, 0, 1, 5, "Lamp", ("a", "b"), 2, "sheet x", (box,), ((0, 2),), (7,), "id", "s"),
        Part(text, 5, 5, 9),
    )
    document = Document("/a", "Lamp", parts, ("a problem",))
    assert from_json(to_json(document)) == document
    with pytest.raises(MissingExtraError, match="what: why. fix"):
        from_json(to_json(MissingExtraError("what", why="why", fix="fix")))
