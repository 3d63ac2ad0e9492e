"""Public sets of claims, in the format of their repositories, become rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from training.public_claims import app
from training.rows import read

SUPPORTED = {
    "claim": "Ada Lee built a tower.",
    "label": "SUPPORTS",
    "evidence": ["It stands in Ripon .", "Ada Lee -LSB- 1801 -RSB- built the tower with Bo Ray ."],
}
TOWER = "Ada Lee [1801] built the tower with Bo Ray. It stands in Ripon."


def turned(folder: Path, *arguments: str | Path) -> list[tuple[str, str, str]]:
    out = folder / "out.jsonl"
    result = CliRunner().invoke(app, [*map(str, arguments), "--out", str(out)])
    assert result.exit_code == 0, result.output
    return [(row.premise, row.hypothesis, row.label) for row in read(out)]


def put(file: Path, *items: Mapping[str, Any]) -> Path:
    file.write_text("".join(json.dumps(item) + "\n" for item in items))
    return file


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    return put(tmp_path / "apart.jsonl", {"claim": "Nothing."})


def test_fever_sentences_with_a_pronoun_come_last(tmp_path: Path, apart: Path) -> None:
    file = put(
        tmp_path / "test.jsonl",
        SUPPORTED,
        {"claim": "Bo Ray lit it.", "label": "REFUTES", "evidence": ["Bo Ray swam ."]},
        {"claim": "Cy Dunn lit it.", "label": "REFUTES", "evidence": ["A man swam ."]},
        {"claim": "Di Fox lit it.", "label": "REFUTES", "evidence": ["She is Di Fox ."]},
    )
    assert turned(tmp_path, "fever-sentences", file, "--apart", apart) == [
        (TOWER, "Ada Lee built a tower.", "entailment"),
        ("Bo Ray swam.", "Bo Ray lit it.", "contradiction"),
    ]


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        ({"claim": "ada lee built a tower"}, False),
        ({"sentence2": "Ada Lee built a tower ."}, False),
        ({"evidence": TOWER}, False),
        ({"evidence_sentence": "Ada Lee -LSB- 1801 -RSB- built the tower with Bo Ray ."}, False),
        ({"evidence": "It stands in Ripon ."}, True),  # Too short to tell a premise.
        ({"id": "Ada Lee built a tower."}, True),
    ],
)
def test_apart_sets_are_left_out(tmp_path: Path, kept: dict[str, str], left: bool) -> None:
    file = put(tmp_path / "test.jsonl", SUPPORTED)
    apart = put(tmp_path / "apart.jsonl", kept)
    assert bool(turned(tmp_path, "fever-sentences", file, "--apart", apart)) is left


def test_rows_lose_what_is_apart(tmp_path: Path) -> None:
    rows = [
        {"premise": f"Ada -LSB- {year} -RSB- swam .", "hypothesis": claim, "label": "neutral"}
        for year, claim in ((1801, "Ada swam."), (1802, "Ada ran."), (1803, "Ada sat."))
    ]
    apart = put(
        tmp_path / "apart.jsonl", {"claim": "Ada ran ."}, {"evidence": "Ada [ 1803 ] swam ."}
    )
    file = put(tmp_path / "fever.jsonl", *rows)
    assert turned(tmp_path, "leave-out", file, "--apart", apart) == [
        ("Ada [1801] swam.", "Ada swam.", "neutral")
    ]


def test_evidence_without_a_part_is_too_little(tmp_path: Path, apart: Path) -> None:
    def fact(claim: str, agreement: str, after: str) -> dict[str, Any]:
        return {
            "claim": claim,
            "evidence": [["Ada", "She swam ."], ["Ada", "She won ."], ["Bo", "He ran ."]],
            "label_before": "REFUTES",
            "label_after": after,
            "agreement": agreement,
            "text_orig": "[[Ada]] She swam <span style='color:red;'>in May</span> . [[Bo]] Ran .",
        }

    file = put(
        tmp_path / "facts.jsonl",
        fact("Ada swam in June .", "all_nei", "NOT ENOUGH"),
        fact("Ada ran .", "agree_ei", "NOT ENOUGH"),
        fact("Ada sat .", "all_nei", "ENOUGH -- IRRELEVANT"),
    )
    whole, part = "Title: Ada\nShe swam in May.\nTitle: Bo\nRan.", "Title: Ada\nShe swam. She won."
    assert turned(tmp_path, "sufficient-facts", file, "--apart", apart) == [
        (whole, "Ada swam in June.", "contradiction"),
        (f"{part}\nTitle: Bo\nHe ran.", "Ada swam in June.", "neutral"),
        (whole, "Ada ran.", "contradiction"),
        (whole, "Ada sat.", "contradiction"),
    ]


def table(file: Path, lines: Sequence[str]) -> Path:
    file.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_scone_has_the_edited_pair_of_a_file(tmp_path: Path) -> None:
    plain = table(
        tmp_path / "one_scoped.csv",
        [",sentence1,sentence2,gold_label", '0,"No, he sat .",He sat .,neutral'],
    )
    edited = table(
        tmp_path / "no_negation.csv",
        [
            ",sentence1,sentence2,gold_label,sentence1_edited,sentence2_edited,gold_label_edited",
            "0,He did not sit.,He did not rest.,neutral,He sat.,He rested.,entailment",
        ],
    )
    assert turned(tmp_path, "scone", plain, edited) == [
        ("No, he sat.", "He sat.", "neutral"),
        ("He sat.", "He rested.", "entailment"),
    ]


def test_negations_are_read_whatever_their_bytes(tmp_path: Path) -> None:
    file = tmp_path / "RTE.txt"
    lines = [
        "index\tText\tHypothesis\tgold_label",
        '0\tA "caf\u00e9" is not open.\tIt is open.\tnot_entailment',
        "1\tHe sat.\tHe did not sit.\tcontradiction",
        "2\tHe ran.\tHe did not run.\t-",
    ]
    file.write_bytes("\r\n".join(lines).encode("cp1252") + b"\r\n3\tA\x81.\tB.\tneutral\r\n")
    assert turned(tmp_path, "negation-nli", file) == [
        ('A "caf\u00e9" is not open.', "It is open.", "not_entailed"),
        ("He sat.", "He did not sit.", "contradiction"),
        ("A\ufffd.", "B.", "neutral"),
    ]


def test_scifact_pairs_occur_once_with_one_label(tmp_path: Path) -> None:
    file = table(
        tmp_path / "train.tsv",
        [
            "index\tsentence1\tsentence2\tentailment",
            "0\tCells grew ( twice ) .\tCells grow.\tentailment",
            "1\tCells grew (twice).\tCells grow\tentailment",
            "2\tMice ran.\tMice run.\tentailment",
            "3\tMice ran.\tMice run.\tnot_entailment",
            "4\tMice ran.\tMice swim.\tnot_entailment",
        ],
    )
    assert turned(tmp_path, "scifact", file) == [
        ("Cells grew (twice).", "Cells grow.", "entailment"),
        ("Mice ran.", "Mice swim.", "not_entailed"),
    ]


def test_tables_of_facts_have_a_line_for_each_name(tmp_path: Path) -> None:
    for folder in ("tables/json", "maindata"):
        (tmp_path / folder).mkdir(parents=True)
    facts = {"title": ["Ann Lee"], "Born": ["1801"], "Works": ["Tower", "Pier"]}
    (tmp_path / "tables/json/T1.json").write_text(json.dumps(facts))
    head = "annotater_id\ttable_id\thypothesis\tlabel"
    table(tmp_path / "maindata/infotabs_train.tsv", [head, "a\tT1\tShe made two works. \tE"])
    table(tmp_path / "maindata/infotabs_dev.tsv", [head, "a\tT1\tShe swam.\tN", "a\tT1\tNo.\tC"])
    text = "Title: Ann Lee\nBorn: 1801\nWorks: Tower, Pier"
    assert turned(tmp_path, "infotabs", tmp_path) == [
        (text, "She made two works.", "entailment"),
        (text, "She swam.", "neutral"),
        (text, "No.", "contradiction"),
    ]


def test_summaries_with_label_one_are_entailed(tmp_path: Path) -> None:
    edits = [
        {"doc": "Ann sat.\n", "summary": " Ann sat.", "label": 1},
        {"doc": "Ann sat.", "summary": "Bo sat.", "label": 0},
        {"doc": "Ann sat.", "summary": "", "label": 0},
    ]
    file = tmp_path / "summedits_news.json"
    file.write_text(json.dumps(edits))
    assert turned(tmp_path, "summedits", file) == [
        ("Ann sat.", "Ann sat.", "entailed"),
        ("Ann sat.", "Bo sat.", "not_entailed"),
    ]
