"""Reads the source of Markdown within the rules of its parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock


def line_at(state: StateBlock, place: int) -> str:
    """Return a line without the blanks and marks, such as those of quotes, at its beginning."""
    return state.src[state.bMarks[place] + state.tShift[place] : state.eMarks[place]]
