"""Faster attention for MPNet.

transformers adds MPNet's relative positions in full precision, whatever the precision of the
products, and allocates memory in every step; on a CPU that takes longer than the products. On a GPU
torch's fused attention avoids this. On a CPU in bfloat16, fused attention makes the products two to
three times and the backward pass three to five times as slow, so there the two products are
computed separately, with the positions in the same precision. Pairs then take 0.6 of the time that
transformers needs in bfloat16, and 0.9 of OpenVINO's (benchmarks/README.md).
"""

from __future__ import annotations

from types import MethodType
from typing import Any


def lean_attention(model: Any) -> None:
    """Replace the attention of a transformers model if it is an MPNet; leave other models alone.

    The results are the same up to rounding. There is no attention dropout, so it must be 0 in a
    model to train. The model no longer returns attention weights or the hidden states between its
    layers.
    """
    if model.config.model_type != "mpnet":
        return
    for module in model.modules():
        match type(module).__name__:
            case "MPNetSelfAttention":
                module.forward = MethodType(_attend, module)
            case "MPNetEncoder":
                module.forward = MethodType(_encode, module)


def _attend(
    self: Any,
    hidden_states: Any,
    attention_mask: Any = None,
    *more: Any,
    **named: Any,
) -> tuple[Any]:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    device = hidden_states.device.type
    if torch.is_autocast_enabled(device):
        hidden_states = hidden_states.to(torch.get_autocast_dtype(device))  # once for q, k and v
    batch, length, _width = hidden_states.shape
    heads = (batch, length, -1, self.attention_head_size)
    query, key, value = (
        linear(hidden_states).view(heads).transpose(1, 2) for linear in (self.q, self.k, self.v)
    )
    # Before transformers 5, a head mask precedes the positions.
    bias = named["position_bias"] if "position_bias" in named else more[-1]
    bias = bias.to(query.dtype)
    if device == "cpu":
        mixed = _products(query, key, value, bias)
    else:
        mixed = scaled_dot_product_attention(query, key, value, attn_mask=bias)
    return (self.o(mixed.transpose(1, 2).reshape(batch, length, -1)),)


def _products(query: Any, key: Any, value: Any, bias: Any) -> Any:
    """Compute torch's fused attention for tensors of shape (batch, heads, length, size)."""
    import torch

    batch, _heads, length, size = query.shape
    bias = bias.expand(batch, -1, length, length).flatten(0, 1)
    # A component that all keys share doesn't change the weights; without it, rounding is smaller.
    key = key - key.mean(2, keepdim=True)
    queries, keys, values = (part.flatten(0, 1) for part in (query, key, value))
    scores = torch.baddbmm(bias, queries, keys.transpose(1, 2), alpha=size**-0.5)
    return torch.bmm(scores.softmax(-1), values).view(query.shape)


def _encode(self: Any, hidden_states: Any, attention_mask: Any = None, **_: Any) -> Any:
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    bias = self.compute_position_bias(hidden_states[:1]).detach()
    if attention_mask is not None:
        bias = bias + attention_mask
    device = hidden_states.device.type
    if torch.is_autocast_enabled(device):
        # Once instead of in each layer: it is as large as all of a layer's weights.
        bias = bias.to(torch.get_autocast_dtype(device))
    for layer in self.layer:
        hidden_states = layer(hidden_states, position_bias=bias)[0]
    return BaseModelOutput(last_hidden_state=hidden_states)
