"""Numbered paragraphs of Word documents."""

from __future__ import annotations

import io
from typing import Any

import docx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from tests.tools.documents.reading import STORY, passages


def numbered(*levels: tuple[str, str], more: str = "", extra: str = "") -> Any:
    """A document whose list 91 has these levels: the format of the number, and the label's text."""
    document = docx.Document()
    made = "".join(
        f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{extra}'
        f'<w:pStyle w:val="Heading{n + 1}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for n, (form, text) in enumerate(levels)
    )
    root = document.part.numbering_part.element
    root.insert(
        0,
        parse_xml(f'<w:abstractNum {nsdecls("w")} w:abstractNumId="90">{made}</w:abstractNum>'),
    )
    for key, inside in (("91", ""), ("92", more)):
        start = f'<w:num {nsdecls("w")} w:numId="{key}"><w:abstractNumId w:val="90"/>'
        root.append(parse_xml(f"{start}{inside}</w:num>"))
    return document


def put(document: Any, text: str, level: int, key: str = "91") -> None:
    number = f'<w:ilvl w:val="{level}"/><w:numId w:val="{key}"/>'
    properties = document.add_paragraph(text)._p.get_or_add_pPr()
    properties.append(parse_xml(f"<w:numPr {nsdecls('w')}>{number}</w:numPr>"))


def lines(document: Any) -> list[str]:
    document.save(out := io.BytesIO())
    said = [passage.text for passage in passages(out.getvalue(), "a.docx")]
    return [line for line in "\n".join(said).split("\n") if line]


CLAUSES = (("upperRoman", "Article %1"), ("decimal", "%1.%2"), ("lowerLetter", "(%3)"))


def test_the_levels_of_a_contract_are_counted() -> None:
    document = numbered(*CLAUSES)
    for text, level in [("Term", 0), ("Start", 1), ("by day", 2), ("by night", 2), ("End", 1)]:
        put(document, text, level)
    document.add_paragraph("Between.")
    for text, level in [("Pay", 0), ("Rent", 1), ("in coin", 2)]:
        put(document, text, level)
    assert lines(document) == [
        "Article I Term",
        "I.1 Start",
        "(a) by day",
        "(b) by night",
        "I.2 End",
        "Between.",
        "Article II Pay",
        "II.1 Rent",
        "(a) in coin",
    ]


def test_legal_levels_have_arabic_numbers() -> None:
    document = numbered(*CLAUSES[:2], extra="<w:isLgl/>")
    put(document, "Term", 0)
    put(document, "Start", 1)
    assert lines(document) == ["Article 1 Term", "1.1 Start"]


def test_a_list_goes_on_unless_it_starts_anew() -> None:
    anew = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'
    document = numbered(("decimal", "%1."), more=anew)
    for text, key in [("one", "91"), ("two", "91"), ("five", "92"), ("six", "92")]:
        put(document, text, 0, key)
    put(document, "none", 0, "0")
    assert lines(document) == ["1. one", "2. two", "5. five", "6. six", "none"]


def test_headings_take_their_numbers_from_their_styles() -> None:
    document = numbered(("decimal", "%1"), ("decimal", "%1.%2"))
    for n in (1, 2):
        properties = document.styles[f"Heading {n}"].element.get_or_add_pPr()
        number = '<w:numId w:val="91"/>'
        properties.append(parse_xml(f"<w:numPr {nsdecls('w')}>{number}</w:numPr>"))
    for text, level in [("Terms", 1), ("Start", 2), ("End", 2)]:
        document.add_heading(text, level)
        document.add_paragraph(STORY)
    document.save(out := io.BytesIO())
    titles = [passage.title for passage in passages(out.getvalue(), "a.docx")]
    assert list(dict.fromkeys(titles)) == ["1 Terms", "1 Terms – 1.1 Start", "1 Terms – 1.2 End"]


def test_numbers_stand_in_cells_and_bullets_are_dashes() -> None:
    document = numbered(("bullet", "•"))
    put(document, "oil", 0)
    document.add_paragraph("first", style="List Number")
    table = document.add_table(rows=2, cols=3)
    for n, text in enumerate(["Step", "Task", "Hours", "", "Trim", "2"]):
        table.cell(n // 3, n % 3).text = text
    table.cell(1, 0).paragraphs[0].style = "List Number"
    assert lines(document) == ["- oil", "1. first", "Step: 2.; Task: Trim; Hours: 2"]
