"""Computes the numbers of Word's numbered paragraphs, which the file does not contain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from citeproof.tools.documents.base import number
from citeproof.tools.documents.letters import count_in

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE = re.compile(r"%([1-9])")
_CHAIN = 50
"""Maximum length of a chain of styles, each based on the next."""
_LABEL = 60


class _Level(NamedTuple):
    start: int
    form: str
    text: str
    """Such as `%1.%2`, with a place for the number of each level."""
    is_legal: bool


class Numbers:
    """Counts numbered paragraphs in the order of the document."""

    def __init__(self, numbering: Any, styles: Any) -> None:
        """Take the roots of the parts `numbering` and `styles`, or None for those that lack."""
        self._styles = by_id(styles, "style", "styleId")
        lists = by_id(numbering, "num", "numId")
        abstract = by_id(numbering, "abstractNum", "abstractNumId")
        self._kinds = {key: value(one, "abstractNumId") for key, one in lists.items()}
        self._levels: dict[str, dict[int, _Level]] = {}
        """List or kind of lists → its levels; those of a list replace those of its kind."""
        self._restarts = set[tuple[str, int]]()
        self._counts: dict[str, dict[int, int]] = {}
        """Kind of lists → level → the last number."""
        self._linked: dict[tuple[str, str], int] = {}
        """Kind of lists and style → level."""
        for key, one in abstract.items():
            linked = self._styles.get(value(one, "numStyleLink"))
            if linked is not None and (other := lists.get(_numbering(linked)[0] or "")) is not None:
                one = abstract.get(value(other, "abstractNumId"), one)
            self._levels[key] = _levels(one)
            for level in one.iter(W + "lvl"):
                self._linked[key, value(level, "pStyle")] = _place(level)
        for key, one in lists.items():
            own = self._levels.get(self._kinds[key], {}) | _levels(one)
            for changed in one.iter(W + "lvlOverride"):
                start, place = value(changed, "startOverride"), _place(changed)
                if start and place in own:
                    own[place] = own[place]._replace(start=number(start, 1))
                    self._restarts.add((key, place))
            self._levels[f"list {key}"] = own

    def label(self, paragraph: Any, style: str) -> str | None:
        """Return the label of the next paragraph: a number, `-` for a bullet, None without one."""
        key, level = self._find(paragraph, style)
        levels = self._levels.get(f"list {key}", {})
        if not key or key == "0" or level not in levels:
            return None
        counts = self._counts.setdefault(self._kinds[key], {})
        if (key, level) in self._restarts:
            self._restarts.discard((key, level))
            counts.pop(level, None)
        counts[level] = counts.get(level, levels[level].start - 1) + 1
        for deeper in [one for one in counts if one > level]:
            del counts[deeper]
        own = levels[level]
        if own.form == "bullet":
            return "-"

        def fill(found: re.Match[str]) -> str:
            place = int(found[1]) - 1
            named = levels.get(place, own)
            form = "decimal" if own.is_legal else named.form
            return count_in(form, counts.get(place, named.start))

        return _PLACE.sub(fill, own.text).strip()[:_LABEL]

    def _find(self, paragraph: Any, style: str) -> tuple[str, int]:
        """Return the list and the level of a paragraph, from itself or its style."""
        key, level = _numbering(paragraph)
        for one in style_chain(self._styles, style):
            own, place = _numbering(self._styles[one])
            if key is None and own is not None:
                key = own
                level = self._linked.get((self._kinds.get(own, ""), one), level)
            level = place if level is None else level
        return key or "", level or 0


def style_chain(styles: Mapping[str, Any], style: str) -> Iterator[str]:
    """Yield a style and those that it is based on, as ids; `styles` holds the element of each."""
    for _ in range(_CHAIN):
        if style not in styles:
            return
        yield style
        style = value(styles[style], "basedOn")


def _numbering(element: Any) -> tuple[str | None, int | None]:
    """Return the list and the level that a paragraph or style names."""
    level = value(element, "pPr/numPr/ilvl")
    return value(element, "pPr/numPr/numId") or None, number(level, 0) if level else None


def _levels(element: Any) -> dict[int, _Level]:
    return {
        _place(one): _Level(
            number(value(one, "start")),
            value(one, "numFmt") or "decimal",
            value(one, "lvlText"),
            one.find(W + "isLgl") is not None,
        )
        for one in element.iter(W + "lvl")
    }


def _place(element: Any) -> int:
    return number(element.get(W + "ilvl", ""), 0)


def by_id(root: Any, tag: str, name: str) -> dict[str, Any]:
    """Return the elements below a root, or none, by their id."""
    found = () if root is None else root.iter(W + tag)
    return {str(one.get(W + name, "")): one for one in found}


def below(element: Any, path: str) -> Any:
    """Return the element at a path such as `pPr/pStyle` below another one; None without one."""
    return element.find(W + path.replace("/", f"/{W}"))


def value(element: Any, path: str) -> str:
    """Return the value of the element at a path below another one; "" without one."""
    found = below(element, path)
    return str(found.get(W + "val", "")) if found is not None else ""
