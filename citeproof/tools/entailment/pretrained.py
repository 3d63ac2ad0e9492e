"""Loads published verifiers: transformers models, and weights in a form of their own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citeproof.errors import MissingExtraError, ModelError
from citeproof.models.progress import quiet_loading
from citeproof.tools.entailment.presets import Preset


def load_tokenizer(name: str, *, offline: bool) -> Any:
    """Load the tokenizer of a model that runs elsewhere, from the hub or a folder.

    Raises:
        MissingExtraError: transformers is not installed.
        ModelError: There is no such tokenizer.
    """
    with MissingExtraError.unless_installed("local", "Long premises cannot be cut"):
        from transformers import AutoTokenizer
    with ModelError.unless_loaded(
        f"The tokenizer of {name!r} cannot be loaded",
        "It is needed here, to cut what is longer than the model reads: name a model of the hub, "
        "or a folder, in entailment.model, as the server does.",
    ):
        return AutoTokenizer.from_pretrained(name, local_files_only=offline)


def load_preset(preset: Preset, source: str, *, offline: bool) -> tuple[Any, Any]:
    """Load the model of a preset, ready to score on the available device, and its tokenizer.

    `source` is a hub path, a folder, or AlignScore's file.

    Raises:
        MissingExtraError: transformers, torch or huggingface_hub is not installed.
        ModelError: The files are missing, or do not hold such a model.
    """
    read = {"transformers": _published, "hhem": _hhem, "alignscore": _alignscore}[preset.weights]
    with MissingExtraError.unless_installed("local", "Published verifiers cannot be loaded"):
        import torch  # noqa: F401
        import transformers
    fix = (
        "Name a model of the hub, or a folder, in entailment.model; entailment.preset says of a "
        "folder which published verifier it holds."
    )
    what = f"The entailment model {source!r} cannot be loaded"
    with ModelError.unless_loaded(what, fix), quiet_loading():
        model, tokenizer = read(preset, source, transformers, offline)
    return _place(model), tokenizer


def _published(preset: Preset, source: str, transformers: Any, offline: bool) -> tuple[Any, Any]:
    """Load a transformers model; seq2seq models, some of which are large, use bfloat16 on a GPU."""
    import torch

    tokenizer = transformers.AutoTokenizer.from_pretrained(source, local_files_only=offline)
    kind = getattr(transformers, f"AutoModelFor{_KINDS[preset.kind]}")
    half = torch.bfloat16 if torch.cuda.is_available() else torch.float32
    more = {"dtype": half} if preset.kind == "seq2seq" else {}
    return kind.from_pretrained(source, local_files_only=offline, **more), tokenizer


_KINDS = {
    "classifier": "SequenceClassification",
    "tokens": "TokenClassification",
    "seq2seq": "Seq2SeqLM",
}
"""Kind of a preset → end of its transformers class, `AutoModelFor…`."""


def _hhem(preset: Preset, source: str, transformers: Any, offline: bool) -> tuple[Any, Any]:
    """Load HHEM-2.1-Open without its remote code, which current transformers can no longer load.

    Its weights are those of a T5 token classifier, with `t5.` before each name. Its config names
    the model that provides config and tokenizer (`foundation`).
    """
    from safetensors.torch import load_file

    told = json.loads(_file(source, "config.json", offline).read_text(encoding="utf-8"))
    base = str(told.get("foundation") or preset.base)
    tokenizer = transformers.AutoTokenizer.from_pretrained(base, local_files_only=offline)
    config = transformers.AutoConfig.from_pretrained(base, num_labels=2, local_files_only=offline)
    model = transformers.T5ForTokenClassification(config)
    held = load_file(_file(source, "model.safetensors", offline))
    _fill(model, {n.removeprefix("t5."): v for n, v in held.items() if n.startswith("t5.")}, source)
    return model, tokenizer


def _alignscore(preset: Preset, source: str, transformers: Any, offline: bool) -> tuple[Any, Any]:
    """Load AlignScore's PyTorch Lightning checkpoint as a RoBERTa classifier with three labels.

    Pooler and `tri_layer` compute what RoBERTa's classification head does: a dense layer, tanh,
    and a linear layer. The heads for masked words, two labels and regression are dropped. Only
    tensors are read from the file; a pickle that contains code is refused.
    """
    import pickle

    import torch

    path = Path(source) if Path(source).is_file() else _file(preset.model, preset.file, offline)
    beside = path.parent if (path.parent / "config.json").is_file() else None
    base = str(beside) if beside and Path(source).is_file() else preset.base
    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"The entailment model {source!r} cannot be loaded",
            why="the checkpoint holds more than tensors, which might be code",
            fix="Keep its weights alone, in a process that may run that code: "
            "torch.save({'state_dict': checkpoint['state_dict']}, FILE).",
        ) from error
    renamed = {}
    for name, value in held["state_dict"].items():
        for old, new in _ALIGNSCORE.items():
            if name.startswith(old):
                renamed[new + name.removeprefix(old)] = value
                break
    tokenizer = transformers.AutoTokenizer.from_pretrained(base, local_files_only=offline)
    config = transformers.AutoConfig.from_pretrained(base, num_labels=3, local_files_only=offline)
    model = transformers.RobertaForSequenceClassification(config)
    _fill(model, renamed, source)
    return model, tokenizer


_ALIGNSCORE = {
    "base_model.pooler.dense.": "classifier.dense.",
    "base_model.": "roberta.",
    "tri_layer.": "classifier.out_proj.",
}
"""Prefix of a name in AlignScore's checkpoint → in transformers; the first match counts."""


def _fill(model: Any, weights: Mapping[str, Any], name: str) -> None:
    """Load weights; only tied ones, such as `embed_tokens`, may be missing."""
    found = model.load_state_dict(dict(weights), strict=False)
    model.tie_weights()
    tied = set(getattr(model, "all_tied_weights_keys", None) or {})
    missing = [key for key in found.missing_keys if key not in tied and "embed_tokens" not in key]
    if missing:
        raise ModelError(
            f"The entailment model {name!r} cannot be loaded",
            why=f"it lacks {len(missing)} weights, such as {missing[0]}",
            fix="Name the published model in entailment.model, or another entailment.preset.",
        )


def _file(source: str, name: str, offline: bool) -> Path:
    """Return a file of a folder, or download it from the hub."""
    if Path(source).is_dir():
        return Path(source) / name
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(source, name, local_files_only=offline))


def _place(model: Any) -> Any:
    import torch

    return model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
