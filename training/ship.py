"""Calibrates an adapter and puts it into the package.

    python -m training.ship adapter --base FOLDER --adapter FOLDER --data held/a.jsonl=400 …
    python -m training.ship blend SCORES.jsonl

`adapter` fits a temperature and a prior on pairs that the adapter was not trained on, folds both
into the head, so that the shipped scores are calibrated, and fits the threshold. `blend` fits the
weights of the cascade inside its band, from the scores of both models that
`benchmarks/entailment.py band --out` writes.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Annotated

import torch
import typer
from safetensors.torch import load_file, save_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from citeproof.models import merged
from citeproof.models.precision import half_precision
from training import measure
from training.fit import load, padded
from training.rows import Row, lines

app = typer.Typer(help=__doc__)
SHIPPED = merged.ENTAILMENT.adapter


def logits(folder: Path, rows: list[Row], tokens: int = 2048) -> torch.Tensor:
    """The three logits of each row, in order: pairs × 3."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    ids = tokenizer(
        [r.premise for r in rows],
        [r.hypothesis for r in rows],
        truncation="only_first",
        max_length=512,
    )["input_ids"]
    found = torch.empty(len(rows), len(merged.LABELS))
    order = sorted(range(len(rows)), key=lambda i: len(ids[i]))
    with torch.inference_mode(), half_precision("cpu"):
        while order:
            count = max(1, tokens // (len(ids[order[-1]]) + 8))
            part, order = order[-count:], order[:-count]
            batch = padded([ids[i] for i in part], tokenizer.pad_token_id, "cpu")
            found[part] = model(**batch).logits.float()
    return found


def weights(sources: list[str]) -> torch.Tensor:
    """Weights of the pairs, such that each source counts the same."""
    counts = Counter(sources)
    return torch.tensor([1 / counts[source] / len(counts) for source in sources])


def fitted(
    odds: torch.Tensor, truths: torch.Tensor, weight: torch.Tensor
) -> tuple[list[float], float]:
    """Fit a logistic regression: (weights of the columns of `odds` and the intercept, loss)."""
    model = LogisticRegression(C=math.inf, tol=1e-8, max_iter=1000)
    model.fit(odds, truths, sample_weight=weight)
    loss = log_loss(truths, model.predict_proba(odds)[:, 1], sample_weight=weight)
    return [*model.coef_[0].tolist(), float(model.intercept_[0])], float(loss)


def tempered(found: torch.Tensor, heat: float, prior: float) -> torch.Tensor:
    """The probabilities of entailment at an inverse temperature, with a prior added."""
    scaled = found * heat
    scaled[:, 0] += prior
    return scaled.softmax(-1)[:, 0]


@app.command()
def adapter(
    base: Annotated[Path, typer.Option(help="Folder of all-mpnet-base-v2.")],
    adapter: Annotated[Path, typer.Option(help="Folder that training.fit wrote.")],
    data: Annotated[list[str], typer.Option(help="FILE or FILE=LIMIT, not trained on.")],
    threshold: Annotated[
        float | None, typer.Option(help="Default: the best balanced accuracy over the sets.")
    ] = None,
    scale: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Inverse temperature and prior. Default: fitted to the sets."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the adapter in the package.")] = SHIPPED,
) -> None:
    """Calibrate an adapter, then write it in half precision with its calibration."""
    rows = load(data, seed=3)
    with tempfile.TemporaryDirectory() as folder:
        merged.merge(base, adapter, Path(folder))
        found = logits(Path(folder), rows)
    sources = [row.source.partition("/")[0] for row in rows]
    truths = torch.tensor([row.entailed for row in rows])
    weight = weights(sources)
    heat, prior = scale or _best_scale(found, truths, weight)
    scores = tempered(found, heat, prior).tolist()
    best_threshold = max(
        (round(step / 100, 2) for step in range(30, 71, 2)),
        key=lambda t: _mean_balanced(scores, rows, sources, t),
    )
    threshold = best_threshold if threshold is None else threshold
    typer.echo(
        f"inverse temperature {heat:.2f}, prior {prior:+.2f}, "
        f"threshold {threshold}, best {best_threshold}"
    )
    error = measure.calibration_error(scores, truths.tolist())
    typer.echo(f"calibration error {error:.3f} on {len(rows)} pairs")
    tuned = load_file(adapter / "adapter_model.safetensors")
    head = "base_model.model.classifier.out_proj"
    tuned[f"{head}.weight"] = tuned[f"{head}.weight"].float() * heat
    tuned[f"{head}.bias"] = tuned[f"{head}.bias"].float() * heat
    tuned[f"{head}.bias"][0] += prior
    halves = {name: value.half().contiguous() for name, value in tuned.items()}
    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = "sentence-transformers/all-mpnet-base-v2"
    for name in ("modules_to_save", "target_modules"):
        # peft writes a set in any order, and repeats names if training continues.
        config[name] = sorted(set(config[name]))
    out.mkdir(parents=True, exist_ok=True)
    note = out / "calibration.json"
    known = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    known |= {"threshold": threshold}
    with tempfile.TemporaryDirectory(dir=out) as folder:
        for name, values in (("calibration.json", known), ("adapter_config.json", config)):
            text = json.dumps(values, indent=2) + "\n"
            (Path(folder) / name).write_text(text, encoding="utf-8")
        save_file(halves, Path(folder) / "adapter_model.safetensors", metadata={"format": "pt"})
        # The weights come last, so that new ones are never read with an old threshold.
        for name in ("calibration.json", "adapter_config.json", "adapter_model.safetensors"):
            (Path(folder) / name).replace(out / name)


