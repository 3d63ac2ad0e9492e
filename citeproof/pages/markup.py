"""SVG that escapes by construction: only what `element` built goes in as it is."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from citeproof.text import plain

__all__ = ["Markup", "element"]


def element(tag: str, *children: str | Iterable[str], **attributes: str | float | None) -> Markup:
    """An element; children and attribute values that are not `Markup` are escaped.

    Args:
        tag: Its name.
        children: Texts, elements, or sequences of them.
        attributes: `class_` stands for `class`, `text_anchor` for `text-anchor`. None leaves an
            attribute out.
    """
    written = [
        f' {key.rstrip("_").replace("_", "-")}="{escape(plain(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    inside = "".join(map(_finish, children))
    return Markup(f"<{tag}{''.join(written)}>{inside}</{tag}>")


def _finish(child: str | Iterable[str]) -> str:
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(plain(child, lines=True))
    return "".join(map(_finish, child))
