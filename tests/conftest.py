"""Isolates the tests from the network, the developer's settings, and the way they are started."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from citeproof.memory.bank import Bank
    from tests.integration.chromium import Tab

# Checkpointers then restore only types that the graphs declare. LangGraph reads this once.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

TESTS = Path(__file__).parent
INTEGRATION = TESTS / "integration"
MARKED = {
    "llm": [
        "integration/test_embedded_models.py",
        "integration/test_injection.py",
        "integration/test_methods.py",
        "integration/test_notebooks.py",
        "integration/test_readme.py",
        "integration/test_vtg.py",
    ],
    "models": ["integration"],
    "services": [
        "integration/test_postgres.py",
        "integration/test_server.py",
        "integration/test_trace_page.py",
        "integration/test_vllm.py",
        "memory/test_killed_servers.py",
        "memory/test_postgres.py",
        "memory/test_server.py",
    ],
    "slow": [
        "memory/test_processes.py",
        "on_ray",
        "robustness",
        "test_site.py",
    ],
}
"""Marker → files and folders whose tests have it; tests that need a service are not `models`."""


class NetworkBlockedError(RuntimeError):
    """A test tried to reach another machine."""


def pytest_configure() -> None:
    """Let Ctrl-C interrupt: shells start background processes with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their location, so that `make test` can leave out slow ones."""
    for item in items:
        for name in markers_of(item.path.relative_to(TESTS)):
            item.add_marker(name)


def markers_of(file: Path) -> set[str]:
    """The markers of the tests in a file, whose path is relative to `tests/`."""
    places = {str(place) for place in (file, *file.parents)}
    found = {name for name, marked in MARKED.items() if places & set(marked)}
    return found - {"models"} if "services" in found else found


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests can reach only this machine, except those in `tests/integration`."""
    if INTEGRATION not in request.path.parents:
        block_network(monkeypatch)


def block_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Block connections to other machines; the returned list fills with the addresses tried."""
    tried: list[object] = []
    for name in ("connect", "connect_ex"):
        real = getattr(socket.socket, name)

        def guarded(own: socket.socket, address: Any, real: Any = real) -> Any:
            if own.family != getattr(socket, "AF_UNIX", None) and not _is_here(address):
                tried.append(address)
                raise NetworkBlockedError(f"A test must not reach {address!r}")
            return real(own, address)

        monkeypatch.setattr(socket.socket, name, guarded)
    look_up = socket.getaddrinfo

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None and not _is_here((host,)):
            tried.append(host)
            raise NetworkBlockedError(f"A test must not look up {host!r}")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)
    return tried


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The developer's `CITEPROOF_…` variables do not affect the tests."""
    for name in list(os.environ):
        if name.upper().startswith("CITEPROOF_"):
            monkeypatch.delenv(name)


def _is_here(address: Any) -> bool:
    host = address[0] if isinstance(address, tuple) else address
    host = host.decode() if isinstance(host, bytes) else str(host)
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A page of a headless Chromium."""
    from tests.integration.chromium import tab

    with tab(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture
def bank() -> Iterator[Bank]:
    """A memory bank without cases, in memory."""
    from tests.graphs.r2_mga_scripts import empty_bank

    bank = empty_bank()
    yield bank
    bank.close()
