"""Trains the adapter: one seeded, resumable command, on a CPU or a GPU.

python -m training.fit --base FOLDER --out FOLDER --data a.jsonl --data b.jsonl=3000
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

import torch
import typer

from training.network import open_network
from training.rows import TARGETS, Row, read


def load(data: Sequence[str], seed: int) -> list[Row]:
    """The rows of `FILE` or `FILE=LIMIT` arguments, in a fixed random order."""
    rows: list[Row] = []
    for item in data:
        name, _, limit = item.partition("=")
        found = list(read(Path(name)))
        Random(f"{seed} {Path(name).name}").shuffle(found)
        rows += found[: int(limit)] if limit else found
    Random(seed).shuffle(rows)
    return rows


Item = tuple[list[int], int]
"""Token ids and target."""
WIDTH = 8
"""Batch widths are multiples of this many tokens: CPU kernels are rebuilt for each shape."""


def steps(
    rows: Sequence[Row], tokenizer: Any, longest: int, tokens: int, parts: int, rng: Random
) -> list[list[list[Item]]]:
    """The steps of a run, each of some batches of pairs with similar length.

    Args:
        rows: Rows in the order of training.
        tokenizer: The tokenizer of the base model.
        longest: Most tokens of a pair; the end of a longer premise is cut off.
        tokens: Most padded tokens of a batch.
        parts: Batches in a step.
        rng: Shuffles the batches of each 2,048 rows.
    """
    found: list[list[Item]] = []
    for start in range(0, len(rows), 2048):
        window = rows[start : start + 2048]
        encoded = tokenizer(
            [r.premise for r in window],
            [r.hypothesis for r in window],
            truncation="only_first",
            max_length=longest,
        )["input_ids"]
        items = sorted(
            ((ids, TARGETS[r.label]) for ids, r in zip(encoded, window, strict=True)),
            key=lambda item: len(item[0]),
        )
        cut: list[list[Item]] = [[]]
        for item in items:
            if cut[-1] and _wide(item[0]) * (len(cut[-1]) + 1) > tokens:
                cut.append([])
            cut[-1].append(item)
        rng.shuffle(cut)
        found += cut
    return [found[i : i + parts] for i in range(0, len(found), parts)]


def _wide(ids: Sequence[int]) -> int:
    return -(-len(ids) // WIDTH) * WIDTH


def padded(batch: Sequence[list[int]], pad: int, device: str) -> dict[str, torch.Tensor]:
    """Token ids and attention mask of one batch."""
    width = max(map(_wide, batch))
    ids = torch.full((len(batch), width), pad)
    mask = torch.zeros((len(batch), width), dtype=torch.long)
    for i, row in enumerate(batch):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Summed cross-entropy; rows known only not to be entailed count both other labels as one."""
    logs = logits.float().log_softmax(-1)
    rest = torch.logsumexp(logs[:, 1:], dim=-1)
    known = logs.gather(1, targets.clamp(min=0)[:, None])[:, 0]
    return -torch.where(targets < 0, rest, known).sum()


