"""The meaning of an HTML page's tags and attributes for their text."""

from __future__ import annotations

import re
from typing import Any

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LINES = {"li", "tr", "dt", "dd", "option", "caption", "figcaption", "td", "th"}
"""Blocks that begin a line; the other ones stand after a blank line."""
BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "center", "details", "div", "dl"),
    *("fieldset", "figure", "footer", "form", "header", "html", "main", "ol", "p", "pre"),
    *("section", "summary", "table", "tbody", "tfoot", "thead", "ul", "hr"),
    *HEADINGS,
    *LINES,
}
CODE = {"script", "style", "noscript", "template", "title"}
"""Tags whose text is for programs, or shown elsewhere."""
DROPPED = {
    *CODE,
    *("svg", "button", "iframe", "select"),
    *("canvas", "object", "audio", "video"),
}
_UNSEEN = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden|"
    r"(?:opacity|font-size)\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?\s*(?:;|!|$))",
    re.IGNORECASE,
)
_NAVIGATION_ROLES = {"navigation", "search", "menu", "menubar"}
_NAVIGATION = {
    *("navheader", "navfooter", "toc", "contents", "toctree-wrapper", "sphinxsidebar", "related"),
    *(
        "breadcrumb",
        "breadcrumbs",
        "navbar",
        "sidebar-toc",
        "table-of-contents",
        "genindex-jumpbox",
    ),
    *("page-toc", "skip-link", "list-of-tables", "list-of-figures", "list-of-examples"),
}
_PERMALINKS = {"¶", "#", "§", "🔗", "\uf0c1"}


def is_hidden(tag: Any) -> bool:
    """Whether a reader of the page does not see the tag."""
    return (
        tag.get("hidden") is not None
        or tag.get("aria-hidden", "").lower() == "true"
        or bool(_UNSEEN.search(tag.get("style", "")))
    )


def is_navigation(tag: Any) -> bool:
    """Whether the tag holds the way to other places: menus, tables of contents."""
    if tag.tag == "nav" or tag.get("role", "").lower() in _NAVIGATION_ROLES:
        return True
    if tag.tag not in {"div", "ul", "ol", "dl", "table", "section", "aside", "p", "header"}:
        return False
    names = {*tag.get("class", "").lower().split(), tag.get("id", "").lower()}
    return bool(names & _NAVIGATION)


def is_permalink(tag: Any) -> bool:
    """Whether the tag is a mark behind a heading that links to it."""
    return tag.tag == "a" and len(tag) < 3 and "".join(tag.itertext()).strip() in _PERMALINKS
