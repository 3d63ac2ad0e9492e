"""Writes the formulas of HTML pages, which are in MathML, as text."""

from __future__ import annotations

import re
from typing import Any

from citeproof.tools.documents.letters import raised

_BLOCKS = ("p", "div", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6")
_SIMPLE = re.compile(r"\w?|\d+(?:[.,]\d+)?")
"""Matches a part of a formula that needs no brackets."""


def write_out_formulas(page: Any) -> None:
    """Replace the tags of each formula by its TeX; without one, by text such as `(a+b)/2`."""
    for formula in [one for one in page.iter("math") if _is_whole(one)]:
        source = formula.find(".//annotation[@encoding='application/x-tex']")
        tex = formula.get("alttext") if source is None else source.text
        said = (tex or "").strip() or " ".join(_said(formula).split())
        del formula[:]
        formula.text = said
        if "mwe-math-mathml" in formula.getparent().get("class", ""):
            formula.getparent().attrib.pop("style", None)  # Wikipedia shows a picture instead


def _is_whole(formula: Any) -> bool:
    """Whether it is no part of another formula, and is closed before the text goes on."""
    inside = next(formula.iterancestors("math"), None) is not None
    return not inside and next(formula.iter(*_BLOCKS), None) is None


def _said(formula: Any) -> str:
    said: dict[Any, str] = {}
    for tag in reversed([*formula.iter("*")]):  # the parts of a tag before the tag
        parts = [said[part].strip() for part in tag.iterchildren("*")]
        simple = [part if _SIMPLE.fullmatch(part) else f"({part})" for part in parts]
        own = tag.text or ""
        text = own if tag.tag == "mtext" else own.strip()
        text += "".join(said[part] + (part.tail or "").strip() for part in tag.iterchildren("*"))
        if tag.tag == "mfrac" and len(parts) == 2:
            text = f" {simple[0]}/{simple[1]} "
        elif tag.tag in {"msup", "msubsup"} and len(parts) > 1:
            power = raised(parts[-1])
            text = simple[0] + "".join(parts[1:-1])
            text += f"^{simple[-1]}" if power == parts[-1] else power
        elif tag.tag == "msqrt":
            text = f"√{text}" if _SIMPLE.fullmatch(text) else f"√({text})"
        elif tag.tag == "mroot" and len(parts) == 2:
            text = f"{simple[0]}^(1/{simple[1]})"
        said[tag] = "" if tag.tag in {"annotation", "annotation-xml"} else text
    return said[formula]
