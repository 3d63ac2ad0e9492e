"""Tells which tags of an HTML page hold no text of it: hidden ones, menus, buttons."""

from __future__ import annotations

import re
from typing import Any

HEADINGS = {f"h{level}": level for level in range(1, 7)}
CODE = {"script", "style", "noscript", "template", "title"}
"""Tags whose text is for programs, or shown elsewhere than on the page."""
_STRUCK_OUT = {"del", "s", "strike"}
_DROPPED = CODE | _STRUCK_OUT | {"svg", "iframe", "select", "canvas", "object", "audio", "video"}
_UNSEEN = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden|"
    r"text-decoration(?:-line)?\s*:[^;]*line-through|"
    r"(?:opacity|font-size)\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?\s*(?:;|!|$))",
    re.IGNORECASE,
)
_NAVIGATION_ROLES = {"navigation", "search", "menu", "menubar"}
_NAVIGATION = {"navheader", "navfooter", "sphinxsidebar", "genindex-jumpbox", "skip-link"}
"""Classes of navigation, whatever is in it."""
_DEBUGGING = "debug DEBUG"
"""Class and id of what the style sheet of LibreOffice's help hides."""
_LISTS_OF_LINKS = {
    *("toc", "contents", "toctree-wrapper", "related", "breadcrumb", "breadcrumbs", "navbar"),
    *("sidebar-toc", "table-of-contents", "page-toc"),
    *("list-of-tables", "list-of-figures", "list-of-examples"),
}
"""Classes of navigation if at least half of the words are in links: a tool that makes one page of a
book writes whole chapters in a `toctree-wrapper`, and Doxygen the page's text in `contents`."""
_MENU = re.compile(r"(?:^|[\s_-])(?:nav|navigation|menu|menubar)(?:$|[\s_-])", re.IGNORECASE)
"""Matches classes of navigation if all words are in links: a restaurant has a menu too."""
_WAYS = {"next", "prev", "previous", "up", "contents", "index", "start"}
"""Values of a link's `rel` that lead through a manual."""
_PERMALINKS = {"¶", "#", "§", "🔗", "\uf0c1", "[source]"}
_WORD = re.compile(r"\w+")
_FEWEST_LINKS = 3
"""Links of a table of contents."""
_EDITS = re.compile(
    r"\W*(?:edit (?:this (?:page|article|section)|on \w+)(?: on \w+)?"
    r"|(?:view|show) (?:page )?source|(?:improve|suggest edits to) this page"
    r"|suggest (?:an )?edits?)\W*",
    re.IGNORECASE,
)
"""Matches the words of a link to where the page is written."""
_EDIT_MARK = "mw-editsection"
"""The class of "[edit]" behind Wikipedia's headings."""
_MOST_BUTTON = 12
"""Words of a button; a longer one is text."""
_MOST_CONTENTS = 3
"""Words that introduce a table of contents, with a colon; more introduce an enumeration."""


def is_left_out(tag: Any, *, with_navigation: bool) -> bool:
    """Return whether a tag and all in it are left out; navigation is read `with_navigation`."""
    if tag.tag in _DROPPED or is_permalink(tag) or _is_control(tag) or _is_hidden(tag):
        return True
    return not with_navigation and _is_navigation(tag)


def is_permalink(tag: Any) -> bool:
    """Return whether the tag is the mark after a heading that links to the heading or its code."""
    return tag.tag == "a" and len(tag) < 3 and "".join(tag.itertext()).strip() in _PERMALINKS


def _is_hidden(tag: Any) -> bool:
    return (
        tag.get("hidden") is not None
        or tag.get("aria-hidden", "").lower() == "true"
        or bool(_UNSEEN.search(tag.get("style", "")))
    )


def _is_navigation(tag: Any) -> bool:
    """Return whether the tag is for navigation, such as a menu or a table of contents."""
    if tag.tag == "nav" or tag.get("role", "").lower() in _NAVIGATION_ROLES:
        return True
    if tag.tag == "p" and _is_way(tag):
        return True
    if tag.tag not in {"div", "ul", "ol", "dl", "table", "section", "aside", "p", "header"}:
        return False
    said = f"{tag.get('class', '')} {tag.get('id', '')}"
    names = {*said.lower().split()}
    if said == _DEBUGGING or names & _NAVIGATION or _is_contents(tag):
        return True
    if names & _LISTS_OF_LINKS:
        return _share_of_links(tag) >= 0.5
    return bool(_MENU.search(said)) and _share_of_links(tag) == 1


def _is_way(paragraph: Any) -> bool:
    """Return whether a paragraph is "Next: …, Up: …", which its links say to be the way on."""
    links = paragraph.findall(".//a")
    ways = (_WAYS.intersection(link.get("rel", "").lower().split()) for link in links)
    return bool(links) and all(ways) and _share_of_links(paragraph) >= 0.5


def _share_of_links(block: Any) -> float:
    """Return the share of a block's words that are in links."""
    links = (_count(link) for link in block.iter("a") if link.get("href"))
    return sum(links) / (_count(block) or 1)


def _count(tag: Any) -> int:
    return sum(len(_WORD.findall(text)) for text in tag.itertext())


def _is_contents(block: Any) -> bool:
    """Return whether a block consists of links to places on its own page, and is no enumeration."""
    links = 0
    for tag in block.iter():
        is_link = tag.tag == "a" and tag.get("href", "").startswith("#")
        links += is_link
        if tag.text and tag.text.strip() and not is_link and not _is_linked(tag):
            return False
        if tag is not block and tag.tail and tag.tail.strip() and not _is_linked(tag):
            return False
    return links >= _FEWEST_LINKS and not _is_enumeration(block)


def _is_enumeration(block: Any) -> bool:
    """Return whether a block of links continues a sentence: "It supports these databases:".

    "On this page:" introduces a table of contents.
    """
    if (above := block.getparent()) is not None and above.tag == "li":
        return True  # its list has other text
    while above is not None and block.getprevious() is None and not (above.text or "").strip():
        block, above = above, above.getparent()
    if (before := block.getprevious()) is None:
        said = above.text if above is not None else ""
    else:
        said = before.tail if (before.tail or "").strip() else "".join(before.itertext())
    return said.rstrip().endswith(":") and len(said.split()) > _MOST_CONTENTS


def _is_linked(tag: Any) -> bool:
    """Return whether a tag stands in a link to a place on its own page."""
    return any(link.get("href", "").startswith("#") for link in tag.iterancestors("a"))


def _is_control(tag: Any) -> bool:
    """Return whether the tag is a button, and not a heading or a text that a click unfolds.

    A link to edit the page is one too.
    """
    if tag.tag == "a":
        return bool(_EDITS.fullmatch("".join(tag.itertext())))
    if tag.get("class") == _EDIT_MARK:
        return True
    if tag.tag != "button" or tag.getparent().tag in {*HEADINGS, "dt", "summary"}:
        return False
    return _count(tag) <= _MOST_BUTTON
