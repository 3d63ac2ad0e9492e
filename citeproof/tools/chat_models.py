"""Opens the chat model that the settings name, once for each event loop that uses it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from pydantic import SecretStr, ValidationError

from citeproof.errors import CiteproofError, MissingExtraError, SettingsError
from citeproof.settings import LLMSettings, ModelSettings, Settings
from citeproof.tools.failures import scrub

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.rate_limiters import BaseRateLimiter

    from citeproof.models.progress import Progress

__all__ = ["ChatModels", "judge_label", "label", "open_chat_models", "secrets"]

NO_KEY = "not-needed"
VLLM_GOES_ON = {"add_generation_prompt": False, "continue_final_message": True}
"""What vLLM must be told to go on with a reply; llama.cpp does so anyway."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ChatModels:
    """One chat model for each event loop, since an HTTP client works only in its own.

    Args:
        build: Makes the model; runs in a thread, since it reads certificates from disk.
        name: The model and where it is, for people to read; never with a key.
        timeout: Seconds until one call is given up; None leaves it to the model.
        limiter: Waited for before each call, outside the timeout.
        continues: What a server is sent beside a reply that is begun, so that it goes on with
            it; None where it would start another.
        start: Starts the server, if it does not run; asked before each call, since whoever
            shares the server may have stopped it.
        stop: Stops the server.
    """

    def __init__(
        self,
        build: Callable[[], BaseChatModel],
        name: str,
        *,
        timeout: float | None = None,
        limiter: BaseRateLimiter | None = None,
        continues: Mapping[str, bool] | None = None,
        start: Callable[[], object] | None = None,
        stop: Callable[[], object] | None = None,
    ) -> None:
        self.name = name
        self.continues = continues
        self.timeout = timeout
        self.limiter = limiter
        self.refuses: set[str] = set()
        """What the model was found not to support; it is not asked for again."""
        self._build = build
        self._start = start
        self._stop = stop
        self._models: WeakKeyDictionary[asyncio.AbstractEventLoop, BaseChatModel] = (
            WeakKeyDictionary()
        )
        self._lock = threading.Lock()

    @classmethod
    def of(cls, model: BaseChatModel) -> ChatModels:
        """A model that the caller has made; it serves every loop."""
        label = getattr(model, "model_name", None) or getattr(model, "model", None)
        return cls(lambda: model, str(label or type(model).__name__))

    async def here(self) -> BaseChatModel:
        """The model of the running loop."""
        loop = asyncio.get_running_loop()
        if self._start is not None:
            await asyncio.to_thread(self._start)
        model = self._models.get(loop)
        return model if model is not None else await asyncio.to_thread(self._make, loop)

    def close(self) -> None:
        """Stop the server that was started for the model; it starts again with its next use."""
        if self._stop is not None:
            self._stop()

    def _make(self, loop: asyncio.AbstractEventLoop) -> BaseChatModel:
        with self._lock:
            # Open connections refer to their loop, so weak keys alone would never let it go.
            for closed in [other for other in self._models if other.is_closed()]:
                del self._models[closed]
            if loop not in self._models:
                self._models[loop] = self._build()
            return self._models[loop]


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
    start: Callable[[], object] | None = None
    stop: Callable[[], object] | None = None
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
        there = settings.vllm or settings.model
        key = settings.api_key or SecretStr(NO_KEY)
        build = partial(_compatible, settings, there, settings.base_url, key)
        continues = VLLM_GOES_ON if settings.continues or settings.vllm else None
    elif settings.model == "local":
        from citeproof.models.server import local_server

        server = local_server(settings, models, progress=progress)
        start, stop, continues = server.start, server.close, {}
        key = SecretStr(server.api_key)
        build = partial(_compatible, settings, "local", server.base_url, key, slot=slot)
    elif settings.vllm:
        from citeproof.models.vllm import vllm_server

        vllm = vllm_server(settings, models, progress=progress)
        start, stop = vllm.start, vllm.close
        continues = VLLM_GOES_ON
        key = SecretStr(vllm.api_key)
        build = partial(_compatible, settings, vllm.model, vllm.base_url, key)
    else:
        build = partial(_from_provider, settings)
    build()
    return ChatModels(
        build,
        label(settings),
        timeout=settings.timeout,
        limiter=limiter,
        continues=continues,
        start=start,
        stop=stop,
    )


def label(settings: LLMSettings) -> str:
    """The model and where it is, for people to read; never with a key. Opens nothing."""
    there = settings.vllm or settings.model
    if settings.base_url is not None:
        return f"{there} at {_shown(settings.base_url)}"
    if settings.model == "local":
        return f"the embedded model {settings.path.name}" if settings.path else "the embedded model"
    return f"{there} on vLLM" if settings.vllm else there


def judge_label(settings: Settings) -> str:
    """The model that judges for these settings, as an entailment model's name says it."""
    return f"judge {label(settings.for_role('judge'))}"


