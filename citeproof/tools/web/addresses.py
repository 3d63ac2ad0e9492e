"""Keeps requests away from machines on the user's own network.

A page, a redirect or a foreign name server may name any address. Therefore each name is looked up
once, its addresses are checked, and the connection goes to a checked address. A name that resolves
to another machine a moment later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress

import httpx

from citeproof.errors import DocumentError

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the system's order of preference.

    Raises:
        OSError: The host has no address.
    """
    with suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str) -> bool:
    """Return whether an IP address is public."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


class PublicTransport(httpx.BaseTransport):
    """Connects only to public addresses; certificates are verified against the host name.

    Args:
        resolve: Returns the addresses of a host and port; raises `OSError` if there are none.
    """

    def __init__(self, resolve: Callable[[str, int], Sequence[str]] = look_up) -> None:
        self._resolve = resolve
        self._connections = defaultdict[str, httpx.HTTPTransport](httpx.HTTPTransport)
        """One per host, so that no host reuses a connection with another host's certificate."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            DocumentError: The host has no public address.
            httpx.TransportError: The host cannot be reached.
        """
        url, host = request.url, request.url.host
        try:
            addresses = self._resolve(host, url.port or (443 if url.scheme == "https" else 80))
        except OSError as error:
            raise httpx.ConnectError(f"{host} cannot be resolved", request=request) from error
        public = list(filter(is_public, addresses))
        if not public:
            raise DocumentError(
                f"{url} is not fetched",
                why=f"{host} is in a private network, at {', '.join(addresses)}",
                fix="If you mean it, add --allow-private.",
            )
        for address in public:
            checked = httpx.Request(
                request.method,
                url.copy_with(host=address),
                headers=request.headers,  # includes the host name
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            try:
                return self._connections[host].handle_request(checked)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if address == public[-1]:
                    raise
        raise AssertionError

    def close(self) -> None:
        """Close all connections."""
        for connections in self._connections.values():
            connections.close()
