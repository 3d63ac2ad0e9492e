"""What is noted beside the adapter that ships."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from safetensors.torch import load_file, save_file

from tests.models.tiny import tiny_mpnet
from training import fit, rows, ship

NOTED = {"band": [0.3, 0.65], "blend": [0.5, 0.5, 0.0], "threshold": 0.42}


def blended(folder: Path, scores: list[dict[str, Any]]) -> Any:
    """What is noted after a fit to these scores."""
    (folder / "calibration.json").write_text(json.dumps(NOTED))
    file = folder / "scores.jsonl"
    file.write_text("\n".join(json.dumps({"set": "a", **own}) for own in scores))
    ship.blend(file, out=folder)
    return json.loads((folder / "calibration.json").read_text())


def test_a_blend_keeps_the_band_that_is_noted(tmp_path: Path) -> None:
    scores = [
        {"entailed": n % 2 == 0, "score": 0.3 + n / 60, "judge": n / 20} for n in range(1, 20)
    ]
    known = blended(tmp_path, scores)
    assert known | {"blend": NOTED["blend"]} == NOTED
    assert known["blend"] != NOTED["blend"]


@pytest.mark.parametrize("judged", [{}, {"judge": 0.5}])
def test_scores_that_fit_nothing_leave_what_is_noted(
    tmp_path: Path, judged: dict[str, float]
) -> None:
    with pytest.raises(typer.BadParameter, match="judged pairs of both kinds"):
        blended(tmp_path, [{"entailed": True, "score": 0.4} | judged])
    assert json.loads((tmp_path / "calibration.json").read_text()) == NOTED


def test_new_weights_come_after_their_threshold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, tuned, out = tiny_mpnet(tmp_path / "base"), tmp_path / "tuned", tmp_path / "out"
    data = tmp_path / "pairs.jsonl"
    made = [
        rows.Row("the tower was built .", f"{who} was built .", label, "s")
        for who in ("ann lee", "bo ray")
        for label in ("entailed", "neutral")
    ]
    rows.write(data, made)
    fit.fit(base, tuned, [str(data)], rank=2, first_layer=0, device="cpu")
    ship.adapter(base, tuned, [str(data)], threshold=0.4, out=out)
    weights = out / "adapter_model.safetensors"
    assert {value.dtype for value in load_file(weights).values()} == {torch.half}
    assert json.loads((out / "calibration.json").read_text())["threshold"] == 0.4
    before = weights.read_bytes()

    def fail(tensors: dict[str, torch.Tensor], path: Path, **options: object) -> None:
        save_file(tensors, path)
        raise OSError("no space left")

    monkeypatch.setattr(ship, "save_file", fail)
    with pytest.raises(OSError, match="no space left"):
        ship.adapter(base, tuned, [str(data)], threshold=0.6, out=out)
    assert weights.read_bytes() == before
    assert json.loads((out / "calibration.json").read_text())["threshold"] == 0.4
    assert sorted(path.name for path in out.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "calibration.json",
    ]
    monkeypatch.undo()
    moved: list[str] = []
    replace = Path.replace

    def note(path: Path, to: Path) -> Path:
        moved.append(path.name)
        return replace(path, to)

    monkeypatch.setattr(Path, "replace", note)
    ship.adapter(base, tuned, [str(data)], threshold=0.6, out=out)
    assert moved[-1] == "adapter_model.safetensors"
    assert json.loads((out / "calibration.json").read_text())["threshold"] == 0.6
