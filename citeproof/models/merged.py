"""citeproof's own models: low-rank adapters, each merged with their base once.

The adapters (`models/adapters/`, with their model cards) are part of the package; the base, MPNet,
is fetched like the other embedded models. A merged model is an ordinary sentence-transformers
cross-encoder folder in the cache, which other programs can load too.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from citeproof.models.fetch import fetch, fill_folder, model_folder
from citeproof.models.manifest import MPNET
from citeproof.models.stamps import check, put_in_place, sha256, stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from citeproof.models.progress import Progress
    from citeproof.settings import ModelSettings, Settings

LABELS = ("entailment", "neutral", "contradiction")
"""The outputs of both models, in order."""
_TOKENIZER = ("special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


class Calibration(BaseModel, frozen=True):
    """Values fitted for a shipped adapter on pairs that it was not trained on."""

    threshold: float
    """Scores of at least this count as entailed."""
    band: tuple[float, float] = (0.2, 0.8)
    """Lowest and highest score of the cross-encoder about which the cascade asks the judge."""
    blend: tuple[float, float, float] = (0.5, 0.5, 0.0)
    """The cascade's score within the band is the logistic function of the sum of these weights
    times the cross-encoder's log-odds, the judge's log-odds, and 1."""
    contradiction: float = 0.5
    """Probabilities of at least this count as a contradiction."""


@dataclass(frozen=True)
class MergedModel:
    """A model that is an adapter of the package, and its base."""

    purpose: str
    adapter: Path
    """Folder of the low-rank maps and the classification head, in peft's format, with
    `calibration.json` and a model card."""

    @cached_property
    def name(self) -> str:
        """Its name in reports, score files and the cache; it is different for each adapter."""
        digest = sha256(self.adapter / "adapter_model.safetensors")
        return f"citeproof-{self.purpose}-{digest[:12]}"

    @cached_property
    def calibration(self) -> Calibration:
        """The values that were fitted for it."""
        text = (self.adapter / "calibration.json").read_text(encoding="utf-8")
        return Calibration.model_validate_json(text)

    def folder(self, settings: ModelSettings) -> Path:
        """Return the merged model's folder in the cache, which need not exist."""
        return model_folder(MPNET, settings).with_name(self.name)

    def make_folder(self, settings: ModelSettings, progress: Progress | None = None) -> Path:
        """Return the merged model's folder; creates it if it is missing or damaged.

        Safe to call from several processes at once: one fetches and merges, the others wait.

        Raises:
            FetchError: The base is missing and cannot be downloaded, or cannot be written to disk.
            CorruptModelError: The base is damaged and may not be downloaded (`offline`).
        """
        folder = self.folder(settings)
        if check(folder) != "good":
            base = fetch(MPNET, settings, progress=progress)
            with fill_folder(folder, f"The {self.purpose} model") as partial:
                if check(folder) != "good":
                    merge(base, self.adapter, partial)
                    shutil.copyfile(self.adapter / "README.md", partial / "README.md")
                    stamp(partial)
                    put_in_place(partial, folder)
        return folder


_ADAPTERS = Path(str(files("citeproof.models"))) / "adapters"
ENTAILMENT = MergedModel("entailment", _ADAPTERS / "entailment")
"""Judges whether a premise states a hypothesis, or contradicts it."""
ANSWERABILITY = MergedModel("answerability", _ADAPTERS / "answerability")
"""Judges whether a text answers a question."""


def merged_models(settings: Settings) -> list[MergedModel]:
    """Return those of citeproof's own models that this process loads by these settings."""
    verifies = settings.entailment
    found = [ENTAILMENT] if verifies.embedded else []
    # `citeproof serve` offers both.
    at_server = verifies.own and verifies.base_url is not None
    return [*found, ANSWERABILITY] if settings.wants_answerability and not at_server else found


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
