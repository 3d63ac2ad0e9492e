"""The shipped adapter and its base become one cross-encoder folder, once and whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import FetchError
from citeproof.models import entailment
from citeproof.models.entailment import LABELS, calibration, entailment_folder, merge
from citeproof.models.stamps import STAMP, check
from citeproof.settings import ModelSettings
from tests.models.tiny import tiny_mpnet

RANK, ALPHA = 2, 4
TARGET = "mpnet.encoder.layer.0.attention.attn.q"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny_mpnet(tmp_path / "base")


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """Random low-rank maps for one layer, and a head, in peft's format."""
    import torch
    from safetensors.torch import save_file

    folder = tmp_path / "adapter"
    folder.mkdir()
    begin = "base_model.model."
    weights = {
        f"{begin}{TARGET}.lora_A.weight": torch.randn(RANK, 16),
        f"{begin}{TARGET}.lora_B.weight": torch.randn(16, RANK),
        f"{begin}classifier.dense.weight": torch.randn(16, 16),
        f"{begin}classifier.dense.bias": torch.randn(16),
        f"{begin}classifier.out_proj.weight": torch.randn(3, 16),
        f"{begin}classifier.out_proj.bias": torch.randn(3),
    }
    save_file(
        {name: value.half() for name, value in weights.items()},
        folder / "adapter_model.safetensors",
    )
    (folder / "adapter_config.json").write_text(json.dumps({"r": RANK, "lora_alpha": ALPHA}))
    (folder / "README.md").write_text("A card.")
    fitted = {"threshold": 0.5, "band": [0.2, 0.8], "blend": [1, 1, 0]}
    fitted |= {"contradiction": 0.8, "answerability": 0.5}
    (folder / "calibration.json").write_text(json.dumps(fitted))
    return folder


def test_a_map_gets_its_adapter_and_all_else_stays_an_ordinary_cross_encoder(
    base: Path, adapter: Path, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForSequenceClassification

    merged = tmp_path / "merged"
    merged.mkdir()
    merge(base, adapter, merged)
    before, after, tuned = (
        load_file(next(folder.glob("*.safetensors"))) for folder in (base, merged, adapter)
    )
    down = tuned[f"base_model.model.{TARGET}.lora_A.weight"].float()
    up = tuned[f"base_model.model.{TARGET}.lora_B.weight"].float()
    name = TARGET.removeprefix("mpnet.") + ".weight"
    assert torch.allclose(
        after[f"mpnet.{name}"], before[name] + ALPHA / RANK * up @ down, atol=1e-6
    )
    same = [n for n in before if n != name and "pooler" not in n]
    assert len(same) > 10
    assert all(torch.equal(after[f"mpnet.{n}"], before[n]) for n in same)
    model, report = AutoModelForSequenceClassification.from_pretrained(
        merged, output_loading_info=True
    )
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert tuple(model.config.id2label.values()) == LABELS


@pytest.fixture
def shipped(
    base: Path, adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[int]]:
    """The tiny ones in place of the shipped ones; the list grows with each fetch."""
    fetched: list[int] = []

    def fetch(*_: Any, **__: Any) -> Path:
        fetched.append(1)
        return base

    monkeypatch.setattr(entailment, "fetch", fetch)
    monkeypatch.setattr(entailment, "_ADAPTER", adapter)
    calibration.cache_clear()
    yield fetched
    calibration.cache_clear()


def test_it_is_made_once_by_whoever_comes_first(shipped: list[int], tmp_path: Path) -> None:
    settings = ModelSettings(cache=tmp_path / "cache")
    with ThreadPoolExecutor(4) as pool:
        [found] = set(pool.map(entailment_folder, [settings] * 4))
    assert (found / "README.md").read_text() == "A card."
    count = len(shipped)
    assert entailment_folder(settings) == found
    assert len(shipped) == count


def test_what_was_changed_since_is_made_anew(shipped: list[int], tmp_path: Path) -> None:
    """A head with another bias would prove everything."""
    settings = ModelSettings(cache=tmp_path / "cache")
    folder = entailment_folder(settings)
    weights = folder / "model.safetensors"
    whole, made = weights.read_bytes(), len(shipped)
    for damage in (whole[:-4] + b"\xff\xff\xff\xff", whole[:100], b""):
        weights.write_bytes(damage)
        assert check(folder) == "corrupt"
        assert entailment_folder(settings) == folder
        assert weights.read_bytes() == whole
    (folder / "config.json").unlink()
    (entailment_folder(settings) / STAMP).unlink()
    assert entailment_folder(settings) == folder
    assert (folder / "config.json").is_file()
    assert len(shipped) == made + 5


def test_a_copy_with_other_times_is_as_good(shipped: list[int], tmp_path: Path) -> None:
    settings = ModelSettings(cache=tmp_path / "cache")
    weights = entailment_folder(settings) / "model.safetensors"
    made = len(shipped)
    os.utime(weights, (1, 1))
    entailment_folder(settings)
    assert len(shipped) == made
    assert f" {weights.stat().st_mtime_ns} " in (weights.parent / STAMP).read_text()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_another_user_may_read_it_where_the_umask_says_so(
    shipped: list[int], tmp_path: Path
) -> None:
    before = os.umask(0o022)
    try:
        folder = entailment_folder(ModelSettings(cache=tmp_path / "cache"))
    finally:
        os.umask(before)
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o644}


def test_a_failed_merge_leaves_nothing_and_says_why(
    shipped: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(base: Path, adapter: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(entailment, "merge", full)
    settings = ModelSettings(cache=tmp_path / "cache")
    with pytest.raises(FetchError, match="No space left on device"):
        entailment_folder(settings)
    assert not list((tmp_path / "cache").rglob("model.safetensors"))


def test_the_shipped_calibration_is_sane() -> None:
    fitted = calibration()
    low, high = fitted.band
    assert 0 < low < fitted.threshold < high <= 1
    assert fitted.name.startswith("citeproof-entailment-")
