"""Turns public sets, in the format of their repositories, into rows.

python -m training.public hans heuristics_evaluation_set.txt --out hans.jsonl
python -m training.public breaking-nli dataset.jsonl --out breaking_nli.jsonl
python -m training.public conjnli adversarial_train_15k.tsv --out conjnli_made.jsonl
python -m training.public esnli eSNLI --out snli_dev.jsonl
python -m training.public fever val.jsonl test.jsonl --out fever_eraser.jsonl
python -m training.public help leskexppmb_and.tsv --out help.jsonl
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from citeproof.models.merged import LABELS
from training.rows import Row, lines, write

app = typer.Typer(no_args_is_help=True)
File = Annotated[Path, typer.Argument(exists=True, dir_okay=False)]
Files = Annotated[list[Path], typer.Argument(exists=True, dir_okay=False)]
Out = Annotated[Path, typer.Option(help="File to write the rows to.")]
LABELLED = {**{label: label for label in LABELS}, "not_entailment": "not_entailed"}
"""A label as most sets write it → ours."""
VERDICTS = {"SUPPORTS": "entailment", "REFUTES": "contradiction"}


@app.command()
def hans(file: File, out: Out) -> None:
    """HANS, in the format of its corpus_generator.py (McCoy et al. 2019; MIT)."""
    labels = {"entailment": "entailed", "non-entailment": "not_entailed"}
    columns = ("sentence1", "sentence2", "gold_label")
    _save(out, pairs(read_table(file), columns, "hans", labels, _sentence))


@app.command()
def breaking_nli(file: File, out: Out) -> None:
    """Breaking NLI: one word of a sentence replaced (Glockner et al. 2018; CC BY-SA 4.0)."""
    _save(out, pairs(lines(file), ("sentence1", "sentence2", "gold_label"), "breaking_nli"))


@app.command()
def conjnli(file: File, out: Out) -> None:
    """ConjNLI's training pairs, edited sentences of Wikipedia (Saha et al. 2020; MIT)."""
    _save(out, pairs(read_table(file), ("Premise", "Hypothesis", "Label"), "conjnli_made"))


@app.command()
def esnli(folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)], out: Out) -> None:
    """SNLI's development pairs, as e-SNLI keeps them (Camburu et al. 2018; MIT, CC BY-SA 4.0)."""
    names = ("s1", "s2", "labels")
    texts = [(folder / f"{name}.dev").read_text(encoding="utf-8").splitlines() for name in names]
    table = (dict(zip(names, line, strict=True)) for line in zip(*texts, strict=True))
    _save(out, pairs(table, names, "snli_dev", tidy=join_tokens))


@app.command()
def fever(
    files: Files,
    out: Out,
    apart: Annotated[
        list[Path] | None,
        typer.Option(help="Sets whose claims and evidence are left out, such as FEVER-Symmetric."),
    ] = None,
) -> None:
    """FEVER claims with their evidence in ERASER's form (DeYoung et al. 2020; CC BY-SA 3.0).

    The title of the evidence's article is shown above it, as above a passage.
    """
    kept = {
        letters(value)
        for line in (line for file in apart or () for line in lines(file))
        for name, value in line.items()
        if name in ("claim", "evidence", "evidence_sentence")
    }

    def rows() -> Iterator[Row]:
        for line in (line for file in files for line in lines(file)):
            spans = [span for group in line["evidences"] for span in group]
            if len({span["docid"] for span in spans}) != 1:
                continue
            title = re.sub(r"-LRB-(.*?)-RRB-", r"(\1)", spans[0]["docid"]).replace("_", " ")
            text = " ".join(dict.fromkeys(join_tokens(span["text"]) for span in spans))
            label = VERDICTS[line["classification"]]
            if kept.isdisjoint((letters(line["query"]), letters(text))):
                yield Row(f"Title: {title}\n{text}", line["query"], label, "fever_eraser")

    _save(out, rows())


@app.command(name="help")
def monotonicity(files: Files, out: Out) -> None:
    """HELP: phrases widened, narrowed, joined (Yanaka et al. 2019; CC BY-SA 4.0)."""
    table = (line for file in files for line in read_table(file))
    columns = ("ori_sentence", "new_sentence", "gold_label")
    _save(out, pairs(table, columns, "help", tidy=lambda text: _sentence(join_tokens(text))))


def _save(out: Path, rows: Iterable[Row]) -> None:
    typer.echo(f"{write(out, rows)} rows")


def read_table(
    file: Path, *, tabs: bool = True, encoding: str = "utf-8-sig"
) -> Iterator[dict[str, str]]:
    """The lines of a table with tabs, which quotes nothing, or else with commas."""
    form: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {}
    # Not all bytes of negation-and-nli's files are characters.
    with file.open(encoding=encoding, errors="replace", newline="") as table:
        yield from csv.DictReader(table, **form)


def pairs(
    table: Iterable[Mapping[str, str]],
    columns: Sequence[str],
    source: str,
    labels: Mapping[str, str] = LABELLED,
    tidy: Callable[[str], str] = str,
) -> Iterator[Row]:
    """The pairs in three columns of a table; lines with another label are left out."""
    for line in table:
        premise, hypothesis, label = (line[name] for name in columns)
        if label in labels:
            yield Row(tidy(premise), tidy(hypothesis), labels[label], source)


def letters(text: str) -> str:
    """The letters and digits of a text, by which two copies of it are told to be the same."""
    return re.sub(r"\W+", "", text.lower())


def _sentence(text: str) -> str:
    return f"{text.rstrip(' .')}."


def join_tokens(text: str) -> str:
    """A tokenized text with its usual spaces.

    >>> join_tokens("The school 's body ( 840 , in 2015 ) lives on campus .")
    "The school's body (840, in 2015) lives on campus."
    """
    text = re.sub(r" (n't|'(?:s|re|ve|d|ll|m)?|[.,:;!?%)\]])(?=[\s.,;:!?)]|$)", r"\1", text.strip())
    text = re.sub(r"([(\[$]) ", r"\1", text.replace("-LRB-", "(").replace("-RRB-", ")"))
    return re.sub(r"`` | ''|``|''", lambda mark: ' "' if mark[0].startswith("`` ") else '"', text)


if __name__ == "__main__":
    app()
