"""URLs: which are the same, which lie below another one, and which a page links to."""

from __future__ import annotations

from typing import Any
from urllib.parse import urldefrag, urljoin

import httpx

from citeproof.errors import InputError


def is_url(name: str) -> bool:
    """Whether this names a page of the web, and not a file."""
    return name.lower().startswith(("http://", "https://"))


def normalize(url: str) -> str:
    """A URL without fragment and default port, its host in lower case.

    Raises:
        InputError: It is no URL of a page, or holds a password.
    """
    try:
        parsed = httpx.URL(urldefrag(url.strip()).url)
    except httpx.InvalidURL as error:
        raise InputError(f"{url} is no URL", why=str(error)) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InputError(f"{url} is no URL of a page", fix="Write it as https://host/path.")
    if parsed.userinfo:
        raise InputError(
            f"A page at {parsed.host} is not fetched",
            why="its URL holds a user name or password, which answers would show",
            fix="Save the page, and index the file.",
        )
    return str(parsed.copy_with(raw_path=parsed.raw_path))  # with "/" where there is no path


def site_of(url: str) -> tuple[str, int | None]:
    """The part that URLs of one site share; http and https on their own ports count as one."""
    parsed = httpx.URL(url)
    return parsed.host, parsed.port


def is_below(url: str, root: str) -> bool:
    """Whether a URL is the root, or of its site and below its path.

    The path of `…/guide/index.html` is `…/guide/`, that of `…/guide` is `…/guide` and all below.
    """
    path, base = httpx.URL(url).path, httpx.URL(root).path
    if "." in base.rpartition("/")[2]:
        base = base.rpartition("/")[0]
    base = base.rstrip("/")
    return site_of(url) == site_of(root) and (path == base or path.startswith(f"{base}/"))


def links_of(data: bytes, url: str) -> list[str]:
    """The pages that an HTML page links to, in order, each once."""
    page = _parse(data)
    if page is None:
        return []
    base = page.xpath("string((//base/@href)[1])")
    return _normalize(page.xpath("//a/@href | //area/@href"), urljoin(url, base) if base else url)


def locations_of(data: bytes, url: str) -> list[str]:
    """The URLs that a sitemap, or an index of sitemaps, names."""
    page = _parse(data)  # the parser of HTML reads XML well enough for this, and no entities
    return [] if page is None else _normalize(page.xpath("//loc/text()"), url)


def _parse(data: bytes) -> Any:
    """The tree of a page; None where there is nothing in it."""
    from lxml import etree, html

    parser = html.HTMLParser(no_network=True, remove_comments=True, remove_pis=True)
    try:
        return html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None


def _normalize(targets: list[str], start: str) -> list[str]:
    found: dict[str, None] = {}
    for target in targets:
        try:
            found[normalize(urljoin(start, target.strip()))] = None
        except (InputError, ValueError):  # mailto:, javascript:, or a slip of the page
            continue
    return list(found)
