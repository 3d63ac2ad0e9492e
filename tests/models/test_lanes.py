"""Parts that are computed side by side come back in order, and leave torch as it was."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from citeproof.models import lanes
from citeproof.models.lanes import in_lanes, take_turns


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "cores", lambda: 2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)


@pytest.mark.usefixtures("two_cores")
def test_parts_run_at_once_and_come_back_in_order() -> None:
    both = threading.Barrier(2)

    def run(part: int) -> tuple[int, bool]:
        both.wait(timeout=20)  # breaks unless two run at the same time
        time.sleep(0.02 * (part % 2))
        return part, threading.current_thread() is threading.main_thread()

    assert in_lanes(run, [0, 1, 2, 3], "cpu") == [(part, False) for part in range(4)]


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(("parts", "device"), [(3, "cpu"), (8, "cuda"), (0, "cpu")])
def test_few_parts_and_a_gpu_have_one_lane(parts: int, device: str) -> None:
    threads = in_lanes(lambda _: threading.current_thread(), range(parts), device)
    assert threads == [threading.main_thread()] * parts


@pytest.mark.usefixtures("two_cores")
def test_the_first_failure_is_told_and_the_rest_is_left() -> None:
    seen: list[int] = []

    def run(part: int) -> None:
        seen.append(part)
        time.sleep(0.02)
        if part == 0:
            raise ValueError("part 0")

    with pytest.raises(ValueError, match="part 0"):
        in_lanes(run, range(50), "cpu")
    assert len(seen) < 50


@pytest.mark.skipif(torch.get_num_threads() < 2, reason="one core computes in one lane")
def test_a_lane_has_one_core_and_other_threads_keep_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = torch.get_num_threads()
    monkeypatch.setattr(lanes, "cores", lambda: 2)
    inside = in_lanes(lambda _: torch.get_num_threads(), range(2 * before), "cpu")
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(torch.get_num_threads).result()

    assert set(inside) == {1}
    assert torch.get_num_threads() == before
    assert later == before


def test_lanes_tokenize_one_after_the_other() -> None:
    class Model:
        inside = 0
        most = 0

        def preprocess(self, text: str, *, prompt: str | None) -> str:
            self.inside += 1
            self.most = max(self.most, self.inside)
            time.sleep(0.005)
            self.inside -= 1
            return f"{prompt}{text}"

    model = Model()
    take_turns(model)
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: model.preprocess(str(n), prompt="p"), range(8))

    assert list(answers) == [f"p{n}" for n in range(8)]
    assert model.most == 1
