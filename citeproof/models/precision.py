"""Half precision where the hardware has it."""

from __future__ import annotations

from contextlib import AbstractContextManager

__all__ = ["half_precision", "has_half_precision"]


def has_half_precision(device: str) -> bool:
    """Whether the hardware multiplies in bfloat16 natively.

    Args:
        device: torch's type of device: `cpu`, `cuda`, `mps`.
    """
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    able: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return device == "cpu" and bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def half_precision(device: str) -> AbstractContextManager[object]:
    """Multiply matrices in bfloat16 where the hardware does that natively; a context manager.

    Weights and sums stay in float32. MiniLM was measured to be 2 to 2.6 times as fast, and the
    cosine to the full-precision vector is above 0.9999. (A model loaded in bfloat16 altogether
    falls to 0.998.)

    Args:
        device: torch's type of device: `cpu`, `cuda`, `mps`.
    """
    import torch

    context: AbstractContextManager[object] = torch.autocast(
        device, torch.bfloat16, has_half_precision(device)
    )
    return context
