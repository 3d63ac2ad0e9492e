"""Word documents, made by python-docx."""

from __future__ import annotations

import io
import re
import time
import zipfile
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from citeproof.types import Passage
from tests.tools.documents.reading import (
    STORY,
    packed,
    passages,
    read,
    refused,
    saved_strictly,
    zipped,
)

NAME = "report.docx"
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def cut(document: Any) -> list[Passage]:
    return passages(packed(document), NAME)


def text(document: Any) -> str:
    return "\n".join(p.text for p in cut(document))


def element(xml: str) -> Any:
    """An element, given without its namespaces."""
    names = nsdecls("w", "wp", "a", "pic", "r")
    names += ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    names += ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    return parse_xml(re.sub("/?>", rf" {names}\g<0>", xml, count=1))


def add(paragraph: Any, xml: str) -> None:
    paragraph._p.append(element(xml))


def with_member(data: bytes, name: str, content: str, kind: str) -> bytes:
    """The document with a part more, to which its main part refers."""
    rels = "word/_rels/document.xml.rels"
    entry = f'<Relationship Id="x1" Type="{TYPES}/{kind}" Target="{Path(name).name}"/>'
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        members = {one: old.read(one) for one in old.namelist()}
    end = b"</Relationships>"
    members[rels] = members[rels].replace(end, entry.encode() + end)
    return zipped({**members, name: content})


def test_headings_paragraphs_and_tables() -> None:
    document = docx.Document()
    document.add_heading("The Report", 0)
    document.add_paragraph("It is short.")
    outlined = document.add_paragraph("Numbers")._p.get_or_add_pPr()
    outlined.append(element('<w:outlineLvl w:val="0"/>'))
    document.styles.add_style("Heading ²", docx.enum.style.WD_STYLE_TYPE.PARAGRAPH)  # no level
    document.add_paragraph(STORY, style="Heading ²")
    document.add_paragraph("rye", style="List Bullet")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "sheep", "forty"
    first, *rest = cut(document)
    assert (first.title, first.text) == ("The Report", "It is short.")
    assert {p.title for p in rest} == {"The Report – Numbers"}
    assert rest[-1].text.endswith("- rye\n\nsheep | forty")
    assert passages(saved_strictly(packed(document)), NAME) == [first, *rest]


def test_a_bold_paragraph_heads_a_section() -> None:
    document = docx.Document()
    document.add_heading("Handbook", 1)
    for line in ("Opening hours", "Dr. Anna Bell", "Never smoke here."):
        bold = document.add_paragraph().add_run(line)
        bold.bold = True
        document.add_paragraph(STORY)
    half = document.add_paragraph("Half of this ")
    half.add_run("is bold").bold = True
    found = cut(document)
    titles = dict.fromkeys(p.title.partition(" – ")[2] for p in found)
    assert list(titles) == ["", "Opening hours", "Dr. Anna Bell"]
    assert all(line in text(document) for line in titles)
    assert found[-1].title == "Handbook"


def run(inside: str) -> str:
    return f"<w:r>{inside}</w:r>"


def field(data: str) -> str:
    """A form field of Word 97."""
    return run(f"<w:fldChar w:fldCharType='begin'><w:ffData>{data}</w:ffData></w:fldChar>")


