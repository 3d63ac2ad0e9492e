"""Uses half precision if the hardware supports it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import MethodType
from typing import Any


def has_half_precision(device: str) -> bool:
    """Return whether the hardware of a torch device type multiplies in bfloat16 natively."""
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    able: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return device == "cpu" and bool(able.get("avx512_bf16") or able.get("amx_bf16"))


def half_precision(device: str) -> AbstractContextManager[object]:
    """Return a context manager that multiplies matrices in bfloat16 if the hardware supports it.

    Weights and sums stay in float32. MiniLM was measured to be 2 to 2.6 times as fast, and the
    cosine to the full-precision vector is above 0.9999. (For a model loaded entirely in bfloat16,
    it drops to 0.998.)
    """
    import torch

    context: AbstractContextManager[object] = torch.autocast(
        device, torch.bfloat16, has_half_precision(device)
    )
    return context


def pack_weights(model: Any) -> None:
    """Let a torch model's linear layers keep a half-precision copy of their weights.

    Within `half_precision` on a CPU, torch converts the weights to bfloat16 and rearranges them in
    each call. With weights packed once, the products are bit for bit the same and take three
    quarters of the time. Outside of it, on a GPU, and while gradients are recorded, the layers
    work as before. The copy takes half of the weights' memory and does not follow later changes of
    the weights. A model with such copies can be neither copied nor pickled.
    """
    import torch

    if not has_half_precision("cpu") or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return
    for layer in model.modules():
        if type(layer) is torch.nn.Linear and layer.weight.device.type == "cpu":
            weight = layer.weight.detach().to(torch.bfloat16)
            layer.packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)
            layer.packed_bias = None if layer.bias is None else layer.bias.detach().bfloat16()
            layer.forward = MethodType(_packed_linear, layer)


def _packed_linear(self: Any, values: Any) -> Any:
    import torch

    halved = values.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    if not halved or torch.is_grad_enabled():
        return torch.nn.functional.linear(values, self.weight, self.bias)
    return torch.ops.mkldnn._linear_pointwise(
        values.to(torch.bfloat16), self.packed, self.packed_bias, "none", [], ""
    )
