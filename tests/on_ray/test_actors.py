from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from citeproof.actors import Actors
from citeproof.console.on_ray import keep_apart
from citeproof.errors import MissingExtraError, SettingsError
from citeproof.settings import RaySettings, Settings
from citeproof.testing import TableEntailment
from citeproof.tools.entailment import Pair, Score
from citeproof.tools.entailment.token_labels import UnsupportedSpan
from citeproof.tools.spread import SpreadEntailment


class Judge(TableEntailment):
    reads_many = True

    async def spans(self, pair: Pair) -> list[UnsupportedSpan]:
        return [UnsupportedSpan(0, 1, pair.hypothesis, 0.5)]


@contextmanager
def open_judge() -> Iterator[Judge]:
    yield Judge(lambda premise, hypothesis: Score(float(hypothesis in premise), 0.25))


async def test_an_entailment_model_in_actors_scores_as_it_does_here() -> None:
    pairs = [Pair(f"Number {n}.", f"Number {n % 7}.") for n in range(50)]
    with open_judge() as here, Actors(open_judge, RaySettings(actors=2)) as actors:
        there = SpreadEntailment(actors)
        known = (there.name, there.threshold, there.reads_many)
        assert known == (here.name, here.threshold, True)
        scores = await there.scores(pairs)
        assert scores == await here.scores(pairs)
        assert [getattr(score, "contradiction", None) for score in scores] == [0.25] * 50
        assert there.spans is not None
        assert await there.spans(pairs[3]) == await here.spans(pairs[3])


def test_tools_are_closed_at_the_end(tmp_path: Path) -> None:
    @contextmanager
    def opening() -> Iterator[Path]:
        yield tmp_path
        (tmp_path / "closed").touch()

    with Actors(opening, RaySettings(actors=1)) as actors:
        assert actors.submit(str).result() == str(tmp_path)
        assert not (tmp_path / "closed").exists()
    assert (tmp_path / "closed").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"actors": 3, "cpus": 1}, "There is no room for 3 actors of 1 cores and 0 GPUs: "),
        ({"gpus": 1}, "There is no room for 1 actors of 2 cores and 1 GPUs: "),
    ],
)
def test_more_actors_than_there_is_room_for_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message), Actors(open_judge, RaySettings(**settings)):
        pass


def test_a_cluster_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = RaySettings(address=f"127.0.0.1:{port}")
    with pytest.raises(SettingsError, match=rf"There is no Ray at 127\.0\.0\.1:{port}: "):
        Actors(open_judge, settings).__enter__()


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r'pip install "citeproof\[ray\]"'):
        Actors(open_judge).__enter__()


@pytest.mark.parametrize("share", [{"cpus": 1.5}, {"gpus": 2.5}])
def test_a_share_that_ray_does_not_have_is_refused(share: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="write a whole number, or a share below 1"):
        Settings(**{"ray": share})


def test_what_ray_tells_of_a_dead_actor_is_not_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def die_once(judge: Judge) -> str:
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        return "lives"

    told = ""
    with keep_apart(), Actors(open_judge, RaySettings(actors=1)) as actors:
        sys.stdout.write(actors.submit(die_once).result() + "\n")
        end = time.monotonic() + 30
        while "A worker died" not in told:
            assert time.monotonic() < end, told
            time.sleep(0.1)
            output, errors = capsys.readouterr()
            told += errors
            assert output in ("lives\n", "")
