"""Respects the robots.txt of sites, and spaces out requests."""

from __future__ import annotations

import time
from urllib.parse import urljoin
from urllib.robotparser import RobotFileParser

from citeproof.errors import DocumentError
from citeproof.tools.web.fetch import AGENT, Client

_MOST_BYTES = 512 * 1024
_ROBOTS = "/robots.txt"
_CLOSED = ["User-agent: *", "Disallow: /"]


class Manners:
    """The rules of each site, which are fetched once, and the pauses between its pages.

    `delay` is the minimum of seconds between two requests to a site; a site may ask for more.
    """

    def __init__(self, client: Client, delay: float) -> None:
        self._client = client
        self._delay = delay
        self._rules: dict[str, RobotFileParser] = {}
        self._next: dict[str, float] = {}
        """The URL of a site's rules → the time from which the next request is allowed."""

    def may_fetch(self, url: str) -> bool:
        """Return whether robots.txt allows a page.

        Raises:
            DocumentError: The site's robots.txt cannot be fetched.
        """
        return self._rules_of(url).can_fetch(AGENT, url)

    def sitemaps(self, url: str) -> list[str]:
        """Return the sitemaps that the robots.txt of a page's site lists."""
        return self._rules_of(url).site_maps() or []

    def wait(self, url: str) -> None:
        """Wait until the next request to a page's site is allowed."""
        site = urljoin(url, _ROBOTS)
        rules = self._rules.get(site)
        asked = rules.crawl_delay(AGENT) if rules else None
        now = time.monotonic()
        pause = max(0.0, self._next.get(site, now) - now)
        self._next[site] = now + pause + max(self._delay, float(asked or 0))
        time.sleep(pause)

    def _rules_of(self, url: str) -> RobotFileParser:
        site = urljoin(url, _ROBOTS)
        if site not in self._rules:
            rules = RobotFileParser()
            self.wait(url)
            reply = self._client.get(site, most=_MOST_BYTES)
            if reply.status >= 500:
                raise DocumentError(
                    f"{url} is not fetched",
                    why=f"{site} returns HTTP {reply.status}, so it may be forbidden",
                    fix="Try again later.",
                )
            lines = reply.data.decode("utf-8-sig", "replace").splitlines()
            if reply.status != 200:  # like RobotFileParser.read
                lines = _CLOSED if reply.status in (401, 403) else []
            rules.parse(lines)
            self._rules[site] = rules
        return self._rules[site]
