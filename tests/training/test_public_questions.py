"""Public sets for finding the text that answers a question become rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from training.public_questions import app
from training.rows import Row, read, write


def turned(folder: Path, *arguments: str | Path) -> list[tuple[str, str, bool]]:
    """The rows, without the title that some show."""
    out = folder / "out.jsonl"
    result = CliRunner().invoke(app, [*map(str, arguments), "--out", str(out)])
    assert result.exit_code == 0, result.output
    return [
        (row.premise.removeprefix("Title: Pier\n"), row.hypothesis, row.entailed)
        for row in read(out)
    ]


def put(file: Path, *items: Mapping[str, Any]) -> Path:
    file.write_text("".join(json.dumps(item) + "\n" for item in items))
    return file


BUILT, PAINTED, SWAM = "Ada built the pier.", "Bo painted the pier.", "Cy swam."
ASKED = {
    "question": "who built the pier",
    "article": "Pier",
    "candidates": [SWAM, BUILT, PAINTED],
    "answers": [1],
}


def test_the_nearest_other_sentence_does_not_answer(tmp_path: Path) -> None:
    rows = turned(tmp_path, "selqa", put(tmp_path / "dev.json", ASKED))
    assert rows[:2] == [
        (BUILT, "Who built the pier?", True),
        (PAINTED, "Who built the pier?", False),
    ]
    assert set(rows[2:]) <= {(SWAM, "Who built the pier?", False)}


def test_a_section_answers_with_its_answer_only(tmp_path: Path) -> None:
    file = tmp_path / "dev.json"
    more = {**ASKED, "candidates": [SWAM, BUILT, PAINTED, "Di left."]}
    apart = {**more, "candidates": [SWAM, BUILT, "Ed ran.", "Di left."]}
    file.write_text(json.dumps([ASKED, more, apart]))
    assert turned(tmp_path, "selqa", file, "--sections") == [
        (f"{SWAM} {BUILT} {PAINTED} Di left.", "Who built the pier?", True),
        (f"{SWAM} {PAINTED} Di left.", "Who built the pier?", False),
    ]


def test_boolq_keeps_its_development_set_apart(tmp_path: Path) -> None:
    apart = put(
        tmp_path / "val.jsonl",
        {"question": "is it wet", "passage": "Seas are wet."},
        {"question": "is it hot", "passage": "Fire -- Fires are hot."},
    )
    opens = {"question": "is the pier open", "passage": "Pier -- It is ``open''."}
    paid = {
        "question": "does the tower cost money",
        "title": "Pier",
        "passage": "The tower is free.",
    }
    file = put(
        tmp_path / "test.jsonl",
        {"question": "Is it wet?", "passage": "Rain falls."},
        {"question": "are seas dry", "passage": "Seas are wet."},
        {"question": "are fires cold", "passage": "Fire -- Fires are hot."},
        opens,
        opens | {"passage": "It closed."},
        paid,
    )
    assert turned(tmp_path, "boolq", file, "--apart", apart) == [
        ('It is "open".', "Is the pier open?", True),
        ("The tower is free.", "Does the tower cost money?", True),
    ]


def test_boolq_asks_of_a_passage_of_another_article(tmp_path: Path) -> None:
    apart = put(tmp_path / "val.jsonl")
    file = put(
        tmp_path / "test.jsonl",
        {"question": "is the old pier open", "passage": "Pier -- The old pier closed."},
        {"question": "is a tower high", "passage": "Pier -- The pier has a tower."},
        {"question": "can swans fly", "passage": "Swan -- Swans like the old sea."},
    )
    rows = turned(tmp_path, "boolq", file, "--apart", apart)
    near = [(text.removeprefix("Title: Swan\n"), asked) for text, asked, right in rows if not right]
    assert near == [("Swans like the old sea.", "Is the old pier open?")]


def test_papers_answer_in_one_paragraph(tmp_path: Path) -> None:
    def paragraph(text: str) -> str:
        return f"{text} It was seen in all of the wards, by day and by night, over years. " * 2

    abstract = paragraph("Abstract: The virus harms old people.")
    own = paragraph("The virus spreads between old patients by air, we found.")
    near = paragraph("The virus in young people was weak.")
    far = paragraph("Nurses wore gloves.")

    def paper(licence: str) -> dict[str, Any]:
        parts = ["Pier", f"License: {licence}", abstract, own, far, near]
        context = "\n\n".join(part.strip() for part in parts)
        answers = [{"text": "by air", "answer_start": context.index("by air")}]
        asked = (
            "How does the virus spread between old  patients?",
            "In this study, what did we find?",
            "How?",
        )
        return {"context": context, "qas": [{"question": q, "answers": answers} for q in asked]}

    file = tmp_path / "covidqa.json"
    papers = [{"paragraphs": [paper(licence)]} for licence in ("cc-by-nc", "CC-BY")]
    file.write_text(json.dumps({"data": papers}))
    question = "How does the virus spread between old patients?"
    assert turned(tmp_path, "covidqa", file) == [
        (own.strip(), question, True),
        (near.strip(), question, False),
    ]


def test_rows_with_a_sentence_of_the_pool_go(tmp_path: Path) -> None:
    pool = put(tmp_path / "pool.jsonl", {"text": "Ada built it. Bo saw the old pier in May."})
    rows = [
        Row("He ran. Bo saw the old pier in May.", "Who?", "entailed", "s"),
        Row("Ada built it.", "Who?", "entailed", "s"),  # Too short to tell a passage.
    ]
    file = tmp_path / "rows.jsonl"
    write(file, rows)
    result = CliRunner().invoke(app, ["free", str(file), "--pool", str(pool)])
    assert result.exit_code == 0, result.output
    assert list(read(file)) == rows[1:]
