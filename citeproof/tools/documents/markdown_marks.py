"""Removes what programs add to the lines of Markdown, and joins lines that a writer wrapped.

The marks are those of note-taking programs such as Obsidian, and of the site generators GitBook,
Jekyll and Hugo.
"""

from __future__ import annotations

import re
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore

from citeproof.text import STOPS
from citeproof.tools.markdown_source import line_at
from citeproof.tools.sentences import LIST_ITEM, breaks_off

CODE = r"(?P<code>`[^`]+`|``.+?``)"
_MARKS = re.compile(
    CODE + r"|(?P<embedded>!\[\[[^\[\]\n]{1,300}\]\])"
    r"|(?<!\[)\[\[(?P<page>[^\[\]|#\s][^\[\]|#\n]{0,300})?(?P<part>#[^\[\]|\n]{0,300})?"
    r"(?:\\?\|(?P<words>[^\[\]\n]{1,300}))?\]\](?![(\[:\]])"
    r"|(?<![=\w])==(?=[^\s=])(?P<marked>[^=\n]{0,500}[^\s=])==(?![=\w])"
    r"|(?P<comment>(?<![%\w])%%[^%]{1,2000}%%(?!%))"
    r"|(?<!\\)\]\((?=[^()\n]*[ \t])(?P<address>(?:[^()\n]|\([^()\n]{0,300}\)){0,1000})\)"
    r"|\{\{[<%]\s?(?P<label>[a-z]{3,20})\s?[>%]\}\}"
    r"|(?P<block>(?:^|(?<=\s))\^[A-Za-z\d-]{4,40}[ \t]*$)",
    re.MULTILINE,
)
"""Code, an embedded file, a link to a page or part of it, highlighted words, a comment, an address
with blanks, a label such as `{{<required>}}`, the name of a block."""
_TAG = (
    r"(?:\{%(?:[^%\n]|%(?!\})){1,500}%\}|\{\{<[^\n]{1,500}?>\}\}|\{\{%[^\n]{1,500}?%\}\}"
    r"|\{:[^{}\n]{1,300}\})"
)
_TAGS = re.compile(rf"[ \t]*{_TAG}(?:[ \t]*{_TAG})*[ \t]*")
_TITLE = re.compile(r"""\s(?:title|header|name|caption)=(["'])(.*?)\1""")
_ATTRIBUTES = re.compile(r"(?<![ \t])[ \t]*\{:?[ \t]*[#.][^{}]*\}\s*\Z")
_HIGHLIGHT = re.compile(r"\s*\{%-?\s*highlight\b(?:\s+(?P<language>\w+))?[^%]*%\}\s*")
_END = re.compile(r"\s*\{%-?\s*endhighlight\b[^%]*%\}\s*")
_WRAPPED = 40
"""A line of this length, with its marks, that has no stop goes on below; links alone do not."""
_LINK = re.compile(r"<[^<>]*>|!?\[[^\[\]]{0,300}\](?:\([^()]{0,1000}\)|\[[^\[\]]{0,300}\])?")
_STOPPED = re.compile(rf"[{STOPS}:;|\\][*_`\"'”’)]*\Z|  \Z|\A\s*(?:\*\*.*\*\*\Z|__.*__\Z)")
"""A line that ends a sentence, an introduction, a row or a verse, or that is a heading."""


def marks_plugin(parser: MarkdownIt) -> None:
    """Clean the text of each paragraph and heading before its emphasis and links are read."""
    parser.core.ruler.before("inline", "marks", _clean_all)
    parser.core.ruler.after("inline", "headings", _bare_headings)
    parser.block.ruler.before("fence", "highlight", _highlight, {"alt": ["paragraph", "list"]})


def _clean_all(state: StateCore) -> None:
    for at, token in enumerate(state.tokens):
        if token.type != "inline":
            continue
        if state.tokens[at - 1].type == "heading_open":
            token.content = _ATTRIBUTES.sub("", token.content)
        is_item = state.tokens[at - 2].type == "list_item_open"
        token.content = clean(token.content) or (token.content if is_item else "")


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
            joined += [title[2]] if title else []
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
    if found["label"]:
        return f"({found['label']})"
    if any(found[kind] for kind in ("embedded", "comment", "block")):
        return ""
    page = (found["page"] or "").removesuffix(".md")
    parts = [part for part in (found["part"] or "").split("#") if part and part[0] != "^"]
    return " > ".join(filter(None, [page, *parts])) or found[0]


def _is_wrapped(line: str) -> bool:
    if "|" in line or _STOPPED.search(line):
        return False
    is_long = len(line.strip()) >= _WRAPPED and re.search(r"\w", _LINK.sub("", line))
    return bool(is_long or breaks_off(line))


def _highlight(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read Jekyll's blocks of code, which are tags."""
    if state.is_code_block(start) or not (begins := _HIGHLIGHT.fullmatch(line_at(state, start))):
        return False
    ends = (place for place in range(start + 1, end) if _END.fullmatch(line_at(state, place)))
    if (last := next(ends, None)) is None:
        return False
    if not silent:
        token = state.push("fence", "code", 0)
        token.info, token.markup = begins["language"] or "", "```"
        token.content = state.getLines(start + 1, last, state.sCount[start], True)
        token.map = [start, last + 1]
        state.line = last + 1
    return True
