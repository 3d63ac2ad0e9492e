"""A tiny MPNet, made by the tests."""

from __future__ import annotations

from pathlib import Path

from citeproof.models import merged
from tests.tools.test_nli_models import SIZES, tokenizer


def tiny_mpnet(folder: Path, layers: int = 1) -> Path:
    """A folder like that of all-mpnet-base-v2, without a head."""
    import torch
    from transformers import MPNetConfig, MPNetModel

    torch.manual_seed(7)
    made = tokenizer(folder, 64)
    sizes = SIZES | {"num_hidden_layers": layers}
    config = MPNetConfig(vocab_size=len(made), max_position_embeddings=66, **sizes)
    MPNetModel(config).eval().save_pretrained(folder)
    for name in merged._TOKENIZER:
        if not (folder / name).exists():
            (folder / name).write_text("{}" if name.endswith(".json") else "")
    return folder
