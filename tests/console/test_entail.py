"""Pairs in, scores out: `citeproof entail`."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citeproof.console.verifier import open_verifier
from citeproof.errors import ModelError
from citeproof.testing import Choice, ScriptedChatModel, TableEntailment
from citeproof.tools.entailment import Pair
from citeproof.tools.entailment.pairs import CHUNK, Agreement, gold, to_line
from citeproof.tools.llm.model import LLM
from tests.command import run


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verify_with: Any) -> TableEntailment:
    """What scores in place of the model, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    model = TableEntailment(lambda premise, hypothesis: float(hypothesis in premise), threshold=0.5)
    verify_with(model)
    return model


def lines(*rows: Any) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def pair(premise: str = "It is old.", hypothesis: str = "old", **more: Any) -> dict[str, Any]:
    return {"premise": premise, "hypothesis": hypothesis, **more}


def test_lines_come_back_in_order_with_their_fields_and_scores() -> None:
    Path("p.jsonl").write_text(
        lines(pair(id=7, x=[1, None, {"é": "塔"}]), pair(hypothesis="new", score="?", entailed=1)),
        "utf-8",
    )
    done = run(["entail", "p.jsonl"], code=0)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {**pair(id=7, x=[1, None, {"é": "塔"}]), "score": 1.0, "entailed": True},
        {**pair(hypothesis="new"), "score": 0.0, "entailed": False},
    ]
    assert "塔" in done.stdout
    assert done.stderr == ""


def test_a_score_below_the_threshold_is_not_rounded_to_it(table: TableEntailment) -> None:
    table.threshold = 0.65
    table._scores = lambda *_: 0.649999
    done = run(["entail", "-"], input=lines(pair()))
    row = json.loads(done.stdout)
    assert (row["score"], row["entailed"]) == (0.6499, False)


def test_standard_input_is_read_and_blank_lines_and_a_byte_order_mark_do_no_harm(
    table: TableEntailment,
) -> None:
    given = b"\xef\xbb\xbf" + lines(pair()).encode() + b"\r\n \n" + lines(pair()).strip().encode()
    assert len(run(["entail", "-"], input=given).stdout.splitlines()) == 2
    assert table.batches == [2]


def test_pairs_are_scored_in_chunks(table: TableEntailment) -> None:
    many = [pair(premise=f"{n}", hypothesis=f"{n % 2}") for n in range(CHUNK + 3)]
    done = run(["entail", "-"], input=lines(*many))
    assert table.batches == [CHUNK, 3]
    assert [json.loads(line)["premise"] for line in done.stdout.splitlines()] == [
        row["premise"] for row in many
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nope", "is not JSON: Expecting value. Write each line as {"),
        ("[1]", "is not a pair: it is not an object. Write each line as {"),
        ('{"premise": "a"}', "is not a pair: it has no `hypothesis`."),
        ('{"hypothesis": "a"}', "is not a pair: it has no `premise`."),
        ('{"premise": "a", "hypothesis": 3}', "is not a pair: its `hypothesis` is not a text."),
        ('{"premise": null, "hypothesis": "a"}', "is not a pair: its `premise` is not a text."),
        ('{"premise": " ", "hypothesis": "a"}', "is not a pair: its `premise` is empty."),
        ('{"premise": "a", "hypothesis": "b", "x": NaN}', "is not JSON: NaN is not a JSON number"),
        ('{"premise": "a", "hypothesis": "b", "x": 1e999}', "is not JSON: the number 1e999"),
        ("[" * 100_000, "is not JSON: "),
    ],
)
def test_a_bad_line_is_told_before_anything_is_scored(
    table: TableEntailment, line: str, message: str
) -> None:
    Path("p.jsonl").write_text(f"{lines(pair())}\n{line}\n{lines(pair())}", "utf-8")
    done = run(["entail", "p.jsonl", "--out", "o.jsonl"], code=2)
    assert done.stderr.startswith(f"p.jsonl, line 3, {message}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert table.batches == []
    assert [file.name for file in Path().iterdir()] == ["p.jsonl"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("-", "standard input holds no pair. "),
        ("bad.jsonl", "bad.jsonl, line 2, cannot be read: it is not valid UTF-8 at byte 16 of"),
        ("nowhere.jsonl", "nowhere.jsonl cannot be read: "),
        (".", ". cannot be read: "),
    ],
)
def test_what_holds_no_pairs_is_bad_input(name: str, told: str) -> None:
    Path("bad.jsonl").write_bytes(lines(pair()).encode() + b'{"premise": "caf\xe9"}\n')
    assert run(["entail", name], input="\n \n", code=2).stderr.startswith(told)


