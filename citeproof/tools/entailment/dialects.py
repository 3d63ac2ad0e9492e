"""The protocols of classifier servers: text-embeddings-inference, vLLM, and citeproof's own.

text-embeddings-inference and `citeproof serve` describe their model at `/info`, and take pairs at
`/predict`. vLLM takes single texts at `/classify`, and pairs at `/score` only for models with one
output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from citeproof.errors import ModelError
from citeproof.tools.model_server import ModelServer, in_requests

_MOST = 32
"""Most texts of a request if the server does not say: text-embeddings-inference's limit."""

Text: TypeAlias = tuple[str, ...]
"""One text, or a pair."""


@dataclass(frozen=True)
class Classifier:
    """A classifier on a server."""

    server: ModelServer
    kind: Literal["citeproof", "tei", "vllm"]
    model: str
    """Its name on the server."""
    labels: Mapping[int, str] = field(default_factory=dict)
    """Output → label; empty if the server does not tell."""
    limit: int | None = None
    """Most tokens of a text; None if the server cuts longer ones itself."""
    most: int = _MOST
    """Most texts of a request."""

    def predict(self, texts: Sequence[Text]) -> list[dict[int, float]]:
        """Return output → probability for each text, in order.

        Raises:
            ModelOutageError: The server does not answer.
            ModelError: The server refuses, or sends something else.
        """
        parts = list(in_requests(texts, self.most, lambda text: sum(map(len, text))))
        path, bodies = self._request(parts)
        try:
            replies = self.server.post(f"{self.server.root}{path}", bodies)
        except ModelError as error:
            if path == "/score":
                error.fix += (
                    " vLLM scores pairs only for models with one output; for others use "
                    "text-embeddings-inference, or `citeproof serve`."
                )
            raise
        found = []
        for part, reply in zip(parts, replies, strict=True):
            read = self._read(reply)
            if len(read) != len(part):
                raise self.server.refuse(f"it gave {len(read)} scores for {len(part)} texts")
            found += read
        return found

    def _request(self, parts: Sequence[Sequence[Text]]) -> tuple[str, list[dict[str, Any]]]:
        if self.kind != "vllm":
            inputs = [[list(text) for text in part] for part in parts]
            return "/predict", [{"inputs": own, "truncate": True} for own in inputs]
        if all(len(text) == 1 for part in parts for text in part):
            said = [{"model": self.model, "input": [text[0] for text in part]} for part in parts]
            return "/classify", said
        return "/score", [
            {
                "model": self.model,
                "text_1": [text[0] for text in part],
                "text_2": [text[-1] for text in part],
            }
            for part in parts
        ]

    def _read(self, reply: Any) -> list[dict[int, float]]:
        try:
            if self.kind == "vllm":
                ordered = sorted(reply["data"], key=lambda one: int(one["index"]))
                rows = [one["probs"] if "probs" in one else [one["score"]] for one in ordered]
                return [dict(enumerate(map(_chance, row))) for row in rows]
            numbers = {label: number for number, label in self.labels.items()}
            return [
                {numbers[one["label"]]: _chance(one["score"]) for one in predictions}
                for predictions in reply
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            shown = f"{type(error).__name__}: {error}"
            raise self.server.refuse(f"its reply holds no scores ({shown})") from error


def find_classifier(
    server: ModelServer, kind: Literal["auto", "citeproof", "tei", "vllm"], model: str, most: int
) -> Classifier:
    """Find a classifier on a server, by asking the server what it has.

    Args:
        server: The server.
        kind: The server's software; `auto` asks the server.
        model: The classifier's name on the server.
        most: Most texts of a request; 0 leaves it to the server.

    Raises:
        ModelOutageError: The server cannot be reached.
        ModelError: The server has another model, or none.
    """
    if kind == "vllm":
        return _vllm(server, model, most)
    try:
        info = server.get(f"{server.root}/info")
        if kind == "auto" and not (isinstance(info, dict) and "model_type" in info):
            return _vllm(server, model, most)
    except ModelError as error:
        # A server without this page may be vLLM; one that does not answer is not.
        if kind != "auto" or "HTTP 404" not in error.why:
            raise
        return _vllm(server, model, most)
    return _by_info(server, info, model, most)


def _by_info(server: ModelServer, info: Any, model: str, most: int) -> Classifier:
    try:
        name = str(info["model_id"])
        types = info["model_type"]
        classifier = types.get("classifier") or types.get("reranker")
        if classifier is None:
            raise server.refuse(f"{name} is not a classifier but of type {', '.join(types)}")
        labels = {int(number): str(label) for number, label in classifier["id2label"].items()}
        takes = int(info.get("max_client_batch_size") or _MOST)
        own = "citeproof" in info
        limit = None if own else int(info["max_input_length"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise server.refuse("its /info is not that of text-embeddings-inference") from error
    if name != model:
        raise _another(server, model, [name])
    kind: Literal["citeproof", "tei"] = "citeproof" if own else "tei"
    return Classifier(server, kind, name, labels, limit, min(most or takes, takes))


def _vllm(server: ModelServer, model: str, most: int) -> Classifier:
    listed = server.get(f"{server.root}/v1/models")
    try:
        limits = {str(one["id"]): one.get("max_model_len") for one in listed["data"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise server.refuse("its /v1/models is not a list of models") from error
    if model not in limits:
        raise _another(server, model, list(limits))
    return Classifier(server, "vllm", model, limit=limits[model] or 512, most=most or _MOST)


def _another(server: ModelServer, model: str, has: Sequence[str]) -> ModelError:
    return server.refuse(
        f"it has {', '.join(map(repr, has)) or 'no model'}, not {model!r}",
        f"Name in {server.section}.model what it has, or start it with that model.",
    )


def _chance(value: Any) -> float:
    chance = float(value)
    if not (math.isfinite(chance) and -1e-6 <= chance <= 1 + 1e-6):
        raise ValueError(f"{value} is not a probability")
    return min(max(chance, 0.0), 1.0)
