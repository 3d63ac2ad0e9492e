"""The average of two adapters adds up to the mean of their products."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import typer
from safetensors.torch import load_file, save_file

from training.average import average, reduce_rank

_HEAD = "base_model.model.classifier.out_proj.weight"
_MAP = "base_model.model.layer.lora_{}.weight"


def _adapter(folder: Path, down: torch.Tensor, up: torch.Tensor, head: float) -> Path:
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"r": len(down), "lora_alpha": 4}))
    tensors = {_MAP.format("A"): down, _MAP.format("B"): up, _HEAD: torch.full((2, 3), head)}
    save_file(tensors, folder / "adapter_model.safetensors")
    return folder


def test_the_product_of_the_average_is_the_average_of_the_products(tmp_path: Path) -> None:
    torch.manual_seed(1)
    downs, up = (torch.randn(2, 6), torch.randn(2, 6)), torch.randn(5, 2)
    given = [_adapter(tmp_path / f"{n}", downs[n], up, float(n)) for n in (0, 1)]
    average(given, tmp_path / "out", share=0.25)
    found = load_file(tmp_path / "out" / "adapter_model.safetensors")
    # Both have the same second map, so the average has rank 2 as well, and nothing is lost.
    expected = up @ (0.75 * downs[0] + 0.25 * downs[1])
    product = found[_MAP.format("B")] @ found[_MAP.format("A")]
    assert found[_MAP.format("A")].shape == (2, 6)
    assert torch.allclose(product, expected, atol=1e-5)
    assert torch.allclose(found[_HEAD], torch.full((2, 3), 0.25))
    assert json.loads((tmp_path / "out" / "adapter_config.json").read_text())["r"] == 2


def test_a_higher_rank_is_brought_back_as_closely_as_possible() -> None:
    torch.manual_seed(2)
    down, up = torch.randn(4, 6), torch.randn(5, 4)
    lower, upper = reduce_rank(down, up, 2)
    missed = torch.linalg.matrix_norm(up @ down - upper @ lower)
    assert torch.allclose(missed, torch.linalg.svdvals(up @ down)[2:].norm(), atol=1e-4)


def test_adapters_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    one = _adapter(tmp_path / "one", torch.zeros(2, 6), torch.zeros(5, 2), 0.0)
    other = _adapter(tmp_path / "other", torch.zeros(3, 6), torch.zeros(5, 3), 0.0)
    with pytest.raises(typer.BadParameter, match="differ in rank"):
        average([one, other], tmp_path / "out")
    with pytest.raises(typer.BadParameter, match="twice"):
        average([one], tmp_path / "out")
