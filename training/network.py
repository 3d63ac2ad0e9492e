"""MPNet with low-rank adapters, in bf16 where the hardware multiplies in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from citeproof.models.merged import LABELS
from citeproof.models.mpnet import lean_attention
from citeproof.models.precision import has_half_precision

TARGETS = ["q", "k", "v", "o", "intermediate.dense", "output.dense"]
"""The linear maps that get an adapter."""


def open_network(
    base: Path, *, rank: int, layers: Sequence[int], device: str, adapter: Path | None = None
) -> Any:
    """The base with a head for three labels and fresh adapters, or those of a folder.

    Args:
        base: Folder of all-mpnet-base-v2.
        rank: Rank of fresh adapters.
        layers: Those of the twelve layers whose adapters are trained; layers below them need no
            backward pass.
        device: `cpu` or `cuda`.
        adapter: Folder of adapters to continue from; its rank counts. Layers that it lacks get
            fresh ones, which change nothing before they are trained. Its adapters of other layers
            than `layers` stay as they are.
    """
    from peft import LoraConfig, get_peft_model, load_peft_weights, set_peft_model_state_dict
    from transformers import AutoModelForSequenceClassification

    dtype = torch.bfloat16 if has_half_precision(torch.device(device).type) else torch.float32
    model = AutoModelForSequenceClassification.from_pretrained(
        base,
        num_labels=len(LABELS),
        id2label=dict(enumerate(LABELS)),
        label2id={label: i for i, label in enumerate(LABELS)},
        dtype=dtype,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    lean_attention(model)
    adapted = set(layers)
    if adapter is not None:
        known = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
        rank, adapted = known["r"], adapted | set(known["layers_to_transform"])
    config = LoraConfig(
        task_type="SEQ_CLS",
        r=rank,
        lora_alpha=2 * rank,
        target_modules=TARGETS,
        layers_to_transform=sorted(adapted),
        layers_pattern="layer",
        modules_to_save=["classifier"],
    )
    tuned = get_peft_model(model, config, autocast_adapter_dtype=False)
    if adapter is not None:
        set_peft_model_state_dict(tuned, load_peft_weights(str(adapter), device="cpu"))
    frozen = [f".layer.{layer}." for layer in adapted - set(layers)]
    for name, parameter in tuned.named_parameters():
        if any(layer in name for layer in frozen):
            parameter.requires_grad_(False)
    return tuned.to(device=device, dtype=dtype)
