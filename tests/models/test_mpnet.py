"""Attention in few operations gives the numbers of transformers' own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import torch
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

from citeproof.models.mpnet import _attend, lean_attention
from tests.models.tiny import tiny_mpnet
from tests.tools.test_nli_models import SIZES


def test_lean_attention_changes_nothing_but_the_way(tmp_path: Path) -> None:
    folder = tiny_mpnet(tmp_path)
    plain = AutoModel.from_pretrained(folder, num_hidden_layers=2).eval()
    texts = ["the tower was built by ann lee .", "bo ray ."]  # the second one is padded
    batch = AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        before = plain(**batch).last_hidden_state
        lean_attention(plain)
        after = plain(**batch).last_hidden_state
        masked = batch["attention_mask"].bool()
        unmasked = plain(input_ids=batch["input_ids"]).last_hidden_state

    assert torch.allclose(before[masked], after[masked], atol=1e-6)
    assert not torch.allclose(before[masked], unmasked[masked], atol=1e-4)


def test_positions_may_stand_behind_a_head_mask() -> None:
    """As transformers 4 calls it: hidden states, attention mask, head mask, positions."""
    linear = {name: torch.nn.Linear(8, 8) for name in "qkvo"}
    layer = SimpleNamespace(attention_head_size=4, **linear)
    hidden, bias = torch.randn(2, 3, 8), torch.randn(1, 2, 3, 3)
    with torch.inference_mode():
        [now] = _attend(layer, hidden, None, bias)
        [named] = _attend(layer, hidden, None, position_bias=bias, output_attentions=False)
        [before] = _attend(layer, hidden, None, None, bias, output_attentions=False)
        [other] = _attend(layer, hidden, None, torch.zeros_like(bias))

    assert torch.equal(now, named)
    assert torch.equal(now, before)
    assert not torch.allclose(now, other)


def test_other_models_are_left_as_they_are() -> None:
    model = BertModel(BertConfig(vocab_size=8, **SIZES))

    lean_attention(model)

    assert not any("forward" in vars(module) for module in model.modules())
