"""Embeds texts with a sentence-transformers model, on CPU or GPU."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from citeproof.errors import MissingExtraError, ModelError
from citeproof.models.fetch import fetch
from citeproof.models.heap import trim_heap
from citeproof.models.lanes import in_lanes, lanes_of, take_turns
from citeproof.models.manifest import MINILM
from citeproof.models.precision import half_precision, pack_weights
from citeproof.models.progress import Progress, quiet_loading
from citeproof.paths import expand
from citeproof.settings import EmbeddingSettings, ModelSettings

_log = logging.getLogger("citeproof")


class LocalEmbeddings(Embeddings):
    """Embeds texts with a sentence-transformers model.

    The vectors have length 1, so their dot product is their cosine. With the similarity
    `inner_product` they are not normalised.

    The model is loaded with the first text. Threads may share one embedder; they take turns,
    because each call already uses all cores.

    Args:
        name: The model's name, which stores record so that they are read with the same model.
        locate: Returns the folder or hub name to load; called when the model is loaded.
        settings: Prefixes, a separate model for questions, the similarity, and the batch size.
        offline: Never contact the hub.
    """

    def __init__(
        self,
        name: str,
        locate: Callable[[], str],
        settings: EmbeddingSettings | None = None,
        *,
        offline: bool = False,
    ) -> None:
        self._settings = settings or EmbeddingSettings()
        self.name = self._settings.full_name(name)
        self.similarity = self._settings.similarity
        self._locate = locate
        self._offline = offline
        self._lock = threading.RLock()
        self._models: dict[str | None, Any] = {}
        """None → the model; a separate model for questions is under its name."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text; a few thousand texts at once are fastest."""
        return self._vectors(texts, "encode_document", self._settings.passage_prefix)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, with its prefix or the model's own prompt, if any."""
        return self.embed_queries([text])[0]

    def embed_queries(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per question, computed in batches."""
        return self._vectors(texts, "encode_query", self._settings.query_prefix)

    def embed_raw(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text, without any prompt of the model."""
        return self._vectors(texts, "encode", None)

    def _vectors(self, texts: list[str], method: str, prefix: str | None) -> list[list[float]]:
        """Compute vectors with a method of sentence-transformers' models."""
        if not texts:
            return []
        with self._lock:
            model = self._loaded(query=method == "encode_query")
            import torch

            encode = getattr(model, method)
            device = str(model.device.type)

            def run(part: list[str]) -> Any:
                with torch.inference_mode(), half_precision(device):
                    return encode(
                        part,
                        prompt=prefix,
                        batch_size=most,
                        convert_to_tensor=True,
                        show_progress_bar=False,
                    )

            order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
            lanes, most = lanes_of(device), 16 if device == "cpu" else 64
            size = most = self._settings.batch_size or most
            if len(texts) >= 16 * lanes > 16:
                size = min(size, len(texts) // (2 * lanes))  # at least two parts per lane
            parts = [
                [texts[place] for place in order[start : start + size]]
                for start in range(0, len(texts), size)
            ]
            vectors = torch.cat(in_lanes(run, parts, device)).float().cpu()
            if self.similarity == "cosine":
                vectors = torch.nn.functional.normalize(vectors, dim=-1)
            listed: list[list[float]] = vectors[torch.tensor(order).argsort()].tolist()
            del vectors
            if len(texts) > most:
                trim_heap()
            return listed

    def _loaded(self, *, query: bool) -> Any:
        apart = self._settings.query_model if query else None
        if apart not in self._models:
            source = str(expand(Path(apart))) if apart else self._locate()
            fix = (
                "Set `embedding.model` to a sentence-transformers model (a folder or a name on the "
                "hub), or leave it out to use the embedded one."
            )
            with ModelError.unless_loaded(f"The embedding model {source} cannot be loaded", fix):
                self._models[apart] = _load(source, self._offline)
            _log.info("The embedding model %s is loaded.", source)
        return self._models[apart]


def load_embedder(
    settings: EmbeddingSettings, models: ModelSettings, progress: Progress | None = None
) -> LocalEmbeddings:
    """Return the embedder that the settings name; its first use downloads and loads the model."""
    if find_spec("sentence_transformers") is None:
        raise MissingExtraError(
            "Embedding needs sentence-transformers, which is not installed",
            fix='Run: pip install "citeproof[local]"',
        )
    if settings.model == "local":
        return LocalEmbeddings(
            MINILM.name,
            lambda: str(fetch(MINILM, models, progress=progress)),
            settings,
            offline=True,
        )
    name = str(expand(Path(settings.model)))
    if not Path(name).is_dir() and (name.startswith(".") or Path(name).is_absolute()):
        raise ModelError(
            f"The embedding model folder {name} does not exist",
            fix="Correct `embedding.model`, or leave it out to use the embedded model.",
        )
    return LocalEmbeddings(name, lambda: name, settings, offline=models.offline)


def _load(source: str, offline: bool) -> Any:
    # oneDNN caches a kernel per batch shape; with 10,000 passages that took over a gigabyte.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    from sentence_transformers import SentenceTransformer

    with quiet_loading():
        model = SentenceTransformer(source, local_files_only=offline)
    pack_weights(model)
    take_turns(model)
    return model