def test_a_failure_leaves_the_old_file_and_no_half_of_a_new_one(
    table: TableEntailment, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(["entail", "-", "--out", "o.jsonl"], input=lines(pair(), pair()))
    assert (done.exit_code, done.stdout) == (0, "")
    old = Path("o.jsonl").read_text("utf-8")
    assert len(old.splitlines()) == 2
    table.batches.clear()
    scores = table.scores

    async def fails(pairs: Sequence[Pair]) -> list[float]:
        if table.batches:
            raise ModelError("It stopped")
        return await scores(pairs)

    monkeypatch.setattr(table, "scores", fails)
    given = lines(*(pair(n=n) for n in range(CHUNK + 1)))
    done = run(["entail", "-", "--out", "o.jsonl"], input=given)
    assert (done.exit_code, done.stderr) == (2, "It stopped.\n")
    assert [(file.name, file.read_text()) for file in Path().iterdir()] == [("o.jsonl", old)]


def test_the_input_is_not_overwritten_by_any_name(table: TableEntailment) -> None:
    Path("p.jsonl").write_text(lines(pair()))
    Path("link.jsonl").symlink_to("p.jsonl")
    for name in ("p.jsonl", "./p.jsonl", "link.jsonl"):
        done = run(["entail", "p.jsonl", "--out", name], code=2)
        assert "is the input: it would be overwritten" in done.stderr
    assert Path("p.jsonl").read_text() == lines(pair())
    assert table.batches == []


def test_a_place_that_cannot_be_written_is_told_before_the_model_works(
    table: TableEntailment,
) -> None:
    Path("folder").mkdir()
    places = {
        "folder": "is not a plain file",
        "no/o.jsonl": "cannot be written: ",
        "x" * 300: "cannot be written: ",
    }
    for name, why in places.items():
        assert why in run(["entail", "-", "--out", name], input=lines(pair()), code=2).stderr
    assert table.batches == []


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    disk = full.open("wb")
    monkeypatch.setattr(Path, "open", lambda *_: disk)
    done = run(["entail", "-", "--out", "o.jsonl"], input=lines(pair()), code=2)
    assert "cannot be written: No space left" in done.stderr
    assert list(Path().iterdir()) == []


def test_a_pipe_is_read_though_it_comes_only_once() -> None:
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_text(lines(pair(), pair())))
    writer.start()
    done = run(["entail", "pipe"])
    writer.join()
    assert len(done.stdout.splitlines()) == 2


def test_options_go_over_the_settings(table: TableEntailment, verify_with: Any) -> None:
    opened = verify_with(table)
    Path("mine.toml").write_text('[entailment]\nmodel = "a"\nthreshold = 0.2\nbatch_size = 3\n')
    options = ["--backend", "cross-encoder", "--model", "b=c", "--threshold", "0.9"]
    run(["entail", "-", "--config", "mine.toml", *options], input=lines(pair()), code=0)
    chosen = opened[0].entailment
    assert (chosen.kind, chosen.model, chosen.threshold) == ("cross-encoder", "b=c", 0.9)
    assert chosen.batch_size == 3


def test_the_agreement_with_labels_is_told() -> None:
    given = lines(
        pair(label="entailment"),
        pair(hypothesis="new", label="entailed"),
        pair(hypothesis="new", label="neutral"),
        pair(hypothesis="new", label=False),
        pair(label="-"),
        pair(),
        pair(label=None),
    )
    done = run(["entail", "-"], input=given)
    assert done.stderr == (
        "4 labelled pairs · accuracy 0.750 · balanced accuracy 0.750 · AUC 0.750\n"
        "1 label left out: write entailed, not_entailed, true or false\n"
    )
    assert json.loads(done.stdout.splitlines()[0])["label"] == "entailment"


def test_what_labels_mean() -> None:
    yes = ["entailment", "Entailed", True, "true"]
    no = ["neutral", "contradiction", "not_entailed", "not entailment", "NOT-ENTAILED", "false"]
    neither = [0, 1, "-", None, ["entailed"]]
    told = [gold({"label": label}) for label in (*yes, *no, False, *neither)]
    assert told == [True] * 4 + [False] * 7 + [None] * 5


def agreement(*scored: tuple[float, bool]) -> Agreement:
    found = Agreement()
    for score, label in scored:
        found.add({"score": score, "entailed": score >= 0.5, "label": label})
    return found


def test_figures_are_those_of_the_textbook() -> None:
    found = agreement((0.9, True), (0.8, False), (0.4, True), (0.3, False), (0.2, False))
    figures = {"accuracy": 3 / 5, "balanced accuracy": (1 / 2 + 2 / 3) / 2, "AUC": 5 / 6}
    assert found.figures() == pytest.approx(figures)
    assert agreement((0.1, True), (0.9, False)).figures()["AUC"] == 0.0
    assert agreement((0.5, True), (0.5, False), (0.5, False)).figures()["AUC"] == 0.5
    assert agreement((0.9, True), (0.1, True)).figures() == {"accuracy": 0.5}
    assert agreement().figures() == {}


def test_half_a_surrogate_pair_is_kept_and_harms_no_tokenizer(table: TableEntailment) -> None:
    given = '{"premise": "old \\ud800", "hypothesis": "old"}\n'
    assert json.loads(run(["entail", "-"], input=given, code=0).stdout)["premise"] == "old \ud800"
    assert table.pairs[0].premise == "old \ufffd"
    assert to_line({"x": "é", "score": 0.123456}) == '{"x": "é", "score": 0.1234}\n'.encode()


def test_the_judge_is_opened_only_if_it_judges_and_closed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    closed: list[str] = []

    def open_llm(settings: Any, models: Any, *, role: str, progress: Any) -> LLM:
        opened.append(role)
        llm = LLM(ScriptedChatModel([Choice(Yes=0.9, No=0.1)]), role=role)
        monkeypatch.setattr(llm, "close", lambda: closed.append(role))
        return llm

    monkeypatch.setattr("citeproof.console.verifier.open_verifier", open_verifier)
    monkeypatch.setattr("citeproof.console.verifier.open_llm", open_llm)
    given = lines(pair())
    done = run(["entail", "-", "--backend", "judge"], input=given, code=0)
    assert json.loads(done.stdout)["score"] == 0.9
    assert (opened, closed) == (["judge"], ["judge"])

    async def scores(_: Any, pairs: Sequence[Pair]) -> list[float]:
        return [0.25] * len(pairs)

    monkeypatch.setattr("citeproof.tools.entailment.cross_encoder.CrossEncoder.scores", scores)
    options = ["--backend", "cross-encoder", "--model", "mine"]
    assert json.loads(run(["entail", "-", *options], input=given).stdout)["score"] == 0.25
    assert opened == ["judge"]
