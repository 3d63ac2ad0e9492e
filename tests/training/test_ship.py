"""What is noted beside the adapter that ships."""

from __future__ import annotations

import json
from pathlib import Path

from training.ship import blend


def test_a_blend_keeps_the_band_that_is_noted(tmp_path: Path) -> None:
    note, scores = tmp_path / "calibration.json", tmp_path / "scores.jsonl"
    noted = {"band": [0.3, 0.65], "blend": [0.5, 0.5, 0.0], "threshold": 0.42}
    note.write_text(json.dumps(noted))
    rows = [
        {"set": "a", "entailed": n % 2 == 0, "score": 0.3 + n / 60, "judge": n / 20}
        for n in range(1, 20)
    ]
    scores.write_text("\n".join(map(json.dumps, rows)))
    blend(scores, out=tmp_path)
    known = json.loads(note.read_text())
    assert (known["band"], known["threshold"]) == ([0.3, 0.65], 0.42)
    assert known["blend"] != noted["blend"]
