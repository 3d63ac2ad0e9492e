"""Joins the wrapped lines of Markdown, so that the links and the emphasis in them are whole."""

from __future__ import annotations

import re

from citeproof.text import STOPS
from citeproof.tools.documents.markdown_code import split_code
from citeproof.tools.sentences import breaks_off

_WRAPPED = 40
"""A line of this length, with its marks, that has no stop goes on below; links alone do not."""
_LINK = re.compile(r"!?\[[^\[\]]{0,300}\](?:\([^()]{0,1000}\)|\[[^\[\]]{0,300}\])?")
_STOPPED = re.compile(rf"[{STOPS}:;|\\][*_`\"'”’)]*\Z|  \Z|\A\s*(?:[#>|]|\*\*.*\*\*\Z|__.*__\Z)")
"""A line that ends a sentence, an introduction, a row or a verse, or that is a heading or quote."""
_BEGINS = re.compile(
    r"\s*(?:[-*+•]\s|\d{1,9}[.)]\s|[>#<=~]|:::|!!!|[-*_ \t]+\Z|\[[^\[\]]{1,300}\]:|```|\Z)"
)
"""A line that begins something else: an item, a quote, a heading, a rule, an address."""


def join_wrapped(text: str) -> str:
    r"""Join lines that a writer wrapped; others, such as those of a poem or an address, stay.

    >>> join_wrapped("The work was begun in private, long ago, by\n[Ann](https://x.org) and Bob.")
    'The work was begun in private, long ago, by [Ann](https://x.org) and Bob.'
    """
    joined: list[list[str]] = []
    is_open = False
    for line, is_code in split_code(text):
        if is_open and not is_code and "|" not in line and not _BEGINS.match(line):
            joined[-1].append(line.lstrip())
        else:
            joined.append([line])
        is_open = not is_code and _is_wrapped(line)
    return "\n".join(map(" ".join, joined))


def _is_wrapped(line: str) -> bool:
    if "|" in line or _STOPPED.search(line):
        return False
    is_long = len(line.strip()) >= _WRAPPED and re.search(r"\w", _LINK.sub("", line))
    return bool(is_long or breaks_off(line))
