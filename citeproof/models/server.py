"""The embedded language model behind an OpenAI-compatible address of this machine."""

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
"""Prompts whose key-value state is kept at hand: the writers' and the judge's."""

_CACHE_MIB = 128
"""Memory for the states of prompts that are not being answered now, about three. One question at a
time needs none: with 0, 128 and 512 the same tokens were read from it. llama.cpp's own default is
8 GiB."""


class LocalServer:
    """llama.cpp's own server, inside this process, on a free loopback port.

    It starts when its address is first asked for, and again when that is asked for after
    `close`. Prompts with a common beginning share its key-value cache.

    Args:
        model: A GGUF file.
        context: Tokens of a prompt and its reply together.
        threads: CPU threads; by default one for each core that this process may use.
    """

    def __init__(self, model: Path, *, context: int = 8192, threads: int | None = None) -> None:
        self.model = model
        self.context = context
        self.threads = threads or cores()
        self.api_key = secrets.token_urlsafe(24)
        """Without it the server refuses to answer, so that it serves no other user."""
        self._lock = threading.RLock()
        self._server: Any = None
        self._port = 0

    @property
    def base_url(self) -> str:
        """Address for an OpenAI client, ending in `/v1`; starts the server if need be.

        Raises:
            MissingExtraError: xllamacpp is not installed.
            ModelError: llama.cpp cannot load the model.
        """
        with self._lock:
            self.start()
            return f"{self._server.listening_address}/v1"

    def start(self) -> Self:
        """Load the model and listen; does nothing when that is done already."""
        with self._lock:
            if self._server is None:
                # After `close`, the old port: clients that were made before stay valid.
                self._server = (self._try(self._port) if self._port else None) or self._try(0)
                if self._server is None:
                    raise ModelError(
                        f"The language model {self.model} cannot be loaded",
                        why="llama.cpp refuses the file, or there is too little memory for it "
                        f"and {self.context} tokens",
                        fix="Check that the file is a whole GGUF text model, or lower "
                        "`llm.context`.",
                    )
                address = self._server.listening_address
                _log.info("%s is loaded, and served at %s.", self.model.name, address)
                self._port = int(address.rpartition(":")[2])
        return self

    def close(self) -> None:
        """Stop the server and free its memory, once the batch that it computes is done."""
        with self._lock:
            self._server = None

    def _try(self, port: int) -> Any:
        xllamacpp = _engine()
        bound_heap()
        params = xllamacpp.CommonParams()
        params.model.path = str(self.model)
        # A mapped file would stay in memory beside the weights, which llama.cpp packs anew for the
        # CPU: 2.1 GB in place of 1.5, for no time saved.
        params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
        params.model_alias = {"local"}  # else every reply and trace names the user's folder
        params.n_ctx = self.context
        params.n_parallel = _SLOTS
        params.kv_unified = True  # else each slot has only its share of the context
        params.cache_idle_slots = False  # else one slot's work empties the other
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        params.cache_ram_mib = _CACHE_MIB
        # Between two batches llama.cpp looks whether it is to stop or somebody hung up. With its
        # own default, 2048 tokens, that takes 14 s on two cores. It computes pieces of n_ubatch
        # tokens anyway, so that this changes neither replies nor speed.
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
    """The process's server for these settings, started; fetches the model where it is missing.

    Callers that ask for the same file, context and threads share a server. It stops when
    Python ends.

    Raises:
        MissingExtraError: xllamacpp is not installed, or does not load.
        FetchError: The model is missing and cannot be downloaded.
        CorruptModelError: The file is not the model.
        ModelError: llama.cpp cannot load it.
    """
    _engine()  # before a gigabyte is downloaded for nothing
    if settings.path:
        path = named_gguf(settings.path).resolve()
    else:
        path = fetch(LLM, models, progress=progress)
    key = (str(path), settings.context, settings.threads)
    made = LocalServer(path, context=settings.context, threads=settings.threads)
    return _servers.setdefault(key, made).start()


@atexit.register
def close_servers() -> None:
    """Stop all servers of this process; each starts again when it is next used."""
    for server in list(_servers.values()):
        server.close()


def _engine() -> Any:
    what = "The embedded language model's engine, xllamacpp, cannot be loaded"
    instead = "name a server with `llm.base_url`"
    with MissingExtraError.unless_installed("local", what, instead):
        import xllamacpp
    return xllamacpp
