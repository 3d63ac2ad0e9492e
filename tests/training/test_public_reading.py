"""Public sets for reading comprehension become rows with right and wrong answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from training.public_reading import app
from training.public_roles import qamr
from training.rows import Row, read


def turned(folder: Path, command: str, *items: Mapping[str, Any]) -> list[Row]:
    file, out = folder / "items.json", folder / "out.jsonl"
    file.write_text(json.dumps(items))
    result = CliRunner().invoke(app, [command, str(file), "--out", str(out)])
    assert result.exit_code == 0, result.output
    return list(read(out))


def of(rows: list[Row], source: str) -> list[tuple[str, str, bool]]:
    """The rows of a recipe, with the last word of their claims, without the titles of some."""
    return [
        (
            row.premise.removeprefix("Title: Ripon\n"),
            row.hypothesis.rstrip(".?").split()[-1],
            row.entailed,
        )
        for row in rows
        if row.source == source
    ]


def edited(text: str, label: str, question: str = "Is it old?", **more: str) -> dict[str, Any]:
    return {
        "PassageID": 1,
        "QuestionID": question,
        "original passage": "It is old.",
        "sentence1": text,
        "sentence2": question,
        "label": label,
        **more,
    }


def test_an_edit_changes_the_answer(tmp_path: Path) -> None:
    rows = turned(
        tmp_path,
        "condaqa",
        edited("It is old.", "YES"),
        edited("It is not old.", "NO"),
        edited("It may be old.", "DON'T KNOW"),
        edited("It is red.", "RED", "Of what colour?"),
        edited("It is.", "NO", **{"Passage is enough": "External knowledge required"}),
    )
    assert of(rows, "condaqa/not settled") == [("It may be old.", "old", False)]
    assert set(of(rows, "condaqa/answer")) == {
        ("It is old.", "Yes", True),
        ("It is not old.", "No", True),
        ("It is red.", "RED", True),
    }
    assert set(of(rows, "condaqa/opposite answer")) == {
        ("It is old.", "No", False),
        ("It is not old.", "Yes", False),
    }
    ((text, _, right),) = of(rows, "condaqa/answer to open question")
    assert (text, right) == ("It may be old.", False)
    settled = {text for text, _, _ in of(rows, "condaqa/settled")}
    assert settled & {"It is old.", "It is not old."}
    assert not any(row.premise == "It is." for row in rows)


FILLER = [f"Sheep number {n} ate grass ." for n in range(6)]
MAYORS = [
    "Ada Lee was mayor of Ripon from 1901 to 1905 .",
    *FILLER,
    "Bo Ray was mayor of Ripon from 1906 to 1910 .",
]


def dated(number: int, years: str, answer: str, texts: list[str] = MAYORS) -> dict[str, Any]:
    context = "Ripon " + " ".join(texts)
    return {
        "idx": f"/wiki/Ripon#P6#{number}",
        "question": f"Who was mayor of Ripon {years}?",
        "context": context,
        "targets": [answer],
        "from": [context.find(answer)],
        "paragraphs": [{"title": "Ripon", "text": f" {text}"} for text in texts],
    }


def test_another_time_has_another_answer(tmp_path: Path) -> None:
    ada, bo = dated(0, "in 1901", "Ada Lee"), dated(1, "in 1906", "Bo Ray")
    rows = turned(tmp_path, "timeqa", ada, bo)
    found = [
        (
            row.source,
            "Ada" in row.premise,
            "Bo" in row.premise,
            row.hypothesis.rstrip("?."),
            row.entailed,
        )
        for row in rows
    ]
    claims = {
        (source, one, two, claim.rpartition(" ")[2], right)
        for source, one, two, claim, right in found
    }
    answer, other = "timeqa/answer", "timeqa/other time"
    assert claims == {
        (answer, True, False, "1901", True),
        (answer, True, False, "Lee", True),
        (other, True, False, "Ray", False),
        (other, False, True, "1901", False),
        (answer, False, True, "1906", True),
        (answer, False, True, "Ray", True),
        (other, False, True, "Lee", False),
        (other, True, False, "1906", False),
    }
    assert of(rows, answer)[0][0].startswith("Ada Lee was mayor of Ripon from 1901 to 1905.")


def test_a_text_without_the_date_or_the_answer_is_left_out(tmp_path: Path) -> None:
    moved = dated(1, "in 1901", "Bo Ray") | {"from": [len("Ripon ")]}
    assert not turned(
        tmp_path,
        "timeqa",
        dated(0, "in 1950", "Ada Lee"),
        moved,
        dated(2, "after Bo Ray in 1906", "Bo Ray"),
    )


def test_an_article_without_an_answer_gives_its_nearest_sentences(tmp_path: Path) -> None:
    texts = [MAYORS[0], *FILLER, *FILLER, MAYORS[-1]]
    rows = of(turned(tmp_path, "timeqa", dated(0, "in 1950", "", texts)), "timeqa/no answer")
    assert [("Ada" in text, "Bo" in text, right) for text, _, right in rows] == [
        (False, True, False),
        (True, False, False),
    ]


def told(question: str, number: int) -> list[dict[str, Any]]:
    both = {"question": question, "ans0": "Not known", "ans1": "The nurse", "ans2": "The cook"}
    open_ = both | {"context": f"{number} sat.", "context_condition": "ambig", "label": 0}
    shown = both | {
        "context": f"{number} sat. She ran.",
        "context_condition": "disambig",
        "label": 2,
    }
    return [open_, shown]


def test_only_a_context_that_tells_answers(tmp_path: Path) -> None:
    rows = turned(
        tmp_path, "bbq", *(item for number in range(6) for item in told("Who ran?", number))
    )
    texts = {row.premise.partition(" ")[0] for row in rows}
    assert len(texts) == 4  # Of six with the same question.
    yes = {f"{text} sat. She ran." for text in texts}
    no = {f"{text} sat." for text in texts}
    assert sorted(of(rows, "bbq/told")) == sorted((text, "ran", True) for text in yes)
    assert sorted(of(rows, "bbq/open")) == sorted((text, "ran", False) for text in no)
    assert {(text, right) for text, _, right in of(rows, "bbq/answer")} == {(t, True) for t in yes}
    wrong = of(rows, "bbq/wrong answer") + of(rows, "bbq/open answer")
    assert len(wrong) == 4
    for row in rows:
        if row.source in ("bbq/answer", "bbq/open answer", "bbq/wrong answer"):
            assert ("cook" in row.hypothesis) is (row.source != "bbq/wrong answer")
            assert ("nurse" in row.hypothesis) is (row.source == "bbq/wrong answer")
            assert (row.premise in no) is (row.source == "bbq/open answer")


def test_another_role_is_a_wrong_answer(tmp_path: Path) -> None:
    def role(key: str, question: str, *spans: str) -> str:
        first, *rest = spans
        given = [first, *(f"7:{span}" for span in rest)]
        return "\t".join([key, "0", "0", "0", "0", question, *given]) + "\n"

    sentences, asked = tmp_path / "wiki-sentences.tsv", tmp_path / "dev.tsv"
    sentences.write_text(
        "a\tAda Lee built the old pier in 1801 .\nb\tBo Ray saw the old pier -LSB- twice -RSB- .\n"
        "c\tThe old pier was first built by hand .\n"
    )
    asked.write_text(
        role("a", "Who built the old pier first?", "0 1", "0 1", "0 1")
        + role("a", "When was something done?", "7", "7", "7")
        + role("a", "How long was the work?", "7", "0", "7")
        + role("a", "Which parts are far apart?", "0 7", "0 7", "0 7")
        + role("a", "Which person worked there?", "0 1", "0 1", "0 1")
        + role("c", "Which way of work was it?", "7", "7", "7")
        + role("b", "How often did somebody look?", "7", "7", "7")
    )
    qamr(sentences, [asked], tmp_path / "out.jsonl")
    rows = list(read(tmp_path / "out.jsonl"))
    text = "Ada Lee built the old pier in 1801."
    first, second = "Who built the old pier first?", "When was something done?"
    made = {(r.premise, r.hypothesis, r.entailed) for r in rows if r.source != "qamr/sentence"}
    seen = "Bo Ray saw the old pier [twice]."
    assert made == {
        (text, f"{first} Ada Lee", True),
        (text, f"{first} 1801", False),
        (text, f"{second} 1801", True),
        (text, f"{second} Ada Lee", False),
        (text, "Which person worked there? Ada Lee", True),
        (text, "Which person worked there? 1801", False),
        ("The old pier was first built by hand.", "Which way of work was it? hand", True),
        (seen, "How often did somebody look? twice", True),
        (seen, first, False),
    }
    assert all(row.entailed for row in rows if row.source == "qamr/sentence")
