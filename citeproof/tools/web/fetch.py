"""Fetches a page within limits of size and time, and follows only permitted redirects."""

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
"""The user agent that robots.txt may name."""
MOST_BYTES = 20 * 1024 * 1024
"""Maximum size of a page."""
_SECONDS = 60.0
"""Maximum time for a whole page, redirects included."""
_REDIRECTS = 5


@dataclass(frozen=True)
class Reply:
    """A server's reply."""

    url: str
    """The URL after all redirects."""
    status: int
    headers: Mapping[str, str]
    charset: str = ""
    """The encoding that the headers declare."""
    data: bytes = b""


class Client:
    """Fetches pages one after the other; connects to private addresses only with `allow_private`.

    Must be closed afterwards.
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
        follow: Callable[[str], str] = lambda target: "",
        headers: Callable[[str], Mapping[str, str]] = lambda url: {},
        wanted: Callable[[Reply], bool] = lambda reply: True,
        most: int | None = None,
    ) -> Reply:
        """Return the server's reply for a URL.

        Args:
            url: A normalized URL.
            follow: Called with the target of each redirect. Returns why it must not be followed,
                or an empty string to follow it. It may wait.
            headers: Returns additional request headers for a URL.
            wanted: Called with the reply before its data is read; if it returns false, the reply
                comes without data.
            most: Maximum number of bytes; by default `MOST_BYTES`.

        Raises:
            DocumentError: The page cannot be reached, is too large or too slow, or redirects too
                often or to a forbidden target.
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
            except UnicodeError as error:  # of a name such as example..org
                raise _fetch_error(url, f"{httpx.URL(url).host} cannot be resolved") from error
            except DocumentError:
                raise
            except InputError as error:
                raise _fetch_error(
                    url, f"it redirects to something other than a page ({error.what})"
                ) from error
            if url.startswith("https:") and not target.startswith("https:"):
                raise _fetch_error(url, f"it redirects to {target}, which is not encrypted")
            if why := follow(target):
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
