"""Opens the chat model that the settings name, once for each event loop that uses it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
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
"""Arguments that make vLLM continue a reply; llama.cpp does so anyway."""


@dataclass
class ChatModels:
    """One chat model for each event loop, since an HTTP client works only in its own."""

    build: Callable[[], BaseChatModel]
    """Makes the model; runs in a thread, since it reads certificates from disk."""
    name: str
    """The model and where it is, for people to read; never with a key."""
    timeout: float | None = None
    """Seconds after which a call is given up; None leaves it to the model."""
    limiter: BaseRateLimiter | None = None
    """Waited for before each call, outside the timeout; the model's own would be inside."""
    continues: Mapping[str, bool] | None = None
    """Arguments that make a server continue a prefilled reply; None where
    it would start another."""
    server: LocalServer | VLLMServer | None = None
    """Started before each call if need be, since another user of it may have stopped it."""
    refuses: set[str] = field(default_factory=set)
    """Arguments that the model was found not to support; they are not sent again."""
    _models: dict[asyncio.AbstractEventLoop, BaseChatModel] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, model: BaseChatModel) -> ChatModels:
        """A model that the caller has made; it serves every loop."""
        if getattr(model, "stream_usage", False) is None:  # False: the caller's own wish
            model = model.model_copy(update={"stream_usage": True})
        name = getattr(model, "model_name", None) or getattr(model, "model", None)
        return cls(lambda: model, str(name or type(model).__name__))

    async def here(self) -> BaseChatModel:
        """The model of the running loop."""
        if self.server is not None:
            await asyncio.to_thread(self.server.start)
        loop = asyncio.get_running_loop()
        if loop not in self._models:
            await asyncio.to_thread(self._make, loop)
        return self._models[loop]

    def close(self) -> None:
        """Stop the server that was started for the model; it starts again with its next use."""
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
    """The chat model that the settings name.

    The embedded server keeps the last prompt of each of its slots; prompts that begin
    differently go to different slots, so that neither pushes the other out. Other servers do
    not know the word.

    The embedded model is fetched and started, and so is vLLM where no server is named. Any other
    is built here once, so that a missing package or key is told at once; nothing is sent.

    Raises:
        SettingsError: The model's name is malformed, or its key is missing.
        MissingExtraError: The provider's package, or vLLM, is not installed.
        ModelError: The embedded model can't be had or started, or vLLM does not start.
    """
    server: LocalServer | VLLMServer | None = None
    continues: Mapping[str, bool] | None = None
    if settings.vllm == "":
        raise SettingsError(
            'llm.model = "vllm:" names no model', fix="Write vllm:MODEL, as in `vllm serve MODEL`."
        )
    if settings.base_url is not None:
        if settings.model == "local":
            raise SettingsError(
                'llm.model is "local", yet llm.base_url is set',
                fix='Name the model at that server, or set llm.base_url = "none".',
            )
        there, key = settings.vllm or settings.model, settings.api_key or SecretStr(_NO_KEY)
        build = partial(_compatible, settings, there, settings.base_url, key)
        continues = _VLLM_GOES_ON if settings.continues or settings.vllm else None
    elif settings.model == "local":
        server = local = local_server(settings, models, progress=progress)
        continues = {}
        key = SecretStr(local.api_key)
        build = partial(_compatible, settings, "local", local.base_url, key, slot)
    elif settings.vllm:
        server = vllm = vllm_server(settings, models, progress=progress)
        continues = _VLLM_GOES_ON
        build = partial(_compatible, settings, vllm.model, vllm.base_url, SecretStr(vllm.api_key))
    else:
        build = partial(_from_provider, settings)
    build()
    return ChatModels(build, label(settings), settings.timeout, limiter, continues, server)


def label(settings: LLMSettings) -> str:
    """The model and where it is, for people to read; never with a key. Opens nothing."""
    there = settings.vllm or settings.model
    if settings.base_url is not None:
        return f"{there} at {without_secrets(settings.base_url)}"
    if settings.model == "local":
        return f"the embedded model {settings.path.name}" if settings.path else "the embedded model"
    return f"{there} on vLLM" if settings.vllm else there


