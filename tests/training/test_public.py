"""Public sets, in the format of their repositories, become rows."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from training.public import app
from training.rows import Row, read


def turned(out: Path, *arguments: str | Path) -> list[tuple[str, str, str]]:
    result = CliRunner().invoke(app, [*map(str, arguments), "--out", str(out)])
    assert result.exit_code == 0, result.output
    rows: list[Row] = list(read(out))
    return [(row.premise, row.hypothesis, row.label) for row in rows]


def test_tables_keep_quotes_and_lose_tokens(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    head = "\ufeffPremise\tHypothesis\tLabel\n"
    table.write_text(head + 'She said "no".\tShe agreed.\tcontradiction\na\tb\t-\n', "utf-8")
    assert turned(tmp_path / "out", "conjnli", table) == [
        ('She said "no".', "She agreed.", "contradiction")
    ]
    table.write_text(
        "ori_sentence\tnew_sentence\tgold_label\n"
        "He ate a pie , and I did n't .\tHe ate\tentailment\n"
    )
    assert turned(tmp_path / "out", "help", table) == [
        ("He ate a pie, and I didn't.", "He ate.", "entailment")
    ]


def test_hans_gets_its_sentences_back(tmp_path: Path) -> None:
    table = tmp_path / "set.txt"
    table.write_text("gold_label\tsentence1\tsentence2\nnon-entailment\tA b .\tB a .\n")
    assert turned(tmp_path / "out", "hans", table) == [("A b.", "B a.", "not_entailed")]


def test_lines_of_three_files_belong_together(tmp_path: Path) -> None:
    for name, text in {
        "s1": "Two dogs run .\nA man ( old ) sits .\n",
        "s2": "They rest .\nHe is old\n",
        "labels": "contradiction\n-\n",
    }.items():
        (tmp_path / f"{name}.dev").write_text(text)
    assert turned(tmp_path / "out", "esnli", tmp_path) == [
        ("Two dogs run.", "They rest.", "contradiction")
    ]


def test_fever_claims_get_the_evidence_of_one_article_with_its_title(tmp_path: Path) -> None:
    def claim(*documents: str) -> str:
        spans = [{"docid": name, "text": f"It lies in {name[0]} ."} for name in documents]
        row = {"query": "It lies.", "evidences": [spans], "classification": "SUPPORTS"}
        return json.dumps(row) + "\n"

    name = "Ripon_-LRB-Wisconsin-RRB-"
    file = tmp_path / "val.jsonl"
    file.write_text(claim(name, name) + claim(name, "Other"))
    assert turned(tmp_path / "out", "fever", file) == [
        ("Title: Ripon (Wisconsin)\nIt lies in R.", "It lies.", "entailment")
    ]
    for kept in ({"claim": "it lies"}, {"claim": "No.", "evidence": "It lies in R ."}):
        (tmp_path / "kept.jsonl").write_text(json.dumps(kept) + "\n")
        assert not turned(tmp_path / "out", "fever", file, "--apart", tmp_path / "kept.jsonl")


def test_breaking_nli(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"sentence1": "p", "sentence2": "h", "gold_label": "neutral"}\n')
    assert turned(tmp_path / "out", "breaking-nli", file) == [("p", "h", "neutral")]
