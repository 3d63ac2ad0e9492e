"""The protocols of classifier servers: text-embeddings-inference, vLLM, and citeproof's own.

text-embeddings-inference and `citeproof serve` describe their model at `/info`, and take pairs at
`/predict`. vLLM takes single texts at `/classify`, and pairs at `/score` only for models with one
output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
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
        """Return output → probability for each text; raises what `ModelServer.ask` does."""
        parts = list(in_requests(texts, self.most, lambda text: sum(map(len, text))))
        path = "/predict"
        if self.kind == "vllm":
            path = "/classify" if all(len(text) == 1 for text in texts) else "/score"
        body = partial(self._body, path)
        try:
            return self.server.ask(f"{self.server.root}{path}", parts, body, self._read, "scores")
        except ModelError as error:
            if path == "/score":
                error.fix += (
                    " vLLM scores pairs only for models with one output; for others use "
                    "text-embeddings-inference, or `citeproof serve`."
                )
            raise

    def chance(self, chances: Mapping[int, float], output: int) -> float:
        """Return the probability of an output; refuses a reply of `predict` that lacks it."""
        if output not in chances:
            raise self.server.refuse(f"it gave no probability of output {output}")
        return chances[output]

    def _body(self, path: str, texts: Sequence[Text]) -> dict[str, Any]:
        if path == "/predict":
            return {"inputs": [list(text) for text in texts], "truncate": True}
        first = [text[0] for text in texts]
        if path == "/classify":
            return {"model": self.model, "input": first}
        return {"model": self.model, "text_1": first, "text_2": [text[-1] for text in texts]}

    def _read(self, reply: Any) -> list[dict[int, float]]:
        if self.kind == "vllm":
            ordered = sorted(reply["data"], key=lambda one: int(one["index"]))
            rows = [one["probs"] if "probs" in one else [one["score"]] for one in ordered]
            return [dict(enumerate(map(_chance, row))) for row in rows]
        numbers = {label: number for number, label in self.labels.items()}
        return [
            {numbers[one["label"]]: _chance(one["score"]) for one in predictions}
            for predictions in reply
        ]


def find_classifier(
    server: ModelServer, kind: Literal["auto", "citeproof", "tei", "vllm"], model: str, most: int
) -> Classifier:
    """Find a classifier by its name on a server, by asking the server what it has.

    `most` limits the texts of a request; 0 leaves the limit to the server.

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