ONE, TWO, BASE, SUM = (f"<m:r><m:t>{said}</m:t></m:r>" for said in ("1", "2", "x", "a+b"))
ITEMS = "<w:listEntry w:val='not'/><w:listEntry w:val='well'/>"
BOX = "<w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent>"


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<w:ins><w:r><w:t>5</w:t></w:r></w:ins>", "105 left"),
        ("<w:del><w:r><w:t>5</w:t></w:r></w:del>", "10 left"),
        (run("<w:rPr><w:vanish/></w:rPr><w:t>5</w:t>"), "10 left"),
        (run("<w:rPr><w:strike/></w:rPr><w:t>40</w:t>"), "10 left"),
        (run('<w:rPr><w:strike w:val="0"/></w:rPr><w:t>40</w:t>'), "1040 left"),
        (run('<w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>6</w:t>'), "10⁶ left"),
        (run('<w:sym w:font="Symbol" w:char="F0B0"/>'), "10° left"),
        (run('<w:sym w:font="Wingdings" w:char="F0FE"/>'), "10☑ left"),
        (run('<w:sym w:font="Odd" w:char="junk"/>'), "10 left"),
        ("<m:oMath><m:r><m:t>=x²</m:t></m:r></m:oMath>", "10=x² left"),
        (f"<m:oMath><m:f><m:num>{ONE}</m:num><m:den>{TWO}</m:den></m:f></m:oMath>", "10 1/2 left"),
        (
            f"<m:oMath><m:f><m:num>{SUM}</m:num><m:den>{SUM}</m:den></m:f></m:oMath>",
            "10 (a+b)/(a+b) left",
        ),
        (f"<m:oMath><m:d><m:e>{SUM}</m:e></m:d>{BASE}</m:oMath>", "10(a+b)x left"),
        (f"<m:oMath><m:rad><m:deg/><m:e>{SUM}</m:e></m:rad></m:oMath>", "10√(a+b) left"),
        (
            f"<m:oMath><m:sSup><m:e>{BASE}</m:e><m:sup>{SUM}</m:sup></m:sSup></m:oMath>",
            "10x^(a+b) left",
        ),
        (
            f"<m:oMath><m:sSup><m:e>{BASE}</m:e><m:sup>{TWO}</m:sup></m:sSup></m:oMath>",
            "10x^2 left",
        ),
        (field("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>"), "10☒ left"),
        (
            field("<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>"),
            "10☐ left",
        ),
        (field("<w:checkBox><w:default w:val='1'/></w:checkBox>"), "10☒ left"),
        (field(f"<w:ddList><w:result w:val='1'/>{ITEMS}</w:ddList>"), "10well left"),
        (field(f"<w:ddList><w:result w:val='9'/>{ITEMS}</w:ddList>"), "10 left"),
        (
            run(
                f"<mc:AlternateContent><mc:Choice Requires='wps'>{BOX}</mc:Choice>"
                f"<mc:Fallback>{BOX}</mc:Fallback></mc:AlternateContent>"
            ),
            "10 left\n\nIn a box.",
        ),
    ],
)
def test_a_paragraph_is_read_as_it_is_shown(inside: str, said: str) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("10")
    add(paragraph, inside)
    paragraph.add_run(" left")
    control = "<w:sdtContent><w:p><w:r><w:t>Held.</w:t></w:r></w:p></w:sdtContent>"
    document.element.body.insert(1, element(f"<w:sdt>{control}</w:sdt>"))
    assert text(document) == f"{said}\n\nHeld."


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [["Isle", "2020", "2021"], ["North", "12 crowns", "14 crowns"], ["South", "", "9"]],
            "Isle: North; 2020: 12 crowns; 2021: 14 crowns\nIsle: South; 2021: 9",
        ),
        (
            [["Keepers", "3", "3", "4"], ["Both", "six", None, "four"]],
            "Keepers | 3 | 3 | 4\nBoth | six | four",
        ),
    ],
)
def test_cells_have_their_columns_names_and_merged_ones_are_said_once(
    rows: list[list[str | None]], said: str
) -> None:
    document = docx.Document()
    table = document.add_table(len(rows), len(rows[0]))
    for row, texts in zip(table.rows, rows, strict=True):
        for n, own in enumerate(texts):
            if own is None:
                row.cells[n - 1].merge(row.cells[n]).text = texts[n - 1]
            else:
                row.cells[n].text = own
    assert text(document) == said


def cell(inside: str) -> str:
    return f"<w:tc>{inside if '<' in inside else f'<w:p>{said(inside)}</w:p>'}</w:tc>"


def said(words: str, style: str = "") -> str:
    return run(f"<w:rPr><w:rStyle w:val='{style}'/></w:rPr><w:t xml:space='preserve'>{words}</w:t>")


def control(inside: str) -> str:
    return f"<w:sdt><w:sdtPr/><w:sdtContent>{inside}</w:sdtContent></w:sdt>"


