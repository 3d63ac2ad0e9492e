"""A site's rules for robots, and the pace at which it is read."""

from __future__ import annotations

import time
from urllib.robotparser import RobotFileParser

import httpx

from citeproof.errors import DocumentError
from citeproof.tools.web.fetch import AGENT, Client

_MOST_BYTES = 512 * 1024
_CLOSED = ["User-agent: *", "Disallow: /"]


class Manners:
    """The rules of each site that is read, asked for once; and pauses between its pages.

    Args:
        client: Fetches robots.txt.
        delay: Least seconds between two requests to a site; a site may ask for more.
    """

    def __init__(self, client: Client, delay: float) -> None:
        self._client = client
        self._delay = delay
        self._rules: dict[str, RobotFileParser] = {}
        self._next: dict[str, float] = {}
        """By site, when it may be asked again."""

    def may_fetch(self, url: str) -> bool:
        """Whether robots.txt allows a page.

        Raises:
            DocumentError: The site cannot be reached, or may not be.
        """
        return self._rules_of(url).can_fetch(AGENT, url)

    def sitemaps(self, url: str) -> list[str]:
        """The sitemaps that robots.txt of this page's site names."""
        return self._rules_of(url).site_maps() or []

    def wait(self, url: str) -> None:
        """Wait until the site of a page may be asked again."""
        site, rules = _site(url), self._rules.get(_site(url))
        asked = rules.crawl_delay(AGENT) if rules else None
        now = time.monotonic()
        pause = max(0.0, self._next.get(site, now) - now)
        self._next[site] = now + pause + max(self._delay, float(asked or 0))
        time.sleep(pause)

    def _rules_of(self, url: str) -> RobotFileParser:
        site = _site(url)
        if site not in self._rules:
            rules = RobotFileParser()
            self.wait(url)
            reply = self._client.get(f"{site}/robots.txt", most=_MOST_BYTES)
            if reply.status >= 500:
                raise DocumentError(
                    f"{url} is not fetched",
                    why=f"{site}/robots.txt answers HTTP {reply.status}, so it may be forbidden",
                    fix="Try again later.",
                )
            lines = reply.data.decode("utf-8", "replace").splitlines()
            if reply.status != 200:  # as RobotFileParser.read has it
                lines = _CLOSED if reply.status in (401, 403) else []
            rules.parse(lines)
            self._rules[site] = rules
        return self._rules[site]


def _site(url: str) -> str:
    return str(httpx.URL(url).copy_with(raw_path=b"")).rstrip("/")
