"""Sends requests to a model server, with retries, limits, and errors that name the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from citeproof.errors import ModelError, ModelOutageError
from citeproof.guard import LOOPBACK
from citeproof.runtime.background import submit
from citeproof.runtime.gather import together
from citeproof.settings import ServedSettings
from citeproof.tools.llm.retries import is_transient, retry, scrub
from citeproof.tools.transport import BadReplyError, cap, content_type, read_json, without_secrets

_BACKOFF = 1.0
"""Seconds before the first retry, unless the server asks for another wait."""
_FIXES = {
    401: "Set {section}.api_key (CITEPROOF_{upper}__API_KEY) to a key that it accepts.",
    403: "Set {section}.api_key (CITEPROOF_{upper}__API_KEY) to a key that it accepts.",
    404: "Check {section}.base_url and {section}.model: it has no such route (OpenAI's "
    "begin with /v1), or no such model.",
    413: "Lower {section}.batch_size.",
    422: "Lower {section}.batch_size.",
    429: "It is overloaded: lower {section}.at_once, or give it more replicas.",
}
_MOST_CHARACTERS = 200_000
"""Most characters of a request. Servers limit its bytes; `citeproof serve` allows a million."""

T = TypeVar("T")
Found = TypeVar("Found")


def in_requests(texts: Iterable[T], most: int, length: Callable[[T], int]) -> Iterator[list[T]]:
    """Split texts into consecutive groups of at most `most` that each fit into one request."""
    part: list[T] = []
    size = 0
    for text in texts:
        if part and (len(part) == most or size + length(text) > _MOST_CHARACTERS):
            yield part
            part, size = [], 0
        part.append(text)
        size += length(text)
    if part:
        yield part


class ModelServer:
    """A server at an address. Threads and event loops may share an instance.

    The settings have a `base_url`; the name of their section is for errors.

    Args:
        section: Name of the section of the settings.
        settings: The section.
        path: Path of this model's routes, for a server that has several.
    """

    def __init__(self, section: str, settings: ServedSettings, path: str = "") -> None:
        assert settings.base_url is not None
        self.section = section
        self.path = path
        self.url = settings.base_url.rstrip("/")
        self._settings = settings
        self._gate = asyncio.Semaphore(settings.at_once)
        key = settings.api_key
        self._key = key.get_secret_value() if key is not None else ""

    @property
    def root(self) -> str:
        """The address of the model's routes, without `/v1`."""
        return self.url.removesuffix("/v1") + self.path

    @property
    def shown(self) -> str:
        """The address without passwords."""
        return without_secrets(self.url)

    @cached_property
    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            timeout=None,
            headers={"authorization": f"Bearer {self._key}"} if self._key else {},
            limits=httpx.Limits(max_connections=self._settings.at_once),
            # Keep requests to this machine away from proxies of the environment.
            trust_env=urlsplit(self.url).hostname not in LOOPBACK,
            event_hooks={"response": [cap]},
        )

    def get(self, url: str) -> Any:
        """Return the JSON at an address.

        Makes a single attempt, since it is called while a program starts. Raises what `ask` does.
        """
        return submit(self._ask(url, None, 0)).result()

    def ask(
        self,
        url: str,
        parts: Sequence[Sequence[T]],
        body: Callable[[Sequence[T]], Any],
        read: Callable[[Any], list[Found]],
        what: str,
        retries: int | None = None,
    ) -> list[Found]:
        """Post each part of some texts, and return what `read` finds in the replies, in order.

        At most `at_once` requests are in flight. The number of further attempts defaults to the
        settings.

        Raises:
            ModelOutageError: A request gets no answer.
            ModelError: A request is refused, or its reply has not one of `what` for each text.
        """
        more = self._settings.retries if retries is None else retries
        jobs = [partial(self._ask, url, body(part), more) for part in parts]
        waiting = submit(together(jobs, len(jobs)))  # each waits for its turn at the server
        try:
            replies = waiting.result()
        except BaseException:
            waiting.cancel()
            raise
        found: list[Found] = []
        for part, reply in zip(parts, replies, strict=True):
            try:
                some = read(reply)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                shown = f"{type(error).__name__}: {error}"
                raise self.refuse(f"its reply holds no {what} ({shown})") from error
            if len(some) != len(part):
                raise self.refuse(f"it gave {len(some)} {what} for {len(part)} texts")
            found += some
        return found

    def refuse(self, why: str, fix: str = "") -> ModelError:
        """Return the error for a server that lacks a model or sends a bad reply."""
        what = f"The {self.section} server at {self.shown} cannot be used"
        return ModelError(what, why=why, fix=fix or f"Check {self.section}.base_url.")

    async def _ask(self, url: str, body: Any, retries: int) -> Any:
        attempts = 0
        try:
            async for attempt in retry(retries, _BACKOFF, lambda *_: None):
                with attempt:
                    attempts += 1
                    async with self._gate:
                        return await self._once(url, body)
        except (httpx.HTTPError, httpx.InvalidURL, BadReplyError, TimeoutError) as error:
            raise self._translate(error, attempts) from error

    async def _once(self, url: str, body: Any) -> Any:
        method = "GET" if body is None else "POST"
        async with asyncio.timeout(self._settings.timeout):  # httpx's own restarts at each byte
            # httpx's own JSON encoding fails on a lone surrogate.
            text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
            response = await self._client.request(
                method,
                url,
                content=None if body is None else text,
                headers={"content-type": "application/json"},
            )
        data = response.content.strip()
        if response.status_code != 200:
            raise httpx.HTTPStatusError(
                f"HTTP {response.status_code}{_said(response, data)}",
                request=response.request,
                response=response,
            )
        return read_json(content_type(response), data)

    def _translate(self, error: Exception, attempts: int) -> ModelError:
        status = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else 0
        why = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            why = f"nothing came within {self._settings.timeout:g} s"
        names = {"section": self.section, "upper": self.section.upper()}
        fix = _FIXES.get(status, "").format(**names)
        what = f"The {self.section} server at {self.shown}"
        if not is_transient(error) and status != 429:
            fix = fix or f"Check {self.section}.base_url."
            return ModelError(f"{what} cannot be used", why=self._clean(why), fix=fix)
        tries = f" after {attempts} attempts" if attempts > 1 else ""
        fix = fix or f"Check that it runs and is reached, or raise {self.section}.timeout."
        return ModelOutageError(f"{what} does not answer{tries}", why=self._clean(why), fix=fix)

    def _clean(self, text: str) -> str:
        return scrub(" ".join(text.split())[:300], [self._key] if self._key else [])


def _said(response: httpx.Response, data: bytes) -> str:
    """Return the reason for a refusal, as vLLM, text-embeddings-inference and FastAPI give it."""
    try:
        told = read_json(content_type(response), data)
    except BadReplyError as error:
        return f", and {error}"
    for key in ("error", "message", "detail"):
        if isinstance(told, dict) and (inner := told.get(key)):
            told = inner
    return f": {told}"
