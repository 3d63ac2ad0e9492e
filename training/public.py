"""Turns public sets, in the format of their repositories, into rows.

python -m training.public hans heuristics_evaluation_set.txt --out hans.jsonl
python -m training.public breaking-nli dataset.jsonl --out breaking_nli.jsonl
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from training.rows import Row, lines, write

app = typer.Typer(no_args_is_help=True)
File = Annotated[Path, typer.Argument(exists=True, dir_okay=False)]
Out = Annotated[Path, typer.Option(help="File to write the rows to.")]


@app.command()
def hans(file: File, out: Out) -> None:
    """HANS, in the format of its corpus_generator.py (McCoy et al. 2019; MIT)."""
    with file.open(encoding="utf-8", newline="") as table:
        rows = [
            Row(
                _sentence(line["sentence1"]),
                _sentence(line["sentence2"]),
                "entailed" if line["gold_label"] == "entailment" else "not_entailed",
                "hans",
            )
            for line in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
    typer.echo(f"{write(out, rows)} rows")


@app.command()
def breaking_nli(file: File, out: Out) -> None:
    """Breaking NLI: one word of a sentence replaced (Glockner et al. 2018; CC BY-SA 4.0)."""
    rows = [
        Row(line["sentence1"], line["sentence2"], line["gold_label"], "breaking_nli")
        for line in lines(file)
    ]
    typer.echo(f"{write(out, rows)} rows")


def _sentence(text: str) -> str:
    return f"{text.rstrip(' .')}."


if __name__ == "__main__":
    app()