def secrets(model: BaseChatModel) -> Collection[str]:
    """The keys that a model holds, so that they can be kept out of messages."""
    held = (v.get_secret_value() for v in vars(model).values() if isinstance(v, SecretStr))
    return {key for key in held if len(key) > 3 and key != NO_KEY}


def _compatible(
    settings: LLMSettings, model: str, url: str, key: SecretStr, slot: int | None = None
) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=model,
        base_url=url,
        api_key=key,
        temperature=settings.temperature,
        seed=settings.seed,
        timeout=settings.timeout,
        max_retries=0,
        stream_usage=True,
        # Its own default of 120 s is less than a laptop takes to read a long prompt.
        stream_chunk_timeout=settings.timeout,
        # By name it would choose OpenAI's newer protocol, which few other servers speak.
        use_responses_api=False,
        extra_body={**({} if slot is None else {"id_slot": slot}), **_more(settings)} or None,
        openai_proxy=None,
        # A proxy from the environment must not see what is meant for this machine.
        **_clients(trust_env=urlsplit(url).hostname not in _LOOPBACK),
    )


def _from_provider(settings: LLMSettings) -> BaseChatModel:
    provider, colon, name = settings.model.partition(":")
    if not (provider.strip() and colon and name.strip()):
        raise SettingsError(
            f"llm.model = {settings.model!r} names no provider",
            fix="Write provider:model, such as openai:gpt-4o; for a server of your own, "
            'set llm.base_url; for the embedded model, write "local".',
        )
    arguments: dict[str, Any] = {"timeout": settings.timeout, "max_retries": 0}
    if settings.temperature is not None:
        arguments["temperature"] = settings.temperature
    if settings.api_key is not None:
        arguments["api_key"] = settings.api_key
    clients = _clients(trust_env=True)  # first, since any provider's own would fail less clearly
    model = _init(settings.model, arguments)
    fields = type(model).model_fields
    if getattr(model, "openai_proxy", "") is None:  # one of langchain-openai's, without its proxy
        model = _init(settings.model, {**arguments, **clients})
    if settings.extra_body:
        if "extra_body" not in fields:
            raise SettingsError(
                f"llm.extra_body is set, yet {settings.model} takes no further fields",
                fix="Leave it out; it is for models behind OpenAI's protocol.",
            )
        model = model.model_copy(update={"extra_body": _more(settings)})
    # Given to the constructor, they would be sent as they are by providers that lack them.
    late = {"seed": settings.seed, "stream_usage": True, "stream_chunk_timeout": settings.timeout}
    return model.model_copy(update={k: v for k, v in late.items() if k in fields})


def _more(settings: LLMSettings) -> dict[str, Any]:
    return json.loads(settings.extra_body) if settings.extra_body else {}


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
        clients: dict[str, Any] = {
            "http_async_client": openai.DefaultAsyncHttpxClient(trust_env=trust_env),
            "http_client": _unused_client(trust_env),
        }
    except OSError:  # certificates, not proxies
        raise
    except Exception as error:  # openai decides whose InvalidURL may be among them
        raise SettingsError(
            "The proxy settings cannot be used",
            why=_reason(error),
            fix="Correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY.",
        ) from error
    if "http_socket_options" in ChatOpenAI.model_fields:
        clients["http_socket_options"] = ()  # else it warns that proxies are ignored; they are not
    return clients


@cache  # making one reads all certificates
def _unused_client(trust_env: bool) -> object:
    """For calls that nobody makes; the one made by default would read the proxies in any case."""
    import openai

    return openai.DefaultHttpxClient(trust_env=trust_env)


def _init(model: str, arguments: dict[str, Any]) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    failure: CiteproofError
    try:
        chat_model: BaseChatModel = init_chat_model(model, **arguments)
        return chat_model
    except ImportError as error:
        failure = MissingExtraError(
            f"{model} needs a package that is not installed", why=_reason(error)
        )
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        failure = _not_opened(model, told)
    except Exception as error:
        failure = _not_opened(model, _reason(error))
    # Raised out here, since a provider's own message may repeat the key.
    raise failure


def _not_opened(model: str, why: str) -> SettingsError:
    provider = model.partition(":")[0]
    if any(word in why.lower() for word in ("api_key", "api key", "credential", "token")):
        fix = f"Set {provider.upper()}_API_KEY in the environment, or llm.api_key."
        return SettingsError(f"The key for {model} is missing", why=why, fix=fix)
    fix = "Write provider:model, such as openai:gpt-4o, with a provider that LangChain knows."
    return SettingsError(f"llm.model = {model!r} can't be opened", why=why, fix=fix)


def _reason(error: Exception) -> str:
    return scrub(" ".join(str(error).split())[:400])


def _shown(url: str) -> str:
    """An address without user name, password and query."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"
