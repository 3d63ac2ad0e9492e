"""Writes the scores by which `entailment.false_proofs` chooses thresholds, next to the adapter.

Each pair is a claim and a passage, from sets that nothing was trained on. The best score of a
group counts, such as the chunks of a WiCE claim.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from citeproof.tools.entailment.risk import choose_threshold
from training.measure import by_group, scored
from training.rows import sample
from training.ship import SHIPPED

SHARES = (0.2, 0.15, 0.1, 0.05, 0.02, 0.01)


def main(
    data: Annotated[list[str], typer.Argument(help="FILE or FILE:LIMIT, not trained on.")],
    model: Annotated[Path, typer.Option(help="Folder of the merged model.")],
    out: Annotated[Path, typer.Option(help="Folder of the package for the scores.")] = SHIPPED,
) -> None:
    """Score the pairs, write `scores.json`, and show what each share of false proofs costs."""
    from citeproof.tools.entailment.close_reader import CloseReader
    from citeproof.tools.entailment.cross_encoder import CrossEncoder

    scores: dict[bool, list[float]] = {True: [], False: []}
    reader = CloseReader(CrossEncoder(str(model), 0.5))
    for name in data:
        _, rows = sample(name)
        for score, truth in zip(*by_group(rows, scored(reader, rows)), strict=True):
            scores[truth].append(round(float(score), 3))
    kept = {"stated": sorted(scores[True]), "not_stated": sorted(scores[False])}
    (out / "scores.json").write_text(json.dumps(kept) + "\n", encoding="utf-8")
    for share in SHARES:
        threshold = choose_threshold(scores[False], share)
        proved = sum(score >= threshold for score in scores[True]) / len(scores[True])
        typer.echo(f"{share:.2f}: threshold {threshold:.3f}, {proved:.0%} of the stated proved")


if __name__ == "__main__":
    typer.run(main)
