"""Fetches web pages, one by one or all those below a path."""

from citeproof.tools.web.crawl import Fetched, Web, fetch_pages
from citeproof.tools.web.links import normalize

__all__ = ["Fetched", "Web", "fetch_pages", "normalize"]
