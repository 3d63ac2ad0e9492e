"""citeproof's own entailment model: a low-rank adapter, merged with its base once.

The adapter (`models/adapter/`, with its model card) is part of the package; the base, MPNet, is
fetched like the other embedded models. The merged model is an ordinary sentence-transformers
cross-encoder folder in the cache, which other programs can load too.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from citeproof.models.fetch import fetch, fill_folder, model_folder
from citeproof.models.manifest import MPNET
from citeproof.models.stamps import check, flush, stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from citeproof.models.progress import Progress
    from citeproof.settings import ModelSettings

LABELS = ("entailment", "neutral", "contradiction")
"""The model's outputs, in order."""
_ADAPTER = Path(str(files("citeproof.models"))) / "adapter"
_TOKENIZER = ("special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


class Calibration(BaseModel, frozen=True):
    """Values fitted for the shipped adapter on pairs that it was not trained on."""

    name: str
    """The model's name in reports and the score file; it is different for each adapter."""
    threshold: float
    """Scores of at least this count as entailed."""
    band: tuple[float, float]
    """Lowest and highest score of the cross-encoder about which the cascade asks the judge."""
    blend: tuple[float, float, float]
    """The cascade's score within the band is the logistic function of the sum of these weights
    times the cross-encoder's log-odds, the judge's log-odds, and 1."""
    contradiction: float
    """Probabilities of at least this count as a contradiction."""
    answerability: float
    """A text answers a question if their score is at least this."""


@cache
def calibration() -> Calibration:
    """Return the calibration of the shipped adapter."""
    fitted = json.loads((_ADAPTER / "calibration.json").read_text(encoding="utf-8"))
    with (_ADAPTER / "adapter_model.safetensors").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    return Calibration(name=f"citeproof-entailment-{digest}", **fitted)


def merged_folder(settings: ModelSettings) -> Path:
    """Return the merged model's folder in the cache, which need not exist."""
    return model_folder(MPNET, settings).with_name(calibration().name)


def entailment_folder(settings: ModelSettings, progress: Progress | None = None) -> Path:
    """Return the merged model's cross-encoder folder; creates it if it is missing or damaged.

    Safe to call from several processes at once: one fetches and merges, the others wait.

    Raises:
        FetchError: The base is missing and cannot be downloaded, or cannot be written to disk.
        CorruptModelError: The base is damaged and may not be downloaded (`offline`).
    """
    folder = merged_folder(settings)
    if check(folder) != "good":
        base = fetch(MPNET, settings, progress=progress)
        with fill_folder(folder, "The entailment model") as partial:
            if check(folder) != "good":
                merge(base, _ADAPTER, partial)
                shutil.copyfile(_ADAPTER / "README.md", partial / "README.md")
                stamp(partial)
                flush(partial)
                shutil.rmtree(folder, ignore_errors=True)  # a damaged one, if any
                partial.replace(folder)
    return folder


def merge(base: Path, adapter: Path, folder: Path) -> None:
    """Merge a base with an adapter in peft's format, and write a cross-encoder folder.

    The adapter's folder also has the classification head. `folder` must exist and be empty.
    """
    from safetensors.torch import load_file, save_file

    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    weights = _merge(
        load_file(base / "model.safetensors"),
        load_file(adapter / "adapter_model.safetensors"),
        scale=config["lora_alpha"] / config["r"],
    )
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    for name in _TOKENIZER:
        shutil.copyfile(base / name, folder / name)
    settings = json.loads((base / "config.json").read_text(encoding="utf-8")) | {
        "architectures": ["MPNetForSequenceClassification"],
        "id2label": {str(index): label for index, label in enumerate(LABELS)},
        "label2id": {label: index for index, label in enumerate(LABELS)},
        "_name_or_path": folder.name,
    }
    (folder / "config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")


def _merge(base: Mapping[str, Any], adapter: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """Return the base's weights with the adapter added, under the names of a classifier.

    A matrix W with adapter matrices A and B becomes W + scale·B·A (Hu et al. 2022, section 4.1).
    """
    begin = "base_model.model."
    weights = {f"mpnet.{name}": value for name, value in base.items() if "pooler" not in name}
    for name, value in adapter.items():
        bare = name.removeprefix(begin)
        if bare.endswith(".lora_A.weight"):
            target = bare.removesuffix(".lora_A.weight")
            up = adapter[f"{begin}{target}.lora_B.weight"].float()
            weights[f"{target}.weight"] = weights[f"{target}.weight"] + scale * up @ value.float()
        elif bare.startswith("classifier."):
            weights[bare] = value.float()
    return weights
