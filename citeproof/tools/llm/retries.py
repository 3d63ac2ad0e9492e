"""Retries calls of a model after transient failures and reports permanent ones, for any provider.

The clients' own retries ignore the budget, do not resume a broken stream, and repeat calls without
quota. LangChain's `with_retry` ignores Retry-After.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential, wait_random

from citeproof.errors import ModelError, ModelOutageError
from citeproof.text import shorten
from citeproof.tools.transport import BadReplyError

_log = logging.getLogger("citeproof")
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_UNREACHED = frozenset(
    {"APIConnectionError", "TransportError", "ConnectionError", "Timeout", "TimeoutError"}
)
"""Base classes of connection errors and timeouts in Python, openai, anthropic, httpx, requests.

Names, since importing the classes for `isinstance` would import every provider.
"""
_OTHER_LOOP = re.compile("Event loop is closed|different (event )?loop")
_LONGEST_WAIT = 120.0
_KEY_LIKE = re.compile(r"\b(?:(?:sk|pk|gsk|xai|hf)[-_]|AIza)[\w*-]{6,}|(?<=Bearer )[^\s'\"]+")
_TOO_LONG = re.compile(r"context|too long|too many tokens|maximum.{0,20}tokens", re.IGNORECASE)
_FILTERED = re.compile(r"content[ _](?:filter|management)", re.IGNORECASE)
_CHECK_KEY = (
    "Check llm.api_key (CITEPROOF_LLM__API_KEY). The provider's own environment variable "
    "counts only without llm.base_url."
)
_FIXES = {
    401: _CHECK_KEY,
    403: _CHECK_KEY,
    404: 'Check llm.model and llm.base_url (base_url = "none" leaves the server).',
    429: "The provider's quota is used up; see your account there.",
}


def retry(
    retries: int, backoff: float, waiting: Callable[[BaseException, float, int], None]
) -> AsyncRetrying:
    """Return the attempts of one call: the first, and retries after transient failures.

    Waits for as long as the server asks for, or else with exponential backoff from `backoff`
    seconds on, and jitter. `waiting` is called before each wait with the failure, the seconds and
    the number of the next attempt.
    """
    by_ourselves = wait_exponential(backoff, max=60) + wait_random(0, backoff)

    def wait(state: RetryCallState) -> float:
        asked = retry_after(_failure(state))
        return float(by_ourselves(state)) if asked is None else asked

    def tell(state: RetryCallState) -> None:
        error = _failure(state)
        # Leave out the provider's words, which may contain a key.
        what = type(error).__name__ + (f", HTTP {code}" if (code := status_code(error)) else "")
        again = state.upcoming_sleep
        _log.info("Attempt %d failed (%s); again in %.1f s.", state.attempt_number, what, again)
        waiting(error, again, state.attempt_number + 1)

    return AsyncRetrying(
        stop=stop_after_attempt(retries + 1),
        wait=wait,
        retry=retry_if_exception(is_transient),
        before_sleep=tell,
        reraise=True,
    )


def _failure(state: RetryCallState) -> BaseException:
    """Return the error of a failed attempt."""
    assert state.outcome is not None
    error = state.outcome.exception()
    assert error is not None
    return error


def status_code(error: BaseException) -> int | None:
    """Return the HTTP status behind an error, if there is one."""
    for cause in _chain(error):
        response = getattr(cause, "response", None)
        for holder, name in (cause, "status_code"), (response, "status_code"), (cause, "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 100 <= status <= 599:
                return status
    return None


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed on a retry."""
    for cause in _chain(error):
        if isinstance(cause, BadReplyError):
            return cause.is_cut
    if "insufficient_quota" in str(error):  # OpenAI's 429 for an account without money
        return False
    if (status := status_code(error)) is not None:
        return status in _PASSING and (retry_after(error) or 0.0) <= _LONGEST_WAIT
    return any(
        {kind.__name__ for kind in type(cause).__mro__} & _UNREACHED
        or (isinstance(cause, RuntimeError) and _OTHER_LOOP.search(str(cause)))
        for cause in _chain(error)
    )


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that the server asks to wait, if it does."""
    for cause in _chain(error):
        headers = getattr(getattr(cause, "response", None), "headers", None) or {}
        if value := headers.get("retry-after"):
            seconds = -1.0
            with suppress(ValueError):
                until = parsedate_to_datetime(value).astimezone(UTC)
                seconds = (until - datetime.now(UTC)).total_seconds()
            with suppress(ValueError):
                seconds = float(value)
            return seconds if seconds >= 0 else None  # ignore a time in the past
    return None


def scrub(text: str, secrets: Collection[str] = ()) -> str:
    """Mask the given keys, and anything that looks like a key."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return _KEY_LIKE.sub("***", text)


def shows_key(error: BaseException, secrets: Collection[str]) -> bool:
    """Whether the traceback of an error would reveal a key."""
    return any(scrub(str(cause), secrets) != str(cause) for cause in _chain(error))


def translate(
    error: BaseException, name: str, *, attempts: int = 1, secrets: Collection[str] = ()
) -> ModelError:
    """Translate the error of the last attempt into one for users, with all `secrets` masked."""
    status = status_code(error)
    bad = next((cause for cause in _chain(error) if isinstance(cause, BadReplyError)), None)
    why = scrub(_summarize(error) if bad is None else str(bad), secrets)
    if is_transient(error) or (status in _PASSING and "insufficient_quota" not in why):
        tries = f" after {attempts} attempts" if attempts > 1 else ""
        fix = "Try again later."
        if status == 429:
            fix = "Try again later, or lower llm.requests_per_second."
        elif status is None:
            fix = "Check that the server runs and is reached, or raise llm.timeout."
        return ModelOutageError(f"No answer from {name}{tries}", why=why, fix=fix)
    fix = _FIXES.get(status or 0, "")
    if _FILTERED.search(why):
        fix = "Rephrase the question, leave out what it objects to, or use another model."
    elif not fix and _TOO_LONG.search(why):
        fix = "Use fewer passages, or a model (or llm.context) with a longer context."
    elif status is None or status < 400:
        fix = "Check that llm.base_url, if set, is the address of an OpenAI-compatible server."
    return ModelError(f"The call of {name} failed", why=why, fix=fix)


def _summarize(error: BaseException) -> str:
    """Return the failure on one line, with the causes that the outer error hides."""
    said = [f"HTTP {status}"] if (status := status_code(error)) is not None else []
    for cause in _chain(error):
        text = " ".join(str(cause).split()) or type(cause).__name__
        if not any(text in earlier for earlier in said):
            said.append(text)
    return shorten(": ".join(said), 500)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(5):
        if error is not None:
            yield error
            error = error.__cause__
