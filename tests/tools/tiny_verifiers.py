"""Tiny models with random weights, in the architectures of published verifiers.

Their tokenizers map each byte to its own token, so that any byte more or less in the input
changes the score.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 2100,
    "initializer_range": 0.7,
}
T5_SIZES: dict[str, Any] = {
    "d_model": 16,
    "d_kv": 8,
    "d_ff": 16,
    "num_layers": 2,
    "num_heads": 2,
    "initializer_factor": 3.0,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
}


def byte_tokenizer(folder: Path, *, cls: str, sep: str, double: bool = False) -> Any:
    """A byte tokenizer, saved to a folder.

    Args:
        folder: The folder to save it to.
        cls: The mark at the beginning; empty for T5, which has none.
        sep: The mark at the end, and between the texts of a pair.
        double: Whether two of these separate the texts, as in RoBERTa.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    marks = ["<pad>", sep, *([cls] if cls else []), "<unk>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({mark: n for n, mark in enumerate([*marks, *alphabet])}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    head, between = f"{cls} " if cls else "", f"{sep} {sep}" if double else sep
    core.post_processor = processors.TemplateProcessing(
        single=f"{head}$A {sep}",
        pair=f"{head}$A {between} $B:1 {sep}:1",
        special_tokens=[(mark, marks.index(mark)) for mark in marks],
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token=sep,
        model_max_length=2048,
        model_input_names=["input_ids", "attention_mask"],
    )
    made.add_special_tokens({"cls_token": cls, "sep_token": sep} if cls else {})
    made.save_pretrained(folder)
    return made


def roberta(folder: Path, labels: int = 2) -> tuple[Any, Any]:
    """MiniCheck-RoBERTa's architecture."""
    from transformers import RobertaConfig, RobertaForSequenceClassification

    words = byte_tokenizer(folder, cls="<s>", sep="</s>", double=True)
    config = RobertaConfig(
        vocab_size=len(words), num_labels=labels, pad_token_id=0, type_vocab_size=1, **SIZES
    )
    return _saved(RobertaForSequenceClassification(config), folder), words


def deberta(folder: Path) -> tuple[Any, Any]:
    """FactCG's and MiniCheck-DeBERTa's architecture, with positions as in DeBERTa-v3."""
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    words = byte_tokenizer(folder, cls="[CLS]", sep="[SEP]")
    config = DebertaV2Config(
        vocab_size=len(words),
        num_labels=2,
        type_vocab_size=0,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["p2c", "c2p"],
        share_att_key=True,
        position_buckets=32,
        norm_rel_ebd="layer_norm",
        pooler_hidden_size=16,
        **SIZES,
    )
    return _saved(DebertaV2ForSequenceClassification(config), folder), words


def modernbert(folder: Path) -> tuple[Any, Any]:
    """LettuceDetect's architecture."""
    from transformers import ModernBertConfig, ModernBertForTokenClassification

    words = byte_tokenizer(folder, cls="[CLS]", sep="[SEP]")
    ids = {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 1, "bos_token_id": 2}
    config = ModernBertConfig(vocab_size=len(words), num_labels=2, eos_token_id=1, **ids, **SIZES)
    model = ModernBertForTokenClassification(config)
    model.classifier.weight.data *= 4
    return _saved(model, folder), words


def t5(folder: Path) -> tuple[Any, Any]:
    """MiniCheck-Flan-T5's and TRUE's architecture."""
    from transformers import T5Config, T5ForConditionalGeneration

    words = byte_tokenizer(folder, cls="", sep="</s>")
    config = T5Config(vocab_size=len(words), **T5_SIZES)
    return _saved(T5ForConditionalGeneration(config), folder), words


def hhem(folder: Path) -> tuple[Any, Any]:
    """HHEM's format: a token classifier under `t5.`, and a config that names its foundation."""
    from safetensors.torch import save_file
    from transformers import T5Config, T5ForTokenClassification

    base = folder / "foundation"
    words = byte_tokenizer(base, cls="", sep="</s>")
    config = T5Config(vocab_size=len(words), num_labels=2, **T5_SIZES)
    config.save_pretrained(base)
    model = T5ForTokenClassification(config).eval()
    held = {
        f"t5.{name}": value.clone()
        for name, value in model.state_dict().items()
        if "embed_tokens" not in name
    }
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})
    told = {"model_type": "HHEMv2", "foundation": str(base)}
    (folder / "config.json").write_text(json.dumps(told), encoding="utf-8")
    return model, words


def alignscore(folder: Path) -> tuple[Any, Any, Any]:
    """AlignScore's format: RoBERTa, its pooler and heads in one checkpoint; and its parts."""
    import torch
    from transformers import RobertaConfig, RobertaModel

    words = byte_tokenizer(folder, cls="<s>", sep="</s>", double=True)
    config = RobertaConfig(vocab_size=len(words), pad_token_id=0, type_vocab_size=1, **SIZES)
    config.save_pretrained(folder)
    encoder, head = RobertaModel(config).eval(), torch.nn.Linear(16, 3)
    held = {f"base_model.{name}": value for name, value in encoder.state_dict().items()}
    held |= {f"tri_layer.{name}": value for name, value in head.state_dict().items()}
    held |= {"bin_layer.weight": torch.zeros(2, 16), "mlm_head.bias": torch.zeros(len(words))}
    whole = {"state_dict": held, "hyper_parameters": {"model": "roberta-base"}, "epoch": 3}
    torch.save(whole, folder / "AlignScore-base.ckpt")
    return encoder, head, words


def _saved(model: Any, folder: Path) -> Any:
    model.eval().save_pretrained(folder)
    return model
