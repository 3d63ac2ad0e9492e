"""Serves the embedded language model through an OpenAI-compatible API on this machine."""

from __future__ import annotations

import atexit
import logging
import secrets
import threading
from pathlib import Path
from typing import Any, Self

from citeproof.errors import MissingExtraError, ModelError
from citeproof.models.cores import cores
from citeproof.models.fetch import fetch, named_gguf
from citeproof.models.heap import bound_heap
from citeproof.models.manifest import LLM
from citeproof.models.progress import Progress
from citeproof.settings import LLMSettings, ModelSettings

_log = logging.getLogger("citeproof")
_SLOTS = 2
"""Each slot keeps the key-value state of one prompt: the writers' and the judge's."""

_CACHE_MIB = 128
"""Memory for the states of prompts that are not being answered, enough for about three. One
question at a time needs none: with 0, 128 and 512 MiB the same tokens came from the cache.
llama.cpp's default is 8 GiB."""


class LocalServer:
    """llama.cpp's own server, run inside this process on a free loopback port.

    Reading `base_url` starts it, also again after `close`. Prompts with a common prefix share its
    key-value cache.

    Args:
        model: A GGUF file.
        context: Maximum number of tokens of a prompt and its reply together.
        threads: CPU threads; by default one for each core that this process may use.
    """

    def __init__(self, model: Path, *, context: int = 8192, threads: int | None = None) -> None:
        self.model = model
        self.context = context
        self.threads = threads or cores()
        self.api_key = secrets.token_urlsafe(24)
        """Every request must have this key, so the server serves no other user."""
        self._lock = threading.RLock()
        self._server: Any = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """Address for an OpenAI client, ending in `/v1`; starts the server if it is not running."""
        with self._lock:
            self.start()
            return f"{self._server.listening_address}/v1"

    def start(self) -> Self:
        """Load the model and listen; do nothing if the server is already running."""
        with self._lock:
            if self._server is None:
                # After `close`, use the old port again, so that earlier clients stay valid.
                self._server = (self._try(self._port) if self._port else None) or self._try(0)
                if self._server is None:
                    raise ModelError(
                        f"The language model {self.model} cannot be loaded",
                        why="llama.cpp rejects the file, or there is too little memory for it "
                        f"and {self.context} tokens",
                        fix="Check that the file is a complete GGUF text model, or lower "
                        "`llm.context`.",
                    )
                address = self._server.listening_address
                _log.info("%s is loaded, and served at %s.", self.model.name, address)
                self._port = int(address.rpartition(":")[2])
        return self

    def close(self) -> None:
        """Stop the server after its current batch, and free its memory."""
        with self._lock:
            self._server = None

    def _try(self, port: int) -> Any:
        xllamacpp = _engine()
        bound_heap()
        params = xllamacpp.CommonParams()
        params.model.path = str(self.model)
        # A mapped file would stay in memory next to the weights that llama.cpp repacks for the
        # CPU: 2.1 GB instead of 1.5, without saving time.
        params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
        params.model_alias = {"local"}  # else replies and traces would contain the user's folder
        params.n_ctx = self.context
        params.n_parallel = _SLOTS
        params.kv_unified = True  # else each slot would only have its share of the context
        params.cache_idle_slots = False  # else one slot's work would empty the other
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        params.cache_ram_mib = _CACHE_MIB
        # llama.cpp notices a stop or a closed connection only between batches, which take 14 s on
        # two cores with its default of 2048 tokens. It computes pieces of n_ubatch tokens anyway,
        # so this changes neither replies nor speed.
        params.n_batch = params.n_ubatch
        params.hostnames = ["127.0.0.1"]
        params.port = port
        params.api_keys = [self.api_key]
        params.ui = False
        params.verbosity = 0
        try:
            return xllamacpp.Server(params)
        except RuntimeError:
            return None


_servers: dict[tuple[str, int, int | None], LocalServer] = {}


def local_server(
    settings: LLMSettings, models: ModelSettings, progress: Progress | None = None
) -> LocalServer:
    """Return the server for these settings, which starts when it is used; fetches its model.

    Loading the model blocks Python for seconds, and an answer that is quoted needs no model.
    Within a process, callers with the same file, context and threads share a server. It stops
    when Python exits.

    Raises:
        MissingExtraError: xllamacpp is not installed, or cannot be imported.
        ModelError: The file is missing, damaged or no GGUF model.
    """
    _engine()  # fails before a gigabyte is downloaded for nothing
    if settings.path:
        path = named_gguf(settings.path).resolve()
    else:
        path = fetch(LLM, models, progress=progress)
    key = (str(path), settings.context, settings.threads)
    made = LocalServer(path, context=settings.context, threads=settings.threads)
    return _servers.setdefault(key, made)


@atexit.register
def close_servers() -> None:
    """Stop all servers of this process; each one restarts when it is used again."""
    for server in list(_servers.values()):
        server.close()


def _engine() -> Any:
    what = "The embedded language model's engine, xllamacpp, cannot be loaded"
    instead = "name a server with `llm.base_url`"
    with MissingExtraError.unless_installed("local", what, instead):
        import xllamacpp
    return xllamacpp
