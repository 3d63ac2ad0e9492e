"""MPNet's attention as one fused operation.

transformers computes it step by step, with a matrix of all positions in memory at each step; on a
CPU most of the time then goes into fetching fresh memory. torch's fused attention, with MPNet's
relative positions as its mask, gives the same numbers up to rounding.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

__all__ = ["fuse_attention"]


def fuse_attention(model: Any) -> None:
    """Let a model of transformers attend in one operation, if it is an MPNet; else leave it.

    Attention dropout is left out, so a model to train needs it at 0. The model no longer gives
    attention weights or the hidden states between its layers.
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
    from torch.nn.functional import scaled_dot_product_attention

    batch, length, _width = hidden_states.shape
    heads = (batch, length, -1, self.attention_head_size)
    query, key, value = (
        linear(hidden_states).view(heads).transpose(1, 2) for linear in (self.q, self.k, self.v)
    )
    # Before transformers 5 a head mask stands in front of the positions.
    bias = named["position_bias"] if "position_bias" in named else more[-1]
    mixed = scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))
    return (self.o(mixed.transpose(1, 2).reshape(batch, length, -1)),)


def _encode(self: Any, hidden_states: Any, attention_mask: Any = None, **_: Any) -> Any:
    from transformers.modeling_outputs import BaseModelOutput

    bias = self.compute_position_bias(hidden_states[:1]).detach()
    if attention_mask is not None:
        bias = bias + attention_mask
    for layer in self.layer:
        hidden_states = layer(hidden_states, position_bias=bias)[0]
    return BaseModelOutput(last_hidden_state=hidden_states)
