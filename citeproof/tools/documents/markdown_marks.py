"""Removes what programs add to the lines of Markdown, and joins lines that a writer wrapped.

The marks are those of note-taking programs such as Obsidian, and of the site generators GitBook,
Jekyll and Hugo.
"""

from __future__ import annotations

import re
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from citeproof.text import STOPS
from citeproof.tools.sentences import LIST_ITEM, breaks_off

CODE = r"(?P<code>`[^`]+`|``.+?``)"
_MARKS = re.compile(
    CODE + r"|(?P<embedded>!\[\[[^\[\]\n]{1,300}\]\])"
    r"|(?<!\[)\[\[(?P<page>[^\[\]|#\s][^\[\]|#\n]{0,300})?(?P<part>#[^\[\]|\n]{0,300})?"
    r"(?:\\?\|(?P<words>[^\[\]\n]{1,300}))?\]\](?![(\[:\]])"
    r"|(?<![=\w])==(?=[^\s=])(?P<marked>[^=\n]{0,500}[^\s=])==(?![=\w])"
    r"|(?P<comment>(?<![%\w])%%[^%]{1,2000}%%(?!%)"
    r"|\{%-?\s*comment\s*-?%\}[^%]{0,2000}\{%-?\s*endcomment\s*-?%\})"
    r"|(?<!\\)\]\((?=[^()\n]*[ \t])(?P<address>(?:[^()\n]|\([^()\n]{0,300}\)){0,1000})\)"
    r"|(?P<tag>\{\{[<%][^{}]{1,500}?[%>]\}\}|\{%[^{}\n]{1,500}?%\})"
    r"|(?P<block>(?:^|(?<=\s))\^[A-Za-z\d-]{4,40}[ \t]*$)"
    r"|(?P<style>(?:(?<=[\])`])\{:?|(?<=[*_])\{:)[ \t]*"
    r"(?:[.#][A-Za-z]|[\w-]+=[\w\"'])[^{}\n]{0,300}\})",
    re.MULTILINE,
)
"""Code, an embedded file, a link to a page or part of it, highlighted words, a comment, an address
with blanks, a tag, the name of a block, the style of the link or words before it."""
_TAG = (
    r"(?:\{%(?:[^%\n]|%(?!\})){1,500}%\}|\{\{<[^\n]{1,500}?>\}\}|\{\{%[^\n]{1,500}?%\}\}"
    r"|\{:[^{}\n]{1,300}\})"
)
_TAGS = re.compile(rf"[ \t]*{_TAG}(?:[ \t]*{_TAG})*[ \t]*")
_TITLE = re.compile(r"""\s(?P<kind>title|header|name|caption|content|text)=(["'])(?P<said>.*?)\2""")
_NAME = re.compile(r"\{[{%][<%-]?\s*(?P<ends>/\s?|end)?(?P<name>[\w-]+)")
_WORDS = re.compile(
    r"""\{%-?\s*[\w-]+(?:\s+(?P<mark>["'])(?P<words>(?:(?!\.\w{2,4}["'])[^"'/\n]){1,200})(?P=mark))+"""
    r"\s*-?%\}"
)
"""Matches a tag of Liquid with words, not a path; it shows the last ones."""
_LABEL = re.compile(r"\{\{[<%]\s?([a-z]{3,20})\s?[>%]\}\}")
_FAR = 2_000
"""Most characters between the tags of a pair."""
_ATTRIBUTES = re.compile(r"(?<![ \t])[ \t]*\{:?[ \t]*[#.][^{}]*\}\s*\Z")
_CONTENTS = re.compile(r"\n\s*\{:\s*toc\b[^{}\n]*\}\s*\Z")
"""Matches the placeholder of kramdown's table of contents."""
_WRAPPED = 40
"""A line of this length, with its marks, that has no stop goes on below; links alone do not."""
_LINK = re.compile(r"<[^<>]*>|!?\[[^\[\]]{0,300}\](?:\([^()]{0,1000}\)|\[[^\[\]]{0,300}\])?")
_STOPPED = re.compile(rf"[{STOPS}:;|\\][*_`\"'”’)]*\Z|  \Z|\A\s*(?:\*\*.*\*\*\Z|__.*__\Z)")
"""A line that ends a sentence, an introduction, a row or a verse, or that is a heading."""


