"""Keeps requests away from the machines of the user's own network.

A page, a redirect or a foreign name server may name any address. So the name is looked up once, its
addresses are checked, and the connection goes to the address that was checked: a name that resolves
to another machine a moment later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

import httpx

from citeproof.errors import DocumentError

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, in the system's order of preference.

    Raises:
        OSError: It has none.
    """
    with suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Whether this IP address is public."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


class PublicTransport(httpx.BaseTransport):
    """Connects to public addresses only; certificates are checked for the host's name.

    Args:
        resolve: Gives the addresses of a host and port; raises OSError where there are none.
    """

    def __init__(self, resolve: Callable[[str, int], Sequence[str]] = look_up) -> None:
        self._resolve = resolve
        self._connections: dict[str, httpx.HTTPTransport] = {}
        """By host, so that no host gets a connection whose certificate is another one's."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            DocumentError: The host has no public address.
            httpx.TransportError: It cannot be reached.
        """
        url, host = request.url, request.url.host
        try:
            addresses = self._resolve(host, url.port or (443 if url.scheme == "https" else 80))
        except OSError as error:
            raise httpx.ConnectError(f"{host} is not known", request=request) from error
        public = list(filter(is_public, addresses))
        if not public:
            raise DocumentError(
                f"{url} is not fetched",
                why=f"{host} is in a private network, at {', '.join(addresses)}",
                fix="If you mean it, add --allow-private.",
            )
        connections = self._connections.setdefault(host, httpx.HTTPTransport())
        for address in public:
            checked = httpx.Request(
                request.method,
                url.copy_with(host=address),
                headers=request.headers,  # with the host's name
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return connections.handle_request(checked)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if address == public[-1]:
                    raise
        raise AssertionError

    def close(self) -> None:
        """Close all connections."""
        for connections in self._connections.values():
            connections.close()
