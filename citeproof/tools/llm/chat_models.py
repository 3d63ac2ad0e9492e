"""Opens the chat model that the settings name, once per event loop."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.rate_limiters import BaseRateLimiter
from pydantic import SecretStr, ValidationError

from citeproof.errors import CiteproofError, MissingExtraError, SettingsError
from citeproof.guard import LOOPBACK
from citeproof.models.progress import Progress
from citeproof.models.server import LocalServer, local_server
from citeproof.models.vllm import VLLMServer, vllm_server
from citeproof.settings import LLMSettings, ModelSettings, Settings
from citeproof.tools.llm.retries import scrub
from citeproof.tools.transport import look_over, without_secrets

_NO_KEY = "not-needed"
_VLLM_GOES_ON = {"add_generation_prompt": False, "continue_final_message": True}
"""Arguments that make vLLM continue a prefilled reply; llama.cpp does so by default."""

_AT_ONCE = 8


@dataclass
class ChatModels:
    """A chat model per event loop, since an HTTP client works only in its own loop."""

    build: Callable[[], BaseChatModel]
    """Builds the model. Runs in a thread, since it reads certificates from disk."""
    name: str
    """The model and its location, for users; never contains a key."""
    timeout: float | None = None
    """Timeout of a call in seconds; None leaves it to the model."""
    limiter: BaseRateLimiter | None = None
    """Delays each call. Its wait does not count towards the timeout, unlike the model's own."""
    continues: Mapping[str, bool] | None = None
    """Arguments that make a server continue a prefilled reply; None if it would start a new one."""
    server: LocalServer | VLLMServer | None = None
    """Checked, and if necessary started, before each call: another user may have stopped it."""
    refuses: set[str] = field(default_factory=set)
    """Arguments that the model turned out not to support; they are not sent again."""
    _models: dict[asyncio.AbstractEventLoop, BaseChatModel] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, model: BaseChatModel) -> ChatModels:
        """Wrap the caller's model, which then serves every loop."""
        if getattr(model, "stream_usage", False) is None:  # False is the caller's choice
            model = model.model_copy(update={"stream_usage": True})
        name = getattr(model, "model_name", None) or getattr(model, "model", None)
        return cls(lambda: model, str(name or type(model).__name__))

    @property
    def at_once(self) -> int:
        """Requests to send at a time: the embedded server would drop the prefixes it has cached."""
        return 1 if isinstance(self.server, LocalServer) else _AT_ONCE

    async def here(self) -> BaseChatModel:
        """Return the model of the running loop."""
        if self.server is not None:
            await asyncio.to_thread(self.server.start)
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            await asyncio.to_thread(self._make, loop)
        return self._models[loop]

    def start(self) -> None:
        """Start the model's server, if it has one that is not running."""
        if self.server is not None:
            self.server.start()

    def close(self) -> None:
        """Stop the server that was started for the model; the next call starts it again."""
        if self.server is not None:
            self.server.close()

    def _make(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            for closed in [other for other in self._models if other.is_closed()]:
                del self._models[closed]
            if loop not in self._models:
                self._models[loop] = self.build()


def open_chat_models(
    settings: LLMSettings,
    models: ModelSettings,
    *,
    slot: int = 0,
    limiter: BaseRateLimiter | None = None,
    progress: Progress | None = None,
) -> ChatModels:
    """Open the chat model that the settings name.

    Downloads the embedded model, which starts with its first call. Starts vLLM for a `vllm:` model
    without a `base_url`. Builds any other model once, so that a missing package or key shows
    immediately, but sends nothing.

    The embedded server caches the last prompt of each of its slots. Prompts that begin differently
    use different slots, so that they do not evict each other. Other servers have no slots.

    Raises:
        SettingsError: The model's name is malformed, or its key is missing.
        MissingExtraError: The provider's package, or vLLM, is not installed.
        ModelError: The embedded model cannot be fetched, or vLLM does not start.
    """
    server: VLLMServer | None = None
    continues: Mapping[str, bool] | None = None
    refuse_unnamed(settings)
    if settings.base_url is not None:
        there, key = settings.vllm or settings.model, settings.api_key or SecretStr(_NO_KEY)
        build = partial(_compatible, settings, there, settings.base_url, key)
        continues = _VLLM_GOES_ON if settings.continues or settings.vllm else None
    elif settings.model == "local":
        local = local_server(settings, models, progress=progress)

        def build_local() -> BaseChatModel:
            key = SecretStr(local.api_key)
            return _compatible(settings, "local", local.base_url, key, slot)

        return ChatModels(build_local, label(settings), settings.timeout, limiter, {}, local)
    elif settings.vllm:
        server = vllm = vllm_server(settings, models, progress=progress)
        continues = _VLLM_GOES_ON
        build = partial(_compatible, settings, vllm.model, vllm.base_url, SecretStr(vllm.api_key))
    else:
        build = partial(_from_provider, settings)
    build()
    return ChatModels(build, label(settings), settings.timeout, limiter, continues, server)


def refuse_unnamed(settings: LLMSettings) -> None:
    """Reject settings that do not name the model of the server that they name."""
    if settings.vllm == "":
        raise SettingsError(
            'llm.model = "vllm:" names no model', fix="Write vllm:MODEL, as in `vllm serve MODEL`."
        )
    if settings.base_url is not None and settings.model == "local":
        raise SettingsError(
            'llm.model is "local", yet llm.base_url is set',
            fix='Name the model at that server, or set llm.base_url = "none".',
        )


def label(settings: LLMSettings) -> str:
    """Name the model and its location for users, without a key. Opens nothing."""
    there = settings.vllm or settings.model
    if settings.base_url is not None:
        return f"{there} at {without_secrets(settings.base_url)}"
    if settings.model == "local":
        return f"the embedded model {settings.path.name}" if settings.path else "the embedded model"
    return f"{there} on vLLM" if settings.vllm else there


def judge_label(settings: Settings) -> str:
    """Return the judge of these settings, as it appears in the name of an entailment model."""
    return f"judge {label(settings.for_role('judge'))}"


def secrets(model: BaseChatModel) -> Collection[str]:
    """Return the keys that a model holds, so that messages can mask them."""
    held = (v.get_secret_value() for v in vars(model).values() if isinstance(v, SecretStr))
    return {key for key in held if len(key) > 3 and key != _NO_KEY}


def _compatible(
    settings: LLMSettings, model: str, url: str, key: SecretStr, slot: int | None = None
) -> BaseChatModel:
    arguments = {
        "base_url": url,
        "api_key": key,
        # For some model names it would choose OpenAI's newer protocol, which few servers support.
        "use_responses_api": False,
        "openai_proxy": None,
        # Keep requests to this machine away from proxies of the environment.
        **_clients(trust_env=urlsplit(url).hostname not in LOOPBACK),
    }
    return _build(f"openai:{model}", settings, arguments, slot)


def _from_provider(settings: LLMSettings) -> BaseChatModel:
    if not all(part.strip() for part in settings.model.partition(":")):
        raise SettingsError(
            f"llm.model = {settings.model!r} names no provider",
            fix="Write provider:model, such as openai:gpt-4o; for a server of your own, "
            'set llm.base_url; for the embedded model, write "local".',
        )
    clients = _clients(trust_env=True)  # first: its errors are clearer than the provider's
    arguments = {} if settings.api_key is None else {"api_key": settings.api_key}
    model = _build(settings.model, settings, arguments)
    if getattr(model, "openai_proxy", "") is None:  # langchain-openai's, without a proxy of its own
        return _build(settings.model, settings, arguments | clients)
    return model


def _build(
    name: str, settings: LLMSettings, arguments: Mapping[str, Any], slot: int | None = None
) -> BaseChatModel:
    """Return LangChain's model of that name, without retries; each call asks for the slot."""
    from langchain.chat_models import init_chat_model

    wanted = {"timeout": settings.timeout, "max_retries": 0, **arguments}
    if settings.temperature is not None:
        wanted["temperature"] = settings.temperature
    failure: CiteproofError | None = None
    try:
        model: BaseChatModel = init_chat_model(name, **wanted)
    except ImportError as error:
        what = f"{name} needs a package that is not installed"
        failure = MissingExtraError(what, why=_reason(error))
    except Exception as error:
        failure = _not_opened(name, _reason(error))
    if failure is not None:
        raise failure  # outside `except`, since the provider's message may contain the key
    fields = type(model).model_fields
    if settings.extra_body and "extra_body" not in fields:
        raise SettingsError(
            f"llm.extra_body is set, yet {settings.model} takes no further fields",
            fix="Leave it out; it is for models behind OpenAI's protocol.",
        )
    body = {} if slot is None else {"id_slot": slot}
    # If passed to the constructor, providers without these fields would send them unchanged.
    late = {
        "seed": settings.seed,
        "stream_usage": True,
        # The default of 120 s is too short for a laptop to read a long prompt.
        "stream_chunk_timeout": settings.timeout,
        "extra_body": {**body, **json.loads(settings.extra_body or "{}")} or None,
    }
    return model.model_copy(update={name: late[name] for name in late.keys() & fields.keys()})


def _clients(*, trust_env: bool) -> dict[str, Any]:
    """Return HTTP clients for one `ChatOpenAI`; by default all share one, even across loops.

    `trust_env` says whether to use the environment's proxies.
    """
    import openai
    from langchain_openai import ChatOpenAI

    try:
        client = openai.DefaultAsyncHttpxClient(
            trust_env=trust_env, event_hooks={"response": [look_over]}
        )
    except OSError:  # certificates, not proxies
        raise
    except Exception as error:  # which library's InvalidURL may occur depends on openai
        raise SettingsError(
            "The proxy settings cannot be used",
            why=_reason(error),
            fix="Correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY.",
        ) from error
    # No call blocks, and a client for blocking calls would read the proxies regardless.
    clients: dict[str, Any] = {"http_async_client": client, "client": "unused"}
    if "http_socket_options" in ChatOpenAI.model_fields:
        clients["http_socket_options"] = ()  # else it warns wrongly that proxies are ignored
    return clients


def _not_opened(model: str, why: str) -> SettingsError:
    provider = model.partition(":")[0]
    if any(word in why.lower() for word in ("api_key", "api key", "credential", "token")):
        fix = f"Set {provider.upper()}_API_KEY in the environment, or llm.api_key."
        return SettingsError(f"The key for {model} is missing", why=why, fix=fix)
    fix = "Write provider:model, such as openai:gpt-4o, with a provider that LangChain knows."
    return SettingsError(f"llm.model = {model!r} can't be opened", why=why, fix=fix)


def _reason(error: Exception) -> str:
    told = str(error)
    if isinstance(error, ValidationError):  # its own text would show the input
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
    return scrub(" ".join(told.split())[:400])
