"""Fetches one page: within limits of size and time, and by way of permitted redirects only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version

import httpx

from citeproof.errors import DocumentError, InputError
from citeproof.tools.web.addresses import PublicTransport
from citeproof.tools.web.links import normalize

AGENT = "citeproof"
"""The name that robots.txt knows us by."""
MOST_BYTES = 20 * 1024 * 1024
"""A larger page is refused."""
_SECONDS = 60.0
"""Time that a whole page may take."""
_REDIRECTS = 5


@dataclass(frozen=True)
class Reply:
    """A server's reply."""

    url: str
    """Where it was found in the end."""
    status: int
    headers: Mapping[str, str]
    charset: str = ""
    """The encoding that the headers name."""
    data: bytes = b""


class Client:
    """Fetches pages one after the other; close it afterwards.

    Args:
        allow_private: Also reach addresses that are not public.
    """

    def __init__(self, *, allow_private: bool = False) -> None:
        self._http = httpx.Client(
            transport=httpx.HTTPTransport() if allow_private else PublicTransport(),
            headers={"User-Agent": f"{AGENT}/{version('citeproof')}"},
            timeout=httpx.Timeout(15.0),
            trust_env=False,
        )

    def get(
        self,
        url: str,
        *,
        follow: Callable[[str, str], str] = lambda url, target: "",
        headers: Callable[[str], Mapping[str, str]] = lambda url: {},
        wanted: Callable[[Reply], bool] = lambda reply: True,
        most: int | None = None,
    ) -> Reply:
        """The server's reply for a URL.

        Args:
            url: Normalized.
            follow: Called with each URL and where it redirects to; says why that is not followed,
                or nothing where it is. It may wait.
            headers: For each URL, what the request says besides.
            wanted: Called with the reply before its data; without them if this is false.
            most: More bytes are an error; by default `MOST_BYTES`.

        Raises:
            DocumentError: It cannot be reached, is too large or too slow, or redirects elsewhere.
        """
        ends = time.monotonic() + _SECONDS
        for _ in range(_REDIRECTS + 1):
            try:
                with self._http.stream("GET", url, headers=dict(headers(url))) as response:
                    charset = response.charset_encoding or ""
                    reply = Reply(url, response.status_code, response.headers, charset)
                    if not response.has_redirect_location:
                        if not wanted(reply):
                            return reply
                        return replace(reply, data=self._read(response, most or MOST_BYTES, ends))
                    target = normalize(str(response.url.join(response.headers["location"])))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise _fetch_error(url, str(error) or type(error).__name__) from error
            except DocumentError:
                raise
            except InputError as error:
                raise _fetch_error(
                    url, f"it redirects to what is no page ({error.what})"
                ) from error
            if url.startswith("https:") and not target.startswith("https:"):
                raise _fetch_error(url, f"it redirects to {target}, which is not encrypted")
            if why := follow(url, target):
                raise _fetch_error(url, f"it redirects to {target}, {why}")
            url = target
        raise _fetch_error(url, f"it redirects more than {_REDIRECTS} times")

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def _read(self, response: httpx.Response, most: int, ends: float) -> bytes:
        told = response.headers.get("content-length", "")
        size = int(told) if told.isdigit() else 0
        data = bytearray()
        for chunk in response.iter_bytes(65_536) if size <= most else ():
            data += chunk
            if len(data) > most:
                break
            if time.monotonic() > ends:
                raise _fetch_error(str(response.url), f"it takes longer than {_SECONDS:.0f} s")
        if max(size, len(data)) > most:
            raise _fetch_error(str(response.url), f"it is larger than {most / 2**20:,.0f} MB")
        return bytes(data)


def _fetch_error(url: str, why: str) -> DocumentError:
    return DocumentError(f"{url} cannot be fetched", why=why)
