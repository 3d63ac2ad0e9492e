"""What is kept apart from training."""

from __future__ import annotations

from pathlib import Path

from training import build
from training.rows import Row, read


def test_a_passage_is_on_one_side_with_and_without_its_title(tmp_path: Path) -> None:
    for name in ("final", "held"):
        (tmp_path / name).mkdir()
    texts = [f"Boat {n} runs daily." for n in range(40)]
    premises = [premise for text in texts for premise in (text, f"Title: Boats\n{text}")]
    build._split(tmp_path, "made", [Row(p, "It runs.", "entailed", "made") for p in premises])
    ours, rest = (
        {row.premise.removeprefix("Title: Boats\n") for row in read(tmp_path / name)}
        for name in ("final/made.jsonl", "held/made_rest.jsonl")
    )
    assert ours
    assert rest
    assert not ours & rest
