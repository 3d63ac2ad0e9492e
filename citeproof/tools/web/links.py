"""Normalizes and compares URLs, and extracts the links of pages and sitemaps."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urldefrag, urljoin

import httpx

from citeproof.errors import InputError


def normalize(url: str) -> str:
    """Return a URL without fragment and default port, and with its host in lower case.

    Raises:
        InputError: The URL is not that of a web page, or contains a user name or password.
    """
    try:
        parsed = httpx.URL(urldefrag(url.strip()).url)
    except httpx.InvalidURL as error:
        raise InputError(f"{url} is not a URL", why=str(error)) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InputError(f"{url} is not a URL of a web page", fix="Write it as https://host/path.")
    if parsed.userinfo:
        raise InputError(
            f"A page at {parsed.host} is not fetched",
            why="its URL holds a user name or password, which answers would show",
            fix="Save the page, and index the file.",
        )
    return str(parsed.copy_with(raw_path=parsed.raw_path))  # an empty path becomes "/"


def site_of(url: str) -> tuple[str, int | None]:
    """Return what identifies a site; http and https on their default ports are the same site."""
    parsed = httpx.URL(url)
    return parsed.host, parsed.port


def is_below(url: str, root: str) -> bool:
    """Return whether a URL is on the site of the root, and at or below its path.

    The root `…/guide/index.html` covers all of `…/guide/`; `…/guide` covers itself and all below,
    and so does `…/3.12`.
    """
    path, base = httpx.URL(url).path, httpx.URL(root).path
    folder, _, last = base.rpartition("/")
    if PurePosixPath(last).suffix[1:].isalpha():
        base = folder
    base = base.rstrip("/")
    return site_of(url) == site_of(root) and (path == base or path.startswith(f"{base}/"))


def links_of(data: bytes, url: str) -> list[str]:
    """Return the pages that an HTML page links to, in order, each once."""
    page = _parse(data)
    if page is None:
        return []
    base = page.xpath("string((//base/@href)[1])")
    return _normalize(page.xpath("//a/@href | //area/@href"), urljoin(url, base) if base else url)


def locations_of(data: bytes, url: str) -> list[str]:
    """Return the URLs that a sitemap, or an index of sitemaps, lists."""
    page = _parse(data)  # the HTML parser is good enough for this XML, and expands no entities
    return [] if page is None else _normalize(page.xpath("//loc/text()"), url)


def _parse(data: bytes) -> Any:
    """Return the tree of a page, or None if it is empty."""
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
        except (InputError, ValueError):  # mailto:, javascript:, or a broken link
            continue
    return list(found)