def judge_label(settings: Settings) -> str:
    """The model that judges for these settings, as an entailment model's name says it."""
    return f"judge {label(settings.for_role('judge'))}"


def secrets(model: BaseChatModel) -> Collection[str]:
    """The keys that a model holds, so that they can be kept out of messages."""
    held = (v.get_secret_value() for v in vars(model).values() if isinstance(v, SecretStr))
    return {key for key in held if len(key) > 3 and key != _NO_KEY}


def _compatible(
    settings: LLMSettings, model: str, url: str, key: SecretStr, slot: int | None = None
) -> BaseChatModel:
    arguments = {
        "base_url": url,
        "api_key": key,
        # By name it would choose OpenAI's newer protocol, which few other servers speak.
        "use_responses_api": False,
        "openai_proxy": None,
        # A proxy from the environment must not see what is meant for this machine.
        **_clients(trust_env=urlsplit(url).hostname not in LOOPBACK),
    }
    return _build(f"openai:{model}", settings, arguments, {} if slot is None else {"id_slot": slot})


def _from_provider(settings: LLMSettings) -> BaseChatModel:
    if not all(part.strip() for part in settings.model.partition(":")):
        raise SettingsError(
            f"llm.model = {settings.model!r} names no provider",
            fix="Write provider:model, such as openai:gpt-4o; for a server of your own, "
            'set llm.base_url; for the embedded model, write "local".',
        )
    clients = _clients(trust_env=True)  # first, since any provider's own would fail less clearly
    arguments = {} if settings.api_key is None else {"api_key": settings.api_key}
    model = _build(settings.model, settings, arguments)
    if getattr(model, "openai_proxy", "") is None:  # one of langchain-openai's, without its proxy
        return _build(settings.model, settings, arguments | clients)
    return model


def _build(
    name: str,
    settings: LLMSettings,
    arguments: Mapping[str, Any],
    body: Mapping[str, Any] = MappingProxyType({}),
) -> BaseChatModel:
    """LangChain's model of that name, which retries nothing and sends the body with each call."""
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
        raise failure  # out here, since a provider's own message may repeat the key
    fields = type(model).model_fields
    if settings.extra_body and "extra_body" not in fields:
        raise SettingsError(
            f"llm.extra_body is set, yet {settings.model} takes no further fields",
            fix="Leave it out; it is for models behind OpenAI's protocol.",
        )
    # Given to the constructor, they would be sent as they are by providers that lack them.
    late = {
        "seed": settings.seed,
        "stream_usage": True,
        # Its own default of 120 s is less than a laptop takes to read a long prompt.
        "stream_chunk_timeout": settings.timeout,
        "extra_body": {**body, **json.loads(settings.extra_body or "{}")} or None,
    }
    return model.model_copy(update={name: late[name] for name in late.keys() & fields.keys()})


def _clients(*, trust_env: bool) -> dict[str, Any]:
    """HTTP clients for one `ChatOpenAI`; by default all share one, whatever loop they run in.

    Args:
        trust_env: Whether the environment's proxies are used.

    Raises:
        SettingsError: Those proxies cannot be used.
    """
    import openai
    from langchain_openai import ChatOpenAI

    try:
        client = openai.DefaultAsyncHttpxClient(
            trust_env=trust_env, event_hooks={"response": [look_over]}
        )
    except OSError:  # certificates, not proxies
        raise
    except Exception as error:  # openai decides whose InvalidURL may be among them
        raise SettingsError(
            "The proxy settings cannot be used",
            why=_reason(error),
            fix="Correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY.",
        ) from error
    # Nobody makes calls that block; a client for them would read the proxies in any case.
    clients: dict[str, Any] = {"http_async_client": client, "client": "unused"}
    if "http_socket_options" in ChatOpenAI.model_fields:
        clients["http_socket_options"] = ()  # else it warns that proxies are ignored; they are not
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
    if isinstance(error, ValidationError):  # else it would show what it was given
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
    return scrub(" ".join(told.split())[:400])
