"""Renders Markdown as HTML: CommonMark with tables, footnotes, definitions, formulas and boxes.

The parser is markdown-it-py. Unlike a browser's page, this one keeps the marks of code and formulas
and the line breaks of the source, and shows placeholders such as `<file>`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from textwrap import indent
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from citeproof.tools.documents.base import fence_around
from citeproof.tools.documents.markdown_boxes import box_plugin
from citeproof.tools.documents.markdown_marks import marks_plugin
from citeproof.tools.documents.markdown_tags import tags_plugin

_DEEPEST = 50
"""Levels of lists and quotes; text that is nested more deeply is not read."""
_TAGS = (
    "a|abbr|article|aside|audio|b|big|blockquote|br|center|cite|code|dd|del|details|div|dl|dt|em"
    "|figcaption|figure|font|h[1-6]|hr|i|iframe|img|ins|kbd|li|mark|nav|ol|p|picture|pre|s|samp"
    "|script|small|source|span|strike|strong|style|sub|summary|sup|table|tbody|td|tfoot|th|thead"
    "|tr|tt|u|ul|var|video|wbr"
)
_LIQUID = re.compile(r"(?<=\]:) \S{0,500}\{[{%][^\n]{1,500}[%}]\}\S{0,500}[ \t]*$", re.MULTILINE)
"""Matches the address of a reference if a site generator fills it in, or a part of it."""
_PLACEHOLDER = re.compile(
    rf"<(?!/?(?:{_TAGS})(?:\s[^<>]*)?/?>)(?!!--)(?!/[a-z][\w-]*\s*>)"
    r"""(?![a-z][\w-]*\s[^<>=]{0,200}=\s*["'][^<>]*>)""",
    re.IGNORECASE,
)
"""Matches the bracket before anything but a tag, which ends something or has an attribute."""


def render(text: str, *, has_indented_code: bool = True) -> str:
    r"""Render Markdown without front matter; MDX has no indented code.

    >>> render("The *lamp* is `lit`.")
    '<p>The <em>lamp</em> is `lit`.</p>\n'
    """
    return str(_parser(has_indented_code).render(_LIQUID.sub(" -", text)))


def show_code(code: str, fence: str = "", language: str = "") -> str:
    """Render a block of code between fences."""
    fence = fence or fence_around(code)
    return f"<pre>{fence}{escape(language)}\n{escape(code.strip(chr(10)))}\n{fence}</pre>\n"


@cache
def _parser(has_indented_code: bool) -> MarkdownIt:
    options = {"html": True, "breaks": True, "maxNesting": _DEEPEST}
    parser = MarkdownIt("commonmark", options)
    parser.enable(["table", "strikethrough"])
    if not has_indented_code:
        parser.disable("code")
    parser.use(deflist_plugin).use(colon_fence_plugin)
    parser.use(footnote_plugin, inline=False, move_to_end=False, always_match_refs=True)
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    parser.use(box_plugin).use(marks_plugin).use(tags_plugin)
    parser.renderer = _Renderer(parser)  # after the plugins, which set rules of their own
    return parser


class _Renderer(RendererHTML):
    """Renders what the reader of HTML would leave out or mistake."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return show_code(tokens[idx].content, tokens[idx].markup, tokens[idx].info)

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        # A browser ignores the first line break.
        return f"<pre>\n\n{escape(indent(tokens[idx].content.rstrip(), '    '))}</pre>\n"

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        marks = tokens[idx].markup
        return f"{marks}{escape(tokens[idx].content)}{marks}"

    math_inline = math_inline_double = code_inline

    def math_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<pre>$${escape(tokens[idx].content)}$$</pre>\n"

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return escape(self.renderInlineAsText(tokens[idx].children, options, env))

    def html_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _PLACEHOLDER.sub("&lt;", tokens[idx].content)

    html_block = html_inline

    def footnote_ref(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return ""

    footnote_reference_open = footnote_reference_close = footnote_ref
