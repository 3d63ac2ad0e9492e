"""The server's entailment and embedding models, for other processes to share.

Entailment uses the protocol of text-embeddings-inference, `/predict` and `/info`. Unlike vLLM's
`/classify` it takes pairs, and it names the model, its labels and its limits.
"""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from citeproof.errors import InputError
from citeproof.integrations.disconnect import until_gone
from citeproof.integrations.turns import Turns
from citeproof.server.errors import NotFoundError
from citeproof.server.opening import Opening
from citeproof.tools.entailment import Entailment, Pair
from citeproof.tools.entailment.cache import CachedEntailment
from citeproof.tools.entailment.cascade import Cascade
from citeproof.tools.entailment.chat_verifier import ChatVerifier
from citeproof.tools.entailment.judge import Judge
from citeproof.tools.retrieval.embeddings import embed_raw, embedder_name
from citeproof.tools.toolbox import Toolbox

MOST_PAIRS = 32
MOST_TEXTS = 256
"""Most pairs or texts per request; its bytes are limited as for any request."""
_LABELS = {"0": "entailment", "1": "contradiction"}


class PredictBody(BaseModel):
    """Premises with hypotheses; other fields are ignored."""

    inputs: Annotated[list[tuple[str, str]], Field(min_length=1, max_length=MOST_PAIRS)]


class EmbeddingsBody(BaseModel):
    """Texts to embed, in OpenAI's shape."""

    model: str
    input: str | Annotated[list[str], Field(min_length=1, max_length=MOST_TEXTS)]
    encoding_format: Literal["float", "base64"] = "float"


def model_routes(opening: Opening, turns: Turns) -> APIRouter:
    """Build the routes, whose turns are separate from those of questions."""
    router = APIRouter()

    _add_pair_routes(router, "", _classifier, opening, turns)
    _add_pair_routes(router, "/answerability", _answerability, opening, turns)

    @router.post("/v1/embeddings", summary="Embed texts")
    async def embeddings(body: EmbeddingsBody, request: Request) -> dict[str, Any]:
        """Embed texts, in OpenAI's shape."""
        texts = [body.input] if isinstance(body.input, str) else body.input

        async def work() -> list[list[float]]:
            async with turns.turn():
                model = (await opening.tools()).embeddings
                name = embedder_name(model)
                if model is None or body.model != name:
                    has = f"It has {name!r}." if name else "It has none."
                    raise NotFoundError(f"There is no embedding model {body.model!r}", fix=has)
                return await asyncio.to_thread(embed_raw, model, texts)

        vectors: list[Any] = await until_gone(request, work())
        if body.encoding_format == "base64":
            packed = (struct.pack(f"<{len(own)}f", *own) for own in vectors)
            vectors = [base64.b64encode(own).decode() for own in packed]
        return {
            "object": "list",
            "model": body.model,
            "data": [
                {"object": "embedding", "index": i, "embedding": own}
                for i, own in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": 0, "total_tokens": 0},
        }

    return router


def _add_pair_routes(
    router: APIRouter,
    path: str,
    find: Callable[[Toolbox], Entailment],
    opening: Opening,
    turns: Turns,
) -> None:
    """Add the routes of a model that scores pairs, in text-embeddings-inference's protocol."""

    @router.get(f"{path}/info", summary=f"The {path[1:] or 'entailment'} model")
    async def info() -> dict[str, Any]:
        """Return its name, labels and limits, as text-embeddings-inference does."""
        model = find(await opening.tools())
        return {
            "model_id": model.name,
            "model_type": {"classifier": {"id2label": _LABELS}},
            "max_client_batch_size": MOST_PAIRS,
            "threshold": model.threshold,
            "citeproof": version("citeproof"),
        }

    pairs = "text and question" if path else "premise and hypothesis"

    @router.post(f"{path}/predict", summary=f"Score pairs of {pairs}")
    async def predict(body: PredictBody, request: Request) -> list[list[dict[str, Any]]]:
        """Return each pair's labels, the likelier first; premises may have any length."""

        async def work() -> list[float]:
            async with turns.turn():
                model = find(await opening.tools())
                return await model.scores([Pair(*pair) for pair in body.inputs])

        return [_predictions(score) for score in await until_gone(request, work())]


def _classifier(tools: Toolbox) -> Entailment:
    """Return the verifying classifier; a judge behind it has a server of its own."""
    model = tools.entailment.model
    first = model.first if isinstance(model, Cascade) else model
    if isinstance(first, Judge | ChatVerifier):
        raise InputError(
            "This server has no classifier",
            why="a language model verifies here",
            fix="Use it directly: set roles.judge.base_url to its server.",
        )
    return first


def _answerability(tools: Toolbox) -> Entailment:
    """Return the model that decides whether texts answer a question."""
    if tools.answerability is None:
        raise InputError(
            "This server has no answerability model",
            why="its settings say so",
            fix='There, set answerability.model = "local"; or here, "none".',
        )
    model = tools.answerability
    return model.model if isinstance(model, CachedEntailment) else model


def _predictions(score: float) -> list[dict[str, Any]]:
    found = [{"label": "entailment", "score": float(score)}]
    if (against := getattr(score, "contradiction", None)) is not None:
        found.append({"label": "contradiction", "score": float(against)})
    return sorted(found, key=lambda one: one["score"], reverse=True)
