"""Removes the tags of site generators from Markdown: those of GitBook, Jekyll and Hugo."""

from __future__ import annotations

import re

from citeproof.tools.documents.markdown_code import split_code

_TAG = (
    r"(?:\{%(?:[^%\n]|%(?!\})){1,500}%\}|\{\{[<%](?:[^<>%\n]){1,500}[>%]\}\}"
    r"|\{:[^{}\n]{1,300}\})"
)
_LINE = re.compile(rf"\s*{_TAG}(?:\s*{_TAG})*\s*")
_TITLE = re.compile(r"""\s(?:title|header|name)=(["'])(.*?)\1""")
_ATTRIBUTES = re.compile(
    r"(?P<heading> {0,3}#{1,6}[ \t].*?(?<![ \t]))[ \t]*\{:?[ \t]*[#.][^{}]*\}\s*"
)
_CODE = re.compile(r"\s*\{%-?\s*(?P<end>end)?highlight\b(?:\s+(?P<language>\w+))?[^%]*%\}\s*")


def without_tags(raw: str) -> str:
    r"""Return Markdown without lines that contain only tags; code is left alone.

    A tag gives way to its title: tabs have one. Jekyll's `highlight` becomes a fence. Headings lose
    their attributes, `{#name}`.

    >>> without_tags('{% hint style="info" %}\nCall it a day.\n{% endhint %}')
    '\nCall it a day.\n'
    >>> without_tags('{% tab title="Linux" %}')
    'Linux'
    """
    if not any(mark in raw for mark in ("{%", "{{", "{:", "{#", "{.")):
        return raw
    return "\n".join(line if is_code else _say(line) for line, is_code in split_code(raw))


def _say(line: str) -> str:
    if code := _CODE.fullmatch(line):
        return "```" + ("" if code["end"] else code["language"] or "")
    if attributes := _ATTRIBUTES.fullmatch(line):
        return attributes["heading"]
    if not _LINE.fullmatch(line):
        return line
    title = _TITLE.search(line)
    return title[2] if title else ""
