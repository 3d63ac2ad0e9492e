"""Fetches the named pages, or all pages of a site below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Literal

from citeproof.errors import DocumentError, InputError
from citeproof.tools.documents.encodings import as_utf8
from citeproof.tools.web.fetch import Client
from citeproof.tools.web.kinds import TEXTS, ending_of, is_page
from citeproof.tools.web.links import is_below, links_of, locations_of, normalize, site_of
from citeproof.tools.web.robots import Manners

_GONE = (404, 410)
_LINKS = 1_000
"""Maximum number of links that are followed from one page."""
_SITEMAPS = 20
"""Maximum number of sitemaps that are read for a root."""


@dataclass(frozen=True)
class Web:
    """Options for fetching pages."""

    crawl: bool = False
    """Whether to fetch the pages below each URL too."""
    max_pages: int = 50
    """Maximum number of pages for each URL."""
    delay: float = 1.0
    """Minimum seconds between two requests to a site; its robots.txt may ask for more."""
    allow_private: bool = False
    """Whether addresses of private networks and of this machine are allowed."""


@dataclass(frozen=True)
class Fetched:
    """A page, or the reason why there is none."""

    url: str
    state: Literal["read", "unchanged", "gone", "failed", "left out"]
    why: str = ""
    """The reason, if the page was not read."""
    data: bytes = b""
    ending: str = ""
    """The file suffix that selects the reader."""
    validators: Mapping[str, str] = field(default_factory=dict)
    """`etag` and `modified`, with which the next fetch asks whether the page has changed; and
    `links`, one per line, since an unchanged page is not sent again."""


def fetch_pages(
    urls: Sequence[str], web: Web, known: Mapping[str, Mapping[str, str]] | None = None
) -> Iterator[Fetched]:
    """Fetch pages one after the other, each once.

    With `web.crawl`, the pages below each URL are fetched too: known pages, and those found through
    sitemaps and links. The rules and the crawl delay in robots.txt are respected.

    Args:
        urls: The URLs of the pages.
        web: Options for fetching.
        known: URL → validators, for pages that were fetched before. An unchanged page is not
            transferred again.

    Raises:
        InputError: A URL is invalid.
    """
    roots = list(map(normalize, urls))  # now, not when the first page is requested

    def fetch() -> Iterator[Fetched]:
        with closing(Client(allow_private=web.allow_private)) as client:
            crawler = _Crawler(client, Manners(client, web.delay), web, known or {})
            for root in roots:
                yield from crawler.below(root) if web.crawl else crawler.single(root)

    return fetch()


@dataclass
class _Crawler:
    client: Client
    manners: Manners
    web: Web
    known: Mapping[str, Mapping[str, str]]
    _seen: set[str] = field(default_factory=set)

    def single(self, url: str) -> Iterator[Fetched]:
        if url not in self._seen:
            fetched = self._page(url)
            yield fetched
            yield from self._left(url, fetched)

    def below(self, root: str) -> Iterator[Fetched]:
        inside = partial(is_below, root=root)
        waiting = dict.fromkeys([root, *filter(inside, self.known)])
        pages, is_listed = 0, False
        while waiting:
            url = next(iter(waiting))
            del waiting[url]
            if url in self._seen:
                continue
            if pages == self.web.max_pages:
                left = len(waiting) + 1
                yield Fetched(root, "left out", f"there are more pages ({left} known)")
                return
            fetched = self._page(url, root)
            pages += fetched.state in ("read", "unchanged")
            is_named = url == root or url in self.known
            if is_named or fetched.state not in ("failed", "gone"):
                yield fetched
            else:  # a dead link is the site's mistake
                yield Fetched(url, "left out", fetched.why or "it no longer exists")
            yield from self._left(url, fetched)
            links = fetched.validators.get("links", "").split()
            if fetched.state == "read" and not is_listed:
                is_listed = True
                links += self._list_sitemap(root)
            found = filter(is_page, filter(inside, links))
            waiting |= dict.fromkeys(link for link in found if link not in self._seen)

    def _left(self, url: str, fetched: Fetched) -> Iterator[Fetched]:
        """Yield a known page that now redirects to another one as gone."""
        if url in self.known and fetched.url != url:
            yield Fetched(url, "gone", f"{url} redirects to {fetched.url}.")

    def _page(self, url: str, root: str = "") -> Fetched:
        self._seen.add(url)
        try:
            if not self.manners.may_fetch(url):
                return Fetched(url, "left out", "its site's robots.txt forbids it")
            self.manners.wait(url)
            reply = self.client.get(
                url,
                follow=partial(self._refuse, root=root),
                headers=self._conditions,
                wanted=lambda reply: reply.status == 200 and bool(ending_of(reply)),
            )
        except (DocumentError, OSError) as error:
            return Fetched(url, "failed", str(error))
        if reply.url != url and reply.url in self._seen:
            return Fetched(reply.url, "left out", f"{url} redirects to it")
        self._seen.add(reply.url)
        if reply.status == 304 and reply.url in self.known:
            return Fetched(reply.url, "unchanged", validators=self.known[reply.url])
        if reply.status in _GONE:
            return Fetched(url, "gone", f"{url} does not exist (HTTP {reply.status}).")
        if reply.status != 200:
            return Fetched(url, "failed", f"{url} cannot be fetched: HTTP {reply.status}.")
        if not (ending := ending_of(reply)):
            told = reply.headers.get("content-type", "of unknown type")
            return Fetched(url, "failed", f"{url} cannot be read: no reader reads {told}.")
        data = as_utf8(reply.data, reply.charset) if ending in TEXTS else reply.data
        links = filter(is_page, links_of(data, reply.url) if ending == ".html" else ())
        own = (link for link in links if site_of(link) == site_of(reply.url))
        validators = {
            "etag": reply.headers.get("etag", ""),
            "modified": reply.headers.get("last-modified", ""),
            "links": "\n".join(islice(own, _LINKS)),
        }
        return Fetched(reply.url, "read", data=data, ending=ending, validators=validators)

    def _refuse(self, target: str, *, root: str) -> str:
        """Return why a redirect is not followed, or an empty string to follow it."""
        if root and not is_below(target, root):
            return f"which is not below {root}"
        if not self.manners.may_fetch(target):
            return "which its site's robots.txt forbids"
        self.manners.wait(target)
        return ""

    def _conditions(self, url: str) -> Mapping[str, str]:
        told = self.known.get(url, {})
        names = {"If-None-Match": "etag", "If-Modified-Since": "modified"}
        return {name: told[key] for name, key in names.items() if told.get(key)}

    def _list_sitemap(self, root: str) -> list[str]:
        """Return the pages that the sitemaps of the site list."""
        pages: list[str] = []
        sitemaps = list(self.manners.sitemaps(root))
        for url in islice(sitemaps, _SITEMAPS):  # they may name further ones
            try:
                self.manners.wait(url)
                reply = self.client.get(normalize(url))
            except InputError:
                continue  # links may lead to the pages as well
            if reply.status == 200:
                places = locations_of(reply.data, url)
                sitemaps += [place for place in places if place.endswith(".xml")]
                pages += [place for place in places if not place.endswith(".xml")]
        return pages
