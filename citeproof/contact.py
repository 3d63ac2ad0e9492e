"""Asks servers whether they are there, for `doctor`: one request each, which costs nothing."""

from __future__ import annotations

from typing import Any

import httpx

from citeproof.errors import ModelOutageError
from citeproof.settings import ChromaSettings, LLMSettings

__all__ = ["find_chroma", "list_models"]

_PATIENCE = 5.0
"""Seconds."""


def list_models(settings: LLMSettings) -> list[str]:
    """The models that an OpenAI-compatible server lists; empty where it does not say.

    Args:
        settings: With a `base_url`.

    Raises:
        ModelOutageError: It is not reached, or refuses the key.
    """
    key = settings.api_key.get_secret_value() if settings.api_key else ""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    assert settings.base_url is not None
    url = httpx.URL(settings.base_url)
    reply = _get(url.copy_with(path=f"{url.path.rstrip('/')}/models"), headers)
    if reply.status_code in (401, 403):
        raise ModelOutageError("it refuses the key", fix="Correct `llm.api_key`.")
    try:
        listed: Any = reply.json()["data"]
        return [str(one["id"]) for one in listed]
    except (ValueError, KeyError, TypeError):
        return []  # a proxy may have no such list, and yet a model


def find_chroma(settings: ChromaSettings) -> None:
    """Ask a Chroma server for its heartbeat.

    Raises:
        ModelOutageError: It is not reached, or something else answers.
    """
    scheme = "https" if settings.ssl else "http"
    url = httpx.URL(f"{scheme}://{settings.host}:{settings.port}/api/v2/heartbeat")
    reply = _get(url, {})
    if reply.status_code != 200:
        why = f"it answers with HTTP {reply.status_code}"
        raise ModelOutageError("no Chroma server is there", why=why, fix="Correct `chroma.host`.")


def _get(url: httpx.URL, headers: dict[str, str]) -> httpx.Response:
    try:
        return httpx.get(url, headers=headers, timeout=_PATIENCE)
    except httpx.HTTPError as error:
        why = str(error) or type(error).__name__
        raise ModelOutageError("it is not reached", why=why, fix="Start it.") from error
