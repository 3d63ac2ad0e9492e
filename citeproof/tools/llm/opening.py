"""Opens the language models that the settings name, and takes those that a caller brings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from langchain_core.language_models import BaseChatModel
from langchain_core.rate_limiters import BaseRateLimiter, InMemoryRateLimiter
from langchain_core.runnables import Runnable

from citeproof.errors import SettingsError
from citeproof.models.progress import Progress
from citeproof.settings import LLMSettings, ModelSettings
from citeproof.tools.llm.chat_models import ChatModels, open_chat_models
from citeproof.tools.llm.model import LLM, NO_LLM

_JUDGE_SLOT = 1
"""The judge reads single passages, so its prompts begin differently from the writers'."""


def coerce_llm(model: LLM | BaseChatModel | str, role: str = "default") -> LLM:
    """Make an `LLM` from anything that can serve as one.

    Args:
        model: An `LLM`, a LangChain chat model, or a name as in the setting `llm.model`:
            `openai:gpt-4o`, or `local` for the embedded model.
        role: The role of a model that has none yet.

    Raises:
        SettingsError: The model is none of these, or its name is malformed.
        ModelError: The embedded model cannot be fetched or started.
    """
    if isinstance(model, LLM):
        return model.for_role(role) if model.role == "default" != role else model
    if isinstance(model, BaseChatModel):
        return LLM(model, role=role)
    if isinstance(model, str):
        return open_llm(LLMSettings(model=model), ModelSettings(), role=role)
    fix = "Give a LangChain chat model, an LLM, or a name such as openai:gpt-4o."
    if isinstance(model, Runnable):  # calls set their own arguments, and are retried
        fix = "Give the chat model itself, without bind, with_retry or with_fallbacks around it."
    raise SettingsError(f"A {type(model).__name__} is not a language model", fix=fix)


def no_llm() -> LLM:
    """Return a placeholder for runs without a language model; calls raise a `SettingsError`."""

    def build() -> BaseChatModel:
        raise SettingsError(
            "There is no language model to ask",
            why="the tools were opened without one",
            fix="Give Toolbox a language model, or leave out llm=False.",
        )

    return LLM(ChatModels(build, NO_LLM))


def open_llm(
    settings: LLMSettings,
    models: ModelSettings,
    *,
    role: str = "default",
    roles: Mapping[str, LLMSettings] | None = None,
    progress: Progress | None = None,
) -> LLM:
    """Open the language model that the settings name, and the models of roles that have their own.

    See `open_chat_models` for what is downloaded and started, and for the errors.

    Args:
        settings: The model of every role without its own.
        models: Where the embedded model is stored.
        role: The role of the returned LLM.
        roles: Complete settings for roles with a model of their own.
        progress: Receives the progress of downloads and of vLLM's start.
    """

    @cache
    def limiter(place: str, rate: float) -> BaseRateLimiter:
        """Return the limiter shared by all roles that call the same place at the same rate."""
        every = min(0.1, 1 / rate)
        return InMemoryRateLimiter(requests_per_second=rate, check_every_n_seconds=every)

    @cache
    def open_models(own: LLMSettings, slot: int) -> ChatModels:
        rate = own.requests_per_second
        wait = limiter(own.base_url or own.model, rate) if rate is not None else None
        return open_chat_models(own, models, slot=slot, limiter=wait, progress=progress)

    def llm(own: LLMSettings, name: str = "", roles: Mapping[str, LLM] | None = None) -> LLM:
        chat_models = open_models(own, _JUDGE_SLOT if name == "judge" and own.embedded else 0)
        answers_in_json = own.answers_in_json
        return LLM(chat_models, retries=own.retries, roles=roles, answers_in_json=answers_in_json)

    apart = {name: llm(own, name) for name, own in {"judge": settings, **(roles or {})}.items()}
    return llm(settings, roles=apart).for_role(role)