def marks_plugin(parser: MarkdownIt) -> None:
    """Clean the text of each paragraph and heading before its emphasis and links are read."""
    parser.core.ruler.before("inline", "marks", _clean_all)
    parser.core.ruler.after("inline", "headings", _bare_headings)


def _clean_all(state: StateCore) -> None:
    for at, token in enumerate(state.tokens):
        if token.type != "inline":
            continue
        if state.tokens[at - 1].type == "heading_open":
            token.content = _ATTRIBUTES.sub("", token.content)
        if _CONTENTS.search(token.content):
            token.content = ""
        token.content = clean(token.content)


def _bare_headings(state: StateCore) -> None:
    """Show no marks of code in headings, which name passages."""
    for above, token in pairwise(state.tokens):
        for child in (token.children or ()) if above.type == "heading_open" else ():
            child.type = "text" if child.type == "code_inline" else child.type


def clean(text: str) -> str:
    r"""Return the text of a paragraph without marks of programs; wrapped lines are joined.

    A tag of a generator gives way to its title or caption: tabs and figures have one.

    >>> clean("See [[Plans and limits#Plans|your plan]] and [[Sync#Setup]]. ^b15695")
    'See your plan and Sync > Setup. '
    >>> clean('Ask in {% slack_channel "dev" "the channel" %}, see {% include "a.html" %}.')
    'Ask in the channel, see {% include "a.html" %}.'
    >>> clean('{% tab title="Linux" %}\nCall it a day.\n{% endtab %}')
    'Linux\nCall it a day.'
    >>> clean("The work was begun in private, long ago, by\n[Ann](https://x.org) and Bob.")
    'The work was begun in private, long ago, by [Ann](https://x.org) and Bob.'
    """
    joined: list[str] = []
    is_open = False
    for line in text.split("\n"):
        if _TAGS.fullmatch(line):
            title = _TITLE.search(line)
            joined += [title["said"]] if title else []
            is_open = False
        elif is_open and "|" not in line and not LIST_ITEM.match(line):
            joined[-1] += f" {line.lstrip()}"
            is_open = _is_wrapped(line)
        else:
            joined.append(line)
            is_open = _is_wrapped(line)
    return _MARKS.sub(_say, "\n".join(joined))


def _say(found: re.Match[str]) -> str:
    if found["code"] or found["marked"] or found["words"]:
        return found["code"] or found["marked"] or found["words"]
    if found["address"]:
        return "](-)"
    if found["tag"]:
        return _say_tag(found["tag"], found.string[found.end() : found.end() + _FAR])
    if any(found[kind] for kind in ("embedded", "comment", "block", "style")):
        return ""
    page = (found["page"] or "").removesuffix(".md")
    parts = [part for part in (found["part"] or "").split("#") if part and part[0] != "^"]
    return " > ".join(filter(None, [page, *parts])) or found[0]


def _say_tag(tag: str, below: str) -> str:
    """The title of a tag in running text, "" for one of a pair, `(required)` for a mere name."""
    if title := _TITLE.search(tag):
        return title["said"] if title["kind"] == "text" else f"{title['said']}\n"
    if (name := _NAME.match(tag)) is None:
        return tag
    ends = (f"{mark}{name['name']}" in below for mark in ("/", "/ ", "end"))
    if name["ends"] or any(ends):
        return ""
    words = _WORDS.fullmatch(tag)
    return words["words"] if words else _LABEL.sub(r"(\1)", tag)


def _is_wrapped(line: str) -> bool:
    if "|" in line or _STOPPED.search(line):
        return False
    is_long = len(line.strip()) >= _WRAPPED and re.search(r"\w", _LINK.sub("", line))
    return bool(is_long or breaks_off(line))
