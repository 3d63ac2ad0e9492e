"""Averages two adapters: what a later stage learned, with less of what it forgot.

    python -m training.average --adapter tenth --adapter eleventh --out averaged

A short stage on new pairs costs a little on the earlier ones. The average of both stages' weights
keeps most of both (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", section 3). The
average of two maps of low rank has the rank of both together; a singular value decomposition
brings it back to the rank of the first.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated

import torch
import typer
from safetensors.torch import load_file, save_file


def reduce_rank(
    down: torch.Tensor, up: torch.Tensor, rank: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return both maps of rank `rank` whose product is closest to `up @ down`, down first.

    Args:
        down: First map: ranks × inputs.
        up: Second map: outputs × ranks.
        rank: Rank of the result.
    """
    # The small matrix between two orthogonal ones has all of the singular values.
    left, inner = torch.linalg.qr(up)
    right, outer = torch.linalg.qr(down.T)
    first, values, second = torch.linalg.svd(inner @ outer.T)
    root = values[:rank].sqrt()
    return root[:, None] * (second[:rank] @ right.T), (left @ first[:, :rank]) * root


def average(
    adapter: Annotated[list[Path], typer.Option(help="Folder of an adapter; give two.")],
    out: Annotated[Path, typer.Option(help="Folder of the averaged adapter.")],
    share: Annotated[float, typer.Option(help="Weight of the second adapter, 0 to 1.")] = 0.5,
) -> None:
    """Average two adapters of the same base, rank and layers."""
    if len(adapter) != 2:
        raise typer.BadParameter("Give --adapter twice.")
    one, other = (load_file(folder / "adapter_model.safetensors") for folder in adapter)
    if {k: v.shape for k, v in one.items()} != {k: v.shape for k, v in other.items()}:
        raise typer.BadParameter("The adapters differ in rank or layers.")
    config = json.loads((adapter[0] / "adapter_config.json").read_text(encoding="utf-8"))
    averaged: dict[str, torch.Tensor] = {}
    for name, value in one.items():
        first, second = value.float(), other[name].float()
        if ".lora_A." in name:
            above = name.replace(".lora_A.", ".lora_B.")
            down = torch.cat([first, second])
            up = torch.cat([one[above].float() * (1 - share), other[above].float() * share], dim=1)
            averaged[name], averaged[above] = reduce_rank(down, up, config["r"])
        elif ".lora_B." not in name:
            averaged[name] = first.lerp(second, share)
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(adapter[0] / "adapter_config.json", out)
    whole = {name: value.contiguous() for name, value in averaged.items()}
    save_file(whole, out / "adapter_model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    typer.run(average)