HEAD = f"<w:tr>{cell('Isle')}{cell('2020')}{cell('2021')}</w:tr>"
ROW = f"<w:tr>{cell('Noss')}{control(cell('3'))}{cell('4')}</w:tr>"
GAP = "<w:trPr><w:gridBefore w:val='1'/></w:trPr>"


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (
            HEAD + control(control(ROW) + control(ROW)),
            "Isle: Noss; 2020: 3; 2021: 4\nIsle: Noss; 2020: 3; 2021: 4",
        ),
        (
            f"{HEAD}{ROW}<w:tr>{GAP}{cell('5')}{cell('6')}</w:tr>",
            "Isle: Noss; 2020: 3; 2021: 4\n2020: 5; 2021: 6",
        ),
        (
            f"{control(ROW)}<w:tr>{cell(f'<w:tbl>{HEAD}{ROW}</w:tbl>')}</w:tr>",
            "Noss\n\n3\n\n4\n\nIsle: Noss; 2020: 3; 2021: 4",
        ),
    ],
)
def test_rows_and_cells_in_controls_stand_in_their_columns(rows: str, shown: str) -> None:
    document = docx.Document()
    document.element.body.insert(0, element(f"<w:tbl>{rows}</w:tbl>"))
    assert text(document) == shown


def test_contents_are_left_out_but_no_other_building_block() -> None:
    document = docx.Document()
    for name in ("Cover Pages", "Table of Contents"):
        block = f"<w:docPartObj><w:docPartGallery w:val='{name}'/></w:docPartObj>"
        inside = f"<w:sdtContent><w:p>{said(name)}</w:p></w:sdtContent>"
        document.element.body.insert(
            0, element(f"<w:sdt><w:sdtPr>{block}</w:sdtPr>{inside}</w:sdt>")
        )
    document.styles.add_style("toc 1", docx.enum.style.WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("1 Scope 3", style="toc 1")
    assert text(document) == "Cover Pages"


def test_text_is_left_out_if_its_style_hides_it_or_strikes_it_out() -> None:
    document = docx.Document()
    for name in ("Gone", "Old"):
        style = document.styles.add_style(name, docx.enum.style.WD_STYLE_TYPE.CHARACTER)
        style.font.hidden, style.font.strike = name == "Gone", name == "Old"
    paragraph = document.add_paragraph("It costs")
    for part in (said(" 4", "Gone"), said(" 5", "Old"), said(" 6", "None")):
        add(paragraph, part)
    assert text(document) == "It costs 6"


def test_a_paragraph_whose_end_was_deleted_goes_on() -> None:
    document = docx.Document()
    properties = document.add_paragraph("The fee is ")._p.get_or_add_pPr()
    properties.append(element("<w:rPr><w:del/></w:rPr>"))
    document.add_paragraph("ten crowns.")
    assert text(document) == "The fee is ten crowns."


def test_a_cell_that_claims_a_billion_columns_takes_no_memory() -> None:
    document = docx.Document()
    cell = document.add_table(rows=1, cols=2).rows[0].cells[0]
    cell.text = "wide"
    cell._tc.get_or_add_tcPr().append(element('<w:gridSpan w:val="1000000000"/>'))
    begun = time.process_time()
    assert text(document) == "wide"
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    ("kind", "tag", "said"),
    [
        ("footnotes", "footnote", "Footnote: Only in May."),
        ("endnotes", "endnote", "Endnote: Only in May."),
        ("comments", "comment", "Comment by Ann: Only in May."),
    ],
)
def test_notes_and_comments_follow_what_refers_to_them(kind: str, tag: str, said: str) -> None:
    document = docx.Document()
    add(document.add_paragraph("It rained."), f'<w:r><w:{tag}Reference w:id="7"/></w:r>')
    document.add_paragraph("It snowed.")
    author = ' w:author="Ann"' if tag == "comment" else ""
    note = f'<w:{tag} w:id="7"{author}><w:p><w:r><w:t>Only in May.</w:t></w:r></w:p></w:{tag}>'
    rest = f'<w:{tag} w:id="8"><w:p><w:r><w:t>Adrift.</w:t></w:r></w:p></w:{tag}>'
    content = f"<w:{kind} {nsdecls('w')}>{note}{rest}</w:{kind}>"
    data = with_member(packed(document), f"word/{kind}1.xml", content, kind)
    [passage] = passages(data, NAME)
    assert passage.text.startswith(f"It rained.\n\n{said}\n\nIt snowed.")
    assert passage.text.endswith("Adrift.")