def fit(
    base: Annotated[Path, typer.Option(help="Folder of all-mpnet-base-v2.")],
    out: Annotated[
        Path, typer.Option(help="Folder of the adapter; its checkpoint is saved next to it.")
    ],
    data: Annotated[list[str], typer.Option(help="FILE or FILE=LIMIT; can be repeated.")],
    adapter: Annotated[Path | None, typer.Option(help="Adapter to continue from.")] = None,
    epochs: int = 1,
    rank: Annotated[int, typer.Option(help="Rank of a new adapter.")] = 16,
    first_layer: Annotated[int, typer.Option(help="First layer, 0 to 11, to train.")] = 5,
    rate: float = 5e-4,
    tokens: Annotated[int, typer.Option(help="Most padded tokens of a batch.")] = 1536,
    parts: Annotated[int, typer.Option(help="Batches a step.")] = 3,
    longest: Annotated[int, typer.Option(help="Most tokens of a pair.")] = 384,
    seed: int = 7,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 50,
    device: str = "cuda" if torch.cuda.is_available() else "cpu",
) -> None:
    """Train; a restart with the same arguments continues from the last checkpoint."""
    from transformers import AutoTokenizer

    if out.is_file() or (any(out.glob("*")) and not (out / "training.json").exists()):
        raise typer.BadParameter(f"{out} is not an adapter of training.fit; name a new folder.")
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(base)
    model = open_network(
        base, rank=rank, layers=range(first_layer, 12), device=device, adapter=adapter
    )
    lora = model.peft_config["default"]
    model.train()
    rows = [row for epoch in range(epochs) for row in load(data, seed + epoch)]
    groups = steps(rows, tokenizer, longest, tokens, parts, Random(seed))
    trained = [p for p in model.parameters() if p.requires_grad]
    weights, gradients = flatten(trained)
    # Steps are too small for bf16, so the optimizer works on a copy in fp32.
    master = weights.float().clone()
    optimizer = torch.optim.AdamW([master], lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
    settings = {
        "base": base.name,
        "adapter": str(adapter),
        "data": data,
        "epochs": epochs,
        "rank": lora.r,
        "first_layer": first_layer,
        "rate": rate,
        "tokens": tokens,
        "parts": parts,
        "longest": longest,
        "seed": seed,
    }
    key = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]
    checkpoint = out.with_name(out.name + ".checkpoint")
    done = 0
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location="cpu", weights_only=True)
        if state["key"] != key:
            raise typer.BadParameter(
                f"{checkpoint} belongs to a run with other arguments; remove it first."
            )
        done = state["step"]
        optimizer.load_state_dict(state["optimizer"])
        master.copy_(state["master"])
        weights.copy_(master)
        typer.echo(f"continues at step {done}")
    warm = max(1, len(groups) // 20)
    typer.echo(
        f"{len(rows)} pairs, {sum(len(i) for g in groups for b in g for i, _ in b):,} tokens, "
        f"{len(groups)} steps on {device}"
    )
    began, seen, smooth = time.monotonic(), 0, None
    for step, group in enumerate(groups):
        if step < done:
            continue
        turn = (
            (step + 1) / warm
            if step < warm
            else 0.525 + 0.475 * math.cos(math.pi * (step - warm) / (len(groups) - warm))
        )
        for slot in optimizer.param_groups:
            slot["lr"] = rate * turn
        total = torch.zeros((), device=device)
        pairs = sum(map(len, group))
        for batch in group:
            given = padded([ids for ids, _ in batch], tokenizer.pad_token_id, device)
            logits = model(**given).logits
            loss = loss_of(logits, torch.tensor([t for _, t in batch], device=device)) / pairs
            loss.backward()
            total += loss.detach()
        master.grad = gradients.float()
        torch.nn.utils.clip_grad_norm_([master], 1.0)
        optimizer.step()
        weights.copy_(master)
        gradients.zero_()
        seen += sum(len(ids) for batch in group for ids, _ in batch)
        smooth = total if smooth is None else 0.95 * smooth + 0.05 * total
        if (step + 1) % 10 == 0 or step + 1 == len(groups):
            speed = seen / (time.monotonic() - began)
            left = (len(groups) - step - 1) * (time.monotonic() - began) / (step + 1 - done) / 60
            typer.echo(
                f"step {step + 1}/{len(groups)}  loss {smooth:.3f}  {speed:.0f} tokens/s  "
                f"{left:.0f} min left"
            )
        if (step + 1) % save_every == 0 and step + 1 < len(groups):
            partial = checkpoint.with_name(checkpoint.name + ".partial")
            kept = {"key": key, "step": step + 1, "master": master}
            torch.save(kept | {"optimizer": optimizer.state_dict()}, partial)
            partial.replace(checkpoint)
            _save(model, out, settings)
    _save(model, out, settings)
    checkpoint.unlink(missing_ok=True)


def flatten(parameters: Sequence[torch.nn.Parameter]) -> tuple[torch.Tensor, torch.Tensor]:
    """The values and the gradients of parameters, each as one vector of which they become views.

    A step on one vector takes a few kernels instead of a few for each of some 150 parameters.
    """
    weights = torch.cat([p.detach().reshape(-1) for p in parameters])
    gradients = torch.zeros_like(weights)
    sizes = [p.numel() for p in parameters]
    parts = zip(parameters, weights.split(sizes), gradients.split(sizes), strict=True)
    for parameter, values, gradient in parts:
        parameter.data = values.view_as(parameter)
        parameter.grad = gradient.view_as(parameter)
    return weights, gradients


def _save(model: Any, out: Path, settings: dict[str, Any]) -> None:
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    model.save_pretrained(partial)
    (partial / "training.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    partial.replace(out)


if __name__ == "__main__":
    typer.run(fit)
