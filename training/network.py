"""MPNet with low-rank adapters, in bf16."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from citeproof.models.entailment import LABELS
from citeproof.models.mpnet import lean_attention

TARGETS = ["q", "k", "v", "o", "intermediate.dense", "output.dense"]
"""The linear maps that get an adapter."""


def open_network(
    base: Path, *, rank: int, layers: Sequence[int], device: str, adapter: Path | None = None
) -> Any:
    """The base with a head for three labels and fresh adapters, or those of a folder, in bf16.

    Args:
        base: Folder of all-mpnet-base-v2.
        rank: Rank of the adapters.
        layers: Those of the twelve layers that get adapters; layers below them need no backward
            pass.
        device: `cpu` or `cuda`.
        adapter: Folder of adapters to continue from.
    """
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(
        base,
        num_labels=len(LABELS),
        id2label=dict(enumerate(LABELS)),
        label2id={label: i for i, label in enumerate(LABELS)},
        dtype=torch.bfloat16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    lean_attention(model)
    if adapter is not None:
        tuned = PeftModel.from_pretrained(
            model, adapter, is_trainable=True, autocast_adapter_dtype=False
        )
    else:
        config = LoraConfig(
            task_type="SEQ_CLS",
            r=rank,
            lora_alpha=2 * rank,
            target_modules=TARGETS,
            layers_to_transform=list(layers),
            layers_pattern="layer",
            modules_to_save=["classifier"],
        )
        tuned = get_peft_model(model, config, autocast_adapter_dtype=False)
    return tuned.to(device=device, dtype=torch.bfloat16)
