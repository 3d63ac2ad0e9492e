"""Writes the formulas of HTML pages, which are in MathML, as text."""

from __future__ import annotations

import re
from typing import Any

from citeproof.tools.documents.letters import raised

_SIMPLE = re.compile(r"\w?|\d+(?:[.,]\d+)?")
"""Matches a part of a formula that needs no brackets."""


def write_out_formulas(page: Any) -> None:
    """Replace the tags of each formula by its TeX; without one, by text such as `(a+b)/2`."""
    for formula in page.iter("math"):
        source = formula.find(".//annotation[@encoding='application/x-tex']")
        tex = formula.get("alttext") if source is None else source.text
        said = (tex or "").strip() or " ".join(_said(formula).split())
        del formula[:]
        formula.text = said
        if "mwe-math-mathml" in formula.getparent().get("class", ""):
            formula.getparent().attrib.pop("style", None)  # Wikipedia shows a picture instead


def _said(formula: Any) -> str:
    said: dict[Any, str] = {}
    for tag in reversed([*formula.iter("*")]):  # the parts of a tag before the tag
        parts = [said[part].strip() for part in tag.iterchildren("*")]
        simple = [part if _SIMPLE.fullmatch(part) else f"({part})" for part in parts]
        text = (tag.text or "").strip() + "".join(said[part] for part in tag.iterchildren("*"))
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