def _best_scale(
    found: torch.Tensor, truths: torch.Tensor, weight: torch.Tensor
) -> tuple[float, float]:
    """The inverse temperature and the prior with the smallest cross-entropy."""
    best = (float("inf"), 1.0, 0.0)
    for heat in torch.arange(0.3, 2.01, 0.05).tolist():
        # At a given temperature the best prior is that of a one-column fit with a fixed slope.
        for prior in torch.arange(-1.5, 1.51, 0.1).tolist():
            chance = tempered(found, heat, prior).clamp(1e-6, 1 - 1e-6)
            gain = torch.where(truths, chance, 1 - chance).log()
            best = min(best, (-float((gain * weight).sum()), heat, prior))
    return best[1:]


def _mean_balanced(
    scores: list[float], rows: list[Row], sources: list[str], threshold: float
) -> float:
    values = []
    for source in sorted(set(sources)):
        part = [i for i, name in enumerate(sources) if name == source]
        truths = [rows[i].entailed for i in part]
        values.append(measure.balanced([scores[i] for i in part], truths, threshold))
    return fmean(values)


@app.command()
def blend(
    scores: Annotated[Path, typer.Argument(help="Scores of the cross-encoder and of the judge.")],
    low: Annotated[float | None, typer.Option(help="Default: of calibration.json.")] = None,
    high: Annotated[float | None, typer.Option(help="Default: of calibration.json.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the adapter in the package.")] = SHIPPED,
) -> None:
    """Fit the cascade inside its band, and write band and blend to `calibration.json`."""
    note = out / "calibration.json"
    known = json.loads(note.read_text(encoding="utf-8"))
    band = merged.Calibration.model_validate(known).band
    low = band[0] if low is None else low
    high = band[1] if high is None else high
    rows = lines(scores)
    inside = [row for row in rows if low <= row["score"] < high and "judge" in row]
    if len({row["entailed"] for row in inside}) < 2:
        raise typer.BadParameter(
            f"{scores}: needs judged pairs of both kinds with a score from {low} to {high}; "
            "write it with `benchmarks/entailment.py band`."
        )
    odds = torch.tensor([[row["score"], row["judge"]] for row in inside]).logit(eps=1e-3)
    truths = torch.tensor([row["entailed"] for row in inside])
    found, loss = fitted(odds, truths, weights([row["set"] for row in inside]))
    typer.echo(f"{len(inside)} of {len(rows)} pairs inside: weights {found}, loss {loss:.3f}")
    known |= {"band": [low, high], "blend": [round(value, 3) for value in found]}
    note.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    app()
