"""A shipped adapter and its base become one cross-encoder folder, once and whole."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from citeproof.errors import FetchError
from citeproof.models import merged
from citeproof.models.merged import (
    ANSWERABILITY,
    ENTAILMENT,
    LABELS,
    MergedModel,
    merge,
    merged_models,
)
from citeproof.models.stamps import STAMP, check
from citeproof.settings import ModelSettings, Settings
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
def fetched(base: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tiny base in place of the real one; the list grows with each fetch."""
    fetched: list[int] = []

    def fetch(*_: Any, **__: Any) -> Path:
        fetched.append(1)
        return base

    monkeypatch.setattr(merged, "fetch", fetch)
    return fetched


@pytest.fixture
def model(adapter: Path) -> MergedModel:
    return MergedModel("tiny", adapter)


def test_it_is_made_once_by_whoever_comes_first(
    fetched: list[int], model: MergedModel, tmp_path: Path
) -> None:
    settings = ModelSettings(cache=tmp_path / "cache")
    with ThreadPoolExecutor(4) as pool:
        [found] = set(pool.map(model.make_folder, [settings] * 4))
    assert (found / "README.md").read_text() == "A card."
    count = len(fetched)
    assert model.make_folder(settings) == found
    assert len(fetched) == count


def test_what_was_changed_since_is_made_anew(
    fetched: list[int], model: MergedModel, tmp_path: Path
) -> None:
    """A head with another bias would prove everything."""
    settings = ModelSettings(cache=tmp_path / "cache")
    folder = model.make_folder(settings)
    weights = folder / "model.safetensors"
    whole, made = weights.read_bytes(), len(fetched)
    for damage in (whole[:-4] + b"\xff\xff\xff\xff", whole[:100], b""):
        weights.write_bytes(damage)
        assert check(folder) == "corrupt"
        assert model.make_folder(settings) == folder
        assert weights.read_bytes() == whole
    (folder / "config.json").unlink()
    (model.make_folder(settings) / STAMP).unlink()
    assert model.make_folder(settings) == folder
    assert (folder / "config.json").is_file()
    assert len(fetched) == made + 5


def test_a_copy_with_other_times_is_as_good(
    fetched: list[int], model: MergedModel, tmp_path: Path
) -> None:
    settings = ModelSettings(cache=tmp_path / "cache")
    weights = model.make_folder(settings) / "model.safetensors"
    made = len(fetched)
    os.utime(weights, (1, 1))
    model.make_folder(settings)
    assert len(fetched) == made
    assert f" {weights.stat().st_mtime_ns} " in (weights.parent / STAMP).read_text()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_another_user_may_read_it_where_the_umask_says_so(
    fetched: list[int], model: MergedModel, tmp_path: Path
) -> None:
    before = os.umask(0o022)
    try:
        folder = model.make_folder(ModelSettings(cache=tmp_path / "cache"))
    finally:
        os.umask(before)
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o644}


def test_a_failed_merge_leaves_nothing_and_says_why(
    fetched: list[int], model: MergedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(base: Path, adapter: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(merged, "merge", full)
    settings = ModelSettings(cache=tmp_path / "cache")
    with pytest.raises(FetchError, match="No space left on device"):
        model.make_folder(settings)
    assert not list((tmp_path / "cache").rglob("model.safetensors"))


def test_the_shipped_calibrations_are_sane() -> None:
    fitted = ENTAILMENT.calibration
    low, high = fitted.band
    assert 0 < low < fitted.threshold < high <= 1
    assert 0 < ANSWERABILITY.calibration.threshold < 1
    assert ENTAILMENT.name.startswith("citeproof-entailment-")
    assert ANSWERABILITY.name.startswith("citeproof-answerability-")


@pytest.mark.parametrize(
    ("sections", "loaded"),
    [
        ({}, [ENTAILMENT, ANSWERABILITY]),
        ({"answerability": {"model": "none"}}, [ENTAILMENT]),
        ({"entailment": {"model": "judge"}}, []),
        ({"entailment": {"model": "judge"}, "answerability": {"model": "local"}}, [ANSWERABILITY]),
        ({"entailment": {"base_url": "http://gpu:8000"}}, []),
        (
            {
                "entailment": {"model": "factcg", "base_url": "http://gpu:8000"},
                "answerability": {"model": "local"},
            },
            [ANSWERABILITY],
        ),
    ],
)
def test_only_what_the_settings_use_is_loaded(
    sections: dict[str, Any], loaded: list[MergedModel]
) -> None:
    assert merged_models(Settings(**sections)) == loaded
