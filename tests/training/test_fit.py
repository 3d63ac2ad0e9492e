"""Training on a tiny MPNet: what an interrupted run goes on to is what it would have been."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import typer

from tests.models.tiny import tiny_mpnet
from training import fit, rows
from training.network import open_network

PARTS = ["the tower", "ann lee", "bo ray", "1871"]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny_mpnet(tmp_path / "base")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    made = [
        rows.Row(f"{a} was built by {b} .", f"{b} was built .", label, "s")
        for a in PARTS
        for b in PARTS
        for label in ("entailed", "neutral")
    ]
    assert rows.write(path, made) == 32
    return path


def run(base: Path, out: Path, data: Path, **options: Any) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    given = {"rank": 2, "first_layer": 0, "tokens": 64, "parts": 2} | options
    fit.fit(base, out, [str(data)], device="cpu", **given)
    return dict(load_file(out / "adapter_model.safetensors"))


def test_a_run_goes_on_where_it_was_stopped(
    base: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(base, tmp_path / "whole", data)
    assert whole["base_model.model.mpnet.encoder.layer.0.attention.attn.q.lora_B.weight"].any()
    saved: list[int] = []
    save = fit._save

    def stop(*arguments: Any) -> None:
        save(*arguments)
        saved.append(1)
        if len(saved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(fit, "_save", stop)
    with pytest.raises(KeyboardInterrupt):
        run(base, tmp_path / "parts", data, save_every=1)
    monkeypatch.setattr(fit, "_save", save)
    assert (tmp_path / "parts.checkpoint").exists()
    parts = run(base, tmp_path / "parts", data, save_every=1)
    assert not (tmp_path / "parts.checkpoint").exists()
    for name, value in whole.items():
        assert torch.allclose(parts[name].float(), value.float(), atol=1e-3), name
    kept = json.loads((tmp_path / "parts" / "training.json").read_text())
    assert kept["rank"] == 2


def test_another_runs_checkpoint_is_refused(base: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    torch.save({"key": "of another run"}, tmp_path / "out.checkpoint")
    with pytest.raises(Exception, match="other arguments; remove it first"):
        run(base, out, data)


@pytest.mark.parametrize("name", ["notes.txt", ".hidden"])
def test_a_folder_of_something_else_is_not_written_over(
    base: Path, data: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    for given in (out, out / name):
        with pytest.raises(typer.BadParameter, match="not an adapter of training.fit"):
            run(base, given, data)
    assert (out / name).read_text() == "mine"


def test_what_goes_on_from_an_adapter_keeps_its_rank_and_its_lower_layers(
    data: Path, tmp_path: Path
) -> None:
    base = tiny_mpnet(tmp_path / "base", layers=2)
    first, second = tmp_path / "first", tmp_path / "second"
    second.mkdir()
    before = run(base, first, data)
    after = run(base, second, data, adapter=first, rank=5, first_layer=1)
    kept = json.loads((second / "training.json").read_text())
    assert (kept["rank"], kept["first_layer"], kept["parts"]) == (2, 1, 2)
    same = {name for name, value in before.items() if torch.equal(value, after[name])}
    assert same == {name for name in before if ".layer.0." in name}
    run(base, first, data)  # Its own adapter may be written anew.


def test_an_adapter_grows_to_more_layers_and_is_the_same_before_it_is_trained(
    data: Path, tmp_path: Path
) -> None:
    base, upper = tiny_mpnet(tmp_path / "base", layers=2), tmp_path / "upper"
    fit.fit(base, upper, [str(data)], rank=2, first_layer=1, rate=0.05, device="cpu")
    ids = torch.tensor([[0, 5, 6, 7, 2]])

    def logits(**options: Any) -> torch.Tensor:
        network = open_network(base, rank=7, device="cpu", adapter=upper, **options).eval()
        assert network.peft_config["default"].r == 2
        found: torch.Tensor = network(input_ids=ids).logits
        return found.detach().float()

    same, grown = logits(layers=[1]), logits(layers=[0, 1])
    assert torch.equal(same, grown)
    fresh = open_network(base, rank=2, layers=[0, 1], device="cpu").eval()
    assert not torch.allclose(fresh(input_ids=ids).logits.float(), same)
    out = run(base, tmp_path / "all", data, adapter=upper)
    assert out["base_model.model.mpnet.encoder.layer.0.attention.attn.q.lora_B.weight"].any()


def test_the_loss_of_a_pair_that_is_only_not_entailed() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0]])
    share = logits.softmax(-1)[0]
    assert float(fit.loss_of(logits, torch.tensor([0]))) == pytest.approx(-float(share[0].log()))
    rest = -float((share[1] + share[2]).log())
    assert float(fit.loss_of(logits, torch.tensor([-1]))) == pytest.approx(rest)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"premise": "p", "hypothesis": "h", "label": "maybe"}', "unknown label 'maybe'"),
        ('{"premise": "p", "label": "neutral"}', "hypothesis"),
        ('{"premise": 1, "hypothesis": "h", "label": "neutral"}', "line 1: premise is not text: 1"),
        ('{"premise": "p", "hypothesis": null, "label": "neutral"}', "hypothesis is not text"),
        ("[]", "line 1"),
        ("{", "line 1"),
    ],
)
def test_a_line_that_is_no_row_is_told(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        list(rows.read(path))
