"""Removes the marks that note-taking programs add to Markdown, as in a vault of Obsidian.

References to footnotes go as well; their texts stay where they are.
"""

from __future__ import annotations

import re

from citeproof.tools.documents.markdown_code import split_code
from citeproof.tools.documents.markdown_inline import CODE

_MARKS = re.compile(
    CODE + r"|(?P<embedded>!\[\[[^\[\]\n]{1,300}\]\])"
    r"|(?<!\[)\[\[(?P<page>[^\[\]|#\s][^\[\]|#\n]{0,300})?(?P<part>#[^\[\]|\n]{0,300})?"
    r"(?:\\?\|(?P<words>[^\[\]\n]{1,300}))?\]\](?![(\[:\]])"
    r"|(?<![=\w])==(?=[^\s=])(?P<marked>[^=\n]{0,500}[^\s=])==(?![=\w])"
    r"|(?P<comment>(?<![%\w])%%[^%\n]{1,2000}%%(?!%))"
    r"|(?P<footnote>[ \t]?\[\^[^\[\]\s]{1,50}\](?!:))"
    r"|(?P<block>(?:^|(?<=\s))\^[A-Za-z\d-]{4,40}[ \t]*$)"
)
"""Code, an embedded file, a link to a page or part of it, highlighted words, a comment, a reference
to a footnote, the name of a block."""


def without_note_marks(text: str) -> str:
    """Return Markdown with the words that a note shows for its links and highlights.

    >>> without_note_marks("See [[Plans and limits#Plans|your plan]] and [[Sync#Setup]]. ^b15695")
    'See your plan and Sync > Setup. '
    """
    if not any(mark in text for mark in ("[[", "==", "%%", "^")):
        return text
    return "\n".join(
        line if is_code else _MARKS.sub(_say, line) for line, is_code in split_code(text)
    )


def _say(found: re.Match[str]) -> str:
    if found["code"] or found["marked"]:
        return found["code"] or found["marked"]
    if found["words"]:
        return found["words"]
    if any(found[kind] for kind in ("embedded", "comment", "footnote", "block")):
        return ""
    page = (found["page"] or "").removesuffix(".md")
    parts = [part for part in (found["part"] or "").split("#") if part and part[0] != "^"]
    return " > ".join(filter(None, [page, *parts])) or found[0]
