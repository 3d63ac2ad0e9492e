"""`citeproof serve`: runs the server until it is interrupted."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from citeproof.console.threads import Checkpoints
from citeproof.console.warm import announce
from citeproof.errors import MissingExtraError, SettingsError
from citeproof.integrations.turns import questions_at_once
from citeproof.models.progress import Progress
from citeproof.server.safety import host_names, refuse_open_host
from citeproof.settings import Settings

if TYPE_CHECKING:
    from citeproof.tools.toolbox import Toolbox


def serve(
    settings: Settings,
    host: str,
    port: int,
    token: str | None,
    names: Sequence[str],
    tell: Callable[[str], None],
) -> None:
    """Serve until interrupted.

    Port 0 picks a free one; `tell` is called with the address to open. An address that other
    machines can reach needs a token.
    """
    refuse_open_host(host, token)
    with MissingExtraError.unless_installed("serve", "The server's packages are missing"):
        import uvicorn

        from citeproof.server.app import create_app

    def open_tools(progress: Progress) -> Toolbox:
        from citeproof.server.ask_routes import described_methods
        from citeproof.tools.toolbox import Toolbox

        described_methods()  # for the page, before torch's import delays it
        tools = Toolbox.from_settings(settings, progress=progress)
        with ExitStack() as on_error:
            on_error.callback(tools.close)
            tools.llm.start()  # so that the first question does not wait for it
            on_error.pop_all()
        return tools

    with ExitStack() as held:
        # When it has shut down, uvicorn raises the signal again, whose default ends the process
        # before anything held here is released.
        terminated = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        held.callback(signal.signal, signal.SIGTERM, terminated)
        listener = held.enter_context(_listen(host, port))
        folder = settings.chroma.path
        if settings.chroma.in_memory:
            folder = Path(held.enter_context(TemporaryDirectory(prefix="citeproof-")))
        asyncio.run(_try(Checkpoints(folder, settings.checkpointer)))
        address, port = listener.getsockname()[:2]
        app = create_app(
            open_tools,
            folder,
            checkpointer=settings.checkpointer,
            llm=settings.llm.model,
            hosts=host_names(host, names),
            token=token,
            own=held.enter_context(announce(settings, address, port)),
            at_once=questions_at_once(settings),
        )
        # No access log, because it would contain questions and tokens. Logging stays as it is,
        # because uvicorn's own configuration closes all other handlers.
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=3)
        log = logging.getLogger("uvicorn.error")
        log.addFilter(_tells_no_cut_off)
        held.callback(log.removeFilter, _tells_no_cut_off)
        tell(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        uvicorn.Server(config).run(sockets=[listener])


def _tells_no_cut_off(record: logging.LogRecord) -> bool:
    """Whether a record tells more than that the end of the server cut off an answer."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


async def _try(checkpoints: Checkpoints) -> None:
    """Open the conversations once, since uvicorn shows errors of its start as tracebacks."""
    async with checkpoints.opened():
        pass


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except (OSError, UnicodeError) as error:  # the latter for a name such as a..b
        code = getattr(error, "errno", None)
        is_port = code in (errno.EADDRINUSE, errno.EACCES)
        another_port = "Choose another port with --port; 0 picks a free one."
        raise SettingsError(
            f"The server cannot listen on {host}, port {port}",
            why=getattr(error, "strerror", None) or str(error),
            fix=another_port if is_port else "Choose an address of this machine with --host.",
        ) from error
