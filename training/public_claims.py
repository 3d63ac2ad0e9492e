"""Turns public sets of claims, in the format of their repositories, into rows.

python -m training.public_claims fever-sentences validation.jsonl --apart symmetric.jsonl --out FILE
python -m training.public_claims leave-out fever_dev.jsonl --apart symmetric.jsonl --out FILE
python -m training.public_claims sufficient-facts fever.jsonl --apart symmetric.jsonl --out FILE
python -m training.public_claims scone scone_nli/train/*.csv --out FILE
python -m training.public_claims negation-nli clean_data/SNLI.txt clean_data/RTE.txt --out FILE
python -m training.public_claims scifact RTE-scifact/train.tsv RTE-scifact/dev.tsv --out FILE
python -m training.public_claims infotabs data --out FILE
python -m training.public_claims summedits summedits_*.json --out FILE
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from citeproof.models.merged import LABELS
from training.public import VERDICTS, File, Files, Out, join_tokens, letters, pairs, read_table
from training.rows import Row, lines, read, write

app = typer.Typer(no_args_is_help=True)
Apart = Annotated[list[Path], typer.Option(help="Sets whose claims and evidence are left out.")]
PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Its|Their|This|These|In addition)\b")


@app.command()
def fever_sentences(files: Files, apart: Apart, out: Out) -> None:
    """FEVER claims with the sentences of their evidence, in athnlp's form (CC BY-SA 3.0).

    Thorne et al. 2018. Articles have no titles here, so a claim whose names its evidence does not
    have is left out. Sentences come in no order: those that begin with a pronoun are put last.
    """

    def rows() -> Iterator[Row]:
        for line in chain.from_iterable(map(lines, files)):
            texts = sorted(map(_text, line["evidence"]), key=lambda text: bool(PRONOUN.match(text)))
            names = re.findall(r"\b[A-Z]\w+", line["claim"]) or [""]
            named = any(name in text for name in names for text in texts)
            if named and not PRONOUN.match(texts[0]):
                yield Row(" ".join(texts), line["claim"], VERDICTS[line["label"]], out.stem)

    _save(out, _apart(rows(), apart))


@app.command()
def leave_out(file: File, apart: Apart, out: Out) -> None:
    """Leaves out rows with a claim or a sentence of evidence of the sets that are kept apart."""
    rows = (replace(row, premise=_text(row.premise), source=out.stem) for row in read(file))
    _save(out, _apart(rows, apart))


@app.command()
def sufficient_facts(files: Files, apart: Apart, out: Out) -> None:
    """SufficientFacts: evidence of FEVER and VitaminC, whole and with a part left out.

    Atanasova et al. 2022; of Wikipedia, CC BY-SA. People judged whether the rest is enough (MIT);
    taken are the rests that they and all models of the authors (`all_nei`) found too little.
    """

    def rows() -> Iterator[Row]:
        for line in chain.from_iterable(map(lines, files)):
            claim, whole = _text(line["claim"]), re.sub(r"</?span.*?>", "", line["text_orig"])
            parts = re.findall(r"\[\[(.*?)\]\] *(.*?) *(?=\[\[|$)", whole, re.DOTALL)
            if parts:
                yield Row(_evidence(parts), claim, VERDICTS[line["label_before"]], out.stem)
            agreed = line["agreement"] == "all_nei" and line["label_after"] == "NOT ENOUGH"
            if agreed and line["evidence"]:
                yield Row(_evidence(line["evidence"]), claim, "neutral", out.stem)

    _save(out, _apart(rows(), apart))


@app.command()
def scone(files: Files, out: Out) -> None:
    """ScoNe: negations that reach a word, or do not (She et al. 2023; CC0).

    Files whose pairs were made from those of another file have both; the edited pair is theirs.
    """

    def rows() -> Iterator[Row]:
        for file in files:
            for line in read_table(file, tabs=False):
                edited = "_edited" if "sentence1_edited" in line else ""
                columns = [f"{name}{edited}" for name in ("sentence1", "sentence2", "gold_label")]
                yield from pairs([line], columns, out.stem, tidy=_text)

    _save(out, rows())


@app.command()
def negation_nli(files: Files, out: Out) -> None:
    """Pairs of SNLI and RTE with a negation added (Hossain et al. 2020; MIT)."""
    table = (line for file in files for line in read_table(file, encoding="cp1252"))
    _save(out, pairs(table, ("Text", "Hypothesis", "gold_label"), out.stem, tidy=_text))


@app.command()
def scifact(files: Files, out: Out) -> None:
    """SciFact's claims with sentences of abstracts, as COVID-Fact has them (Saakyan et al. 2021).

    Wadden et al. 2020; the claims CC BY 4.0, the abstracts ODC-By 1.0.
    """
    table = (line for file in files for line in read_table(file))
    _save(out, pairs(table, ("sentence1", "sentence2", "entailment"), out.stem, tidy=_text))


@app.command()
def infotabs(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)], out: Out
) -> None:
    """InfoTabS: statements on tables of facts of Wikipedia (Gupta et al. 2020; MIT, CC BY-SA)."""
    labels = {label[0].upper(): label for label in LABELS}

    def premise(table: str) -> str:
        text = (folder / "tables" / "json" / f"{table}.json").read_text(encoding="utf-8")
        facts = json.loads(text)
        title = " ".join(facts.pop("title"))
        rows = [f"{name}: {', '.join(values)}" for name, values in facts.items()]
        return "\n".join([f"Title: {title}", *rows])

    def rows() -> Iterator[Row]:
        for name in ("train", "dev"):
            for line in read_table(folder / "maindata" / f"infotabs_{name}.tsv"):
                claim, label = line["hypothesis"].strip(), labels[line["label"]]
                yield Row(premise(line["table_id"]), claim, label, out.stem)

    _save(out, rows())


@app.command()
def summedits(files: Files, out: Out) -> None:
    """SummEdits: edited summaries that people judged (Laban et al. 2023; Apache 2.0)."""
    labels = ("not_entailed", "entailed")
    found = (line for file in files for line in json.loads(file.read_text(encoding="utf-8")))
    _save(
        out,
        (
            Row(line["doc"].strip(), line["summary"].strip(), labels[line["label"]], out.stem)
            for line in found
        ),
    )


def _save(out: Path, rows: Iterable[Row]) -> None:
    """Write each pair once; a pair with several labels is left out."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row.premise and row.hypothesis:
            found[letters(row.premise), letters(row.hypothesis)].append(row)
    unique = [same[0] for same in found.values() if len({row.label for row in same}) == 1]
    labels = Counter(row.label for row in unique)
    typer.echo(f"{out.name}: {write(out, unique)} rows, {dict(labels)}")


def _apart(rows: Iterable[Row], files: Iterable[Path]) -> Iterator[Row]:
    """The rows without a claim or a sentence of evidence of these files."""
    names = ("claim", "evidence", "evidence_sentence", "sentence1", "sentence2", "hypothesis")
    kept = {
        letters(_text(line[name]))
        for line in chain.from_iterable(map(lines, files))
        for name in names
        if name in line
    }
    # A short text is found in many premises that have nothing to do with it.
    long = [text for text in kept if len(text) > 30]
    for row in rows:
        premise, claim = letters(row.premise), letters(row.hypothesis)
        if kept.isdisjoint((claim, premise)) and not any(text in premise for text in long):
            yield row


def _evidence(parts: Iterable[Sequence[str]]) -> str:
    """Sentences with the titles of their articles, each title once."""
    titles: dict[str, list[str]] = defaultdict(list)
    for title, text in parts:
        titles[_text(title)].append(_text(text))
    return "\n".join(f"Title: {title}\n{' '.join(texts)}" for title, texts in titles.items())


def _text(text: str) -> str:
    return join_tokens(text.replace("-LSB-", "[").replace("-RSB-", "]").replace(" -- ", " – "))


if __name__ == "__main__":
    app()
