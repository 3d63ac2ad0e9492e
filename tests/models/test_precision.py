"""Packed weights change how long a product takes, and nothing else."""

from __future__ import annotations

import pytest
import torch

from citeproof.models import precision
from citeproof.models.precision import half_precision, has_half_precision, pack_weights

needs_bfloat16 = pytest.mark.skipif(
    not has_half_precision("cpu"), reason="this processor does not multiply in bfloat16"
)


def layers() -> torch.nn.Sequential:
    torch.manual_seed(3)
    return torch.nn.Sequential(
        torch.nn.Linear(40, 70), torch.nn.GELU(), torch.nn.Linear(70, 24, bias=False)
    )


@needs_bfloat16
def test_half_precision_gives_the_same_bits_from_packed_weights() -> None:
    plain, packed = layers(), layers()
    pack_weights(packed)
    values = torch.randn(3, 5, 40)
    with torch.inference_mode(), half_precision("cpu"):
        expected, got = plain(values), packed(values)

    assert got.dtype == torch.bfloat16
    assert torch.equal(expected, got)


@needs_bfloat16
def test_full_precision_and_gradients_are_untouched_by_it() -> None:
    plain, packed = layers(), layers()
    pack_weights(packed)
    values = torch.randn(3, 40)
    with torch.inference_mode():
        assert torch.equal(plain(values), packed(values))
    for model in (plain, packed):
        with half_precision("cpu"):
            model(values).sum().backward()
    assert torch.equal(plain[0].weight.grad, packed[0].weight.grad)
    assert packed[0].weight.grad.abs().max() > 0


def test_hardware_without_it_keeps_its_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_half_precision", lambda device: False)
    model = layers()

    pack_weights(model)

    assert not any("forward" in vars(layer) for layer in model)
