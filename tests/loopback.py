"""Web servers on this machine, for the time of a test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["running"]


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A client that gives up is part of the tests."""


@contextmanager
def running(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a new server, which writes no log."""
    quiet = type("Quiet", (handler,), {"log_message": lambda *_: None})
    server = _Server(("127.0.0.1", 0), quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