def test_headers_and_footers_are_parts_of_their_own() -> None:
    document = docx.Document()
    document.add_paragraph("The body.")
    document.sections[0].header.paragraphs[0].text = "Draft of May"
    document.sections[0].footer.paragraphs[0].text = "12"
    found = [(p.text, p.location) for p in cut(document)]
    assert found == [("The body.", ""), ("Draft of May", "header of the pages")]


def test_what_is_left_out_is_told() -> None:
    document = docx.Document()
    add(document.add_paragraph("A picture:"), "<w:r><w:drawing><a:blip/></w:drawing></w:r>")
    assert read(packed(document), NAME).problems == (
        "left out, since they cannot be read as text: pictures (1)",
    )


def test_a_document_type_is_refused() -> None:
    document = docx.Document()
    document.add_paragraph("x")
    bomb = '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'
    data = with_member(packed(document), "word/footnotes.xml", bomb, "footnotes")
    assert "declares a document type" in refused(data, NAME)


def numbered(*levels: tuple[str, str], more: str = "", extra: str = "") -> Any:
    """A document whose list 91 has these levels: the format of the number, and the label's text."""
    document = docx.Document()
    made = "".join(
        f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{extra}'
        f'<w:pStyle w:val="Heading{n + 1}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for n, (form, text) in enumerate(levels)
    )
    root = document.part.numbering_part.element
    root.insert(0, element(f'<w:abstractNum w:abstractNumId="90">{made}</w:abstractNum>'))
    for key, inside in (("91", ""), ("92", more)):
        start = f'<w:num w:numId="{key}"><w:abstractNumId w:val="90"/>'
        root.append(element(f"{start}{inside}</w:num>"))
    return document


def put(document: Any, text: str, level: int, key: str = "91") -> None:
    number = f'<w:ilvl w:val="{level}"/><w:numId w:val="{key}"/>'
    properties = document.add_paragraph(text)._p.get_or_add_pPr()
    properties.append(element(f"<w:numPr>{number}</w:numPr>"))


def lines(document: Any) -> list[str]:
    return [line for line in text(document).split("\n") if line]


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
    document.paragraphs[-1].style = "List Paragraph"
    assert lines(document) == ["1. one", "2. two", "5. five", "6. six", "none"]


def test_headings_take_their_numbers_from_their_styles() -> None:
    document = numbered(("decimal", "%1"), ("decimal", "%1.%2"))
    for n in (1, 2):
        properties = document.styles[f"Heading {n}"].element.get_or_add_pPr()
        number = '<w:numId w:val="91"/>'
        properties.append(element(f"<w:numPr>{number}</w:numPr>"))
    for text, level in [("Terms", 1), ("Start", 2), ("End", 2)]:
        document.add_heading(text, level)
        document.add_paragraph(STORY)
    assert list(dict.fromkeys(passage.title for passage in cut(document))) == [
        "1 Terms",
        "1 Terms – 1.1 Start",
        "1 Terms – 1.2 End",
    ]


def test_numbers_stand_in_cells_and_bullets_are_dashes() -> None:
    document = numbered(("bullet", "•"))
    put(document, "oil", 0)
    document.add_paragraph("first", style="List Number")
    table = document.add_table(rows=2, cols=3)
    for n, text in enumerate(["Step", "Task", "Hours", "", "Trim", "2"]):
        table.cell(n // 3, n % 3).text = text
    table.cell(1, 0).paragraphs[0].style = "List Number"
    assert lines(document) == ["- oil", "1. first", "Step: 2.; Task: Trim; Hours: 2"]
