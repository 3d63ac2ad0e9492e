"""Starts a vLLM server for a model, with an OpenAI-compatible API on this machine.

vLLM supports OpenAI's `response_format` with a JSON schema, so structured output needs nothing
else.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections import deque
from pathlib import Path
from typing import IO, Self

import httpx

from citeproof.errors import MissingExtraError, ModelError
from citeproof.models import keeper
from citeproof.models.progress import Progress, silent
from citeproof.paths import expand
from citeproof.settings import LLMSettings, ModelSettings

_PAUSE = 0.2
"""Seconds between two checks of a starting server."""

_KEPT, _SHOWN = 400, 20
"""Lines of the server's log that are kept, and lines that an error shows."""

_CAUSE = re.compile(r"(Error|Exception|error): \S")
"""A line that names a cause, which may be a hundred lines before the end of vLLM's log."""


class VLLMServer:
    """`vllm serve`, in its own processes, on a free loopback port.

    The processes end with `close` or with this process, even if it is killed. After `close`,
    `start` starts the server again on the same port.

    Args:
        model: A model on the hub, or a folder.
        tensor_parallel: Number of GPUs that share the model.
        args: Further arguments of `vllm serve`, written as in a shell.
        offline: Forbid vLLM to download the model.
    """

    def __init__(
        self, model: str, *, tensor_parallel: int = 1, args: str = "", offline: bool = False
    ) -> None:
        self.model = str(expand(Path(model))) if model.startswith("~") else model
        self.offline = offline
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        """Address for an OpenAI client."""
        self.arguments = [
            *("serve", self.model),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *("--tensor-parallel-size", str(tensor_parallel)),
            "--enable-prefix-caching",
            "--enable-prompt-tokens-details",  # else it doesn't report cached tokens
            *shlex.split(args),
        ]
        """The arguments of `vllm`."""
        self.api_key = secrets.token_urlsafe(24)
        """Every request must have this key, so the server serves no other user."""
        self._lock = threading.RLock()
        self._process: subprocess.Popen[str] | None = None
        self._log: deque[str] = deque(maxlen=_KEPT)
        self._reader = threading.Thread()

    @property
    def running(self) -> bool:
        """Whether the processes run, ready or not."""
        return self._process is not None and self._process.poll() is None

    def start(self, progress: Progress = silent) -> Self:
        """Start the server and wait until it is ready; do nothing if it already is.

        There is no time limit, because vLLM may have to download the model first.

        Raises:
            MissingExtraError: vLLM is not installed.
            ModelError: vLLM ended, either before or after it was ready. If after, it is not
                restarted before `close`, because it would probably end again.
        """
        with self._lock:
            if self._process is None:
                self._process = self._launch()
                try:
                    self._wait(self._process, progress)
                except BaseException:
                    self.close()
                    raise
            elif not self.running:
                raise self._exit_error(f"vLLM with {self.model} has stopped", self._process)
        return self

    def close(self) -> None:
        """Stop the server, even if it is still starting, and wait until it has ended."""
        process = self._process
        if process is None:
            return
        process.terminate()
        process.wait()
        with self._lock:
            if self._process is process:
                assert process.stdin is not None
                process.stdin.close()
                self._process = None

    def _launch(self) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "VLLM_API_KEY": self.api_key,  # every user can read a process's arguments
            "VLLM_NO_USAGE_STATS": "1",  # else vLLM reports machine and model to its developers
            **({"HF_HUB_OFFLINE": "1"} if self.offline else {}),
        }
        process = subprocess.Popen(
            [sys.executable, "-I", keeper.__file__, vllm_program(), *self.arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C only reaches this process, which stops the server
        )
        self._log = deque(maxlen=_KEPT)
        self._reader = threading.Thread(target=_read, args=(process.stdout, self._log), daemon=True)
        self._reader.start()
        return process

    def _wait(self, process: subprocess.Popen[str], progress: Progress) -> None:
        begun = time.monotonic()
        # The server is on this machine, so proxies of the environment are ignored.
        with httpx.Client(trust_env=False, timeout=10) as client:
            while process.poll() is None:
                progress(f"vLLM with {self.model}", int(time.monotonic() - begun), 0)
                with contextlib.suppress(httpx.TransportError):  # it doesn't listen yet
                    if client.get(f"http://127.0.0.1:{self.port}/health").status_code == 200:
                        return
                time.sleep(_PAUSE)
        raise self._exit_error(f"vLLM with {self.model} ended before it was ready", process)

    def _exit_error(self, what: str, process: subprocess.Popen[str]) -> ModelError:
        self._reader.join(timeout=5)
        log = list(self._log)
        causes = dict.fromkeys(line for line in log[:-_SHOWN] if _CAUSE.search(line))
        told = [*list(causes)[-5:], *log[-_SHOWN:]] or ["(nothing)"]
        return ModelError(
            what,
            why=f"exit status {process.returncode}",
            fix="Fix what its log names, for example with `llm.vllm_args`, or start the server "
            "yourself and name it with `llm.base_url`. The log ends with:\n" + "\n".join(told),
        )


_servers: dict[tuple[str, int, str, bool], VLLMServer] = {}


def vllm_server(
    settings: LLMSettings, models: ModelSettings, progress: Progress | None = None
) -> VLLMServer:
    """Start a server for these settings and return it.

    Within a process, callers with the same model and arguments share a server. It stops when
    Python exits.
    """
    assert settings.vllm
    key = (settings.vllm, settings.tensor_parallel, settings.vllm_args, models.offline)
    made = VLLMServer(
        settings.vllm,
        tensor_parallel=settings.tensor_parallel,
        args=settings.vllm_args,
        offline=models.offline,
    )
    server = _servers.setdefault(key, made)
    if not server.running:
        server.close()  # clean up a server that has stopped by itself
    return server.start(progress or silent)


@atexit.register
def _close_servers() -> None:
    for server in list(_servers.values()):
        server.close()


def _read(output: IO[str], log: deque[str]) -> None:
    with output:
        log.extend(map(str.rstrip, output))


def vllm_program() -> str:
    """Return the `vllm` on the path, or that of this Python, whose environment may be inactive."""
    found = shutil.which("vllm") or shutil.which("vllm", path=sysconfig.get_path("scripts"))
    if found is None:
        raise MissingExtraError(
            "A model on vLLM needs vLLM, which is not installed",
            fix='Run: pip install "citeproof[vllm]"; or name a running server with `llm.base_url`.',
        )
    return found


def free_port() -> int:
    """Return a loopback port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
