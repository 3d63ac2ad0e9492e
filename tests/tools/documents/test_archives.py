"""Formats that are zip archives of XML: OpenDocument, EPUB, and what is made to harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from citeproof.errors import DocumentError
from citeproof.tools.documents import archives
from citeproof.tools.documents.archives import Archive
from citeproof.tools.documents.passages import cut
from tests.tools.documents.reading import STORY, passages, read, refused, zipped


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = zipped({"a.xml": b" " * 30_000_000})
    assert "more than 200 times its size" in refused(dense, "a.docx")
    monkeypatch.setattr(archives, "_MOST_UNPACKED", 1_000)
    assert "more than a gigabyte" in refused(dense, "a.docx")
    monkeypatch.setattr(archives, "_MOST_ENTRIES", 2)
    assert "more than 2 files" in refused(zipped(dict.fromkeys("abc", "")), "a.docx")


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.odt", "a.epub"])
def test_old_office_and_other_files_are_told_apart(name: str) -> None:
    assert "Office 97" in refused(b"\xd0\xcf\x11\xe0 old", name)
    assert "not a valid zip archive" in refused(b"PK\3\4 no", name)


def test_a_missing_or_damaged_member_is_named() -> None:
    archive = Archive(zipped({"a.xml": "<a"}), Path("/a.docx"), "")
    with pytest.raises(DocumentError, match="b.xml in it is missing"):
        archive.read("b.xml")
    with pytest.raises(DocumentError, match="a.xml in it is damaged"):
        archive.xml("a.xml")


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    named = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{tmp_path}/secret">]><x>&a;</x>'
    archive = Archive(zipped({"a.xml": named}), Path("/a.epub"), "", has_doctypes=True)
    assert "".join(archive.xml("a.xml").itertext("x")) == ""


SPACES = "".join(
    f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "drawing", "style")
)
SPACES += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'


def opendocument(body: str, styles: str = "", **more: str) -> bytes:
    content = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    content += f"<office:body>{body}</office:body></office:document-content>"
    return zipped(
        {
            "META-INF/manifest.xml": "<manifest/>",
            "content.xml": f"<office:document-content{SPACES}>{content}",
            **more,
        }
    )


def cell(said: str) -> str:
    return f"<table:table-cell><text:p>{said}</text:p></table:table-cell>"


def row(*cells: str, extra: str = "") -> str:
    return f"<table:table-row>{''.join(map(cell, cells))}{extra}</table:table-row>"


def workbook(rows: str, **more: str) -> bytes:
    sheet = f'<table:table table:name="Sales">{rows}</table:table>'
    return opendocument(f"<office:spreadsheet>{sheet}</office:spreadsheet>", **more)


def test_raised_digits_and_struck_out_text_of_opendocument() -> None:
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties style:{own}/></style:style>'
        for name, own in (
            ("Up", 'text-position="super 58%"'),
            ("Old", 'text-line-through-style="solid"'),
        )
    )
    said = (
        '<office:text><text:p><text:span text:style-name="Old">4<text:span>0</text:span>'
        '</text:span>10<text:span text:style-name="Up">6</text:span>'
        '<text:span text:style-name="Old">40</text:span> left</text:p></office:text>'
    )
    assert [p.text for p in passages(opendocument(said, styles), "a.odt")] == ["10⁶ left"]


def test_opendocument_text_has_headings_lists_notes_and_tables() -> None:
    body = (
        '<office:text><text:h text:outline-level="1">Lamp</text:h>'
        "<text:p>It<text:s/>burns<text:note><text:note-body><text:p>Oil.</text:p></text:note-body>"
        "</text:note> well.</text:p><text:list><text:list-item><text:p>wick</text:p>"
        "</text:list-item></text:list><table:table><table:table-header-rows>"
        f"{row('Day', 'Oil')}</table:table-header-rows>{row('May', 'much')}"
        "</table:table></office:text>"
    )
    [passage] = passages(opendocument(body), "/a.odt")
    assert passage.title == "Lamp"
    assert passage.text == "It burns well.\n\nFootnote: Oil.\n- wick\n\nDay: May; Oil: much"


def test_a_table_of_opendocument_has_its_notes_below_it_and_each_cell_once() -> None:
    note = "<text:note><text:note-body><text:p>No tax.</text:p></text:note-body></text:note>"
    inner = f"<table:table>{row('EU', '10')}</table:table>"
    blank = '<table:table-cell table:number-columns-repeated="2"/>'
    rows = [
        row("Plan", "Fee", "Seats", "Note"),
        row(f"Free{note}", extra=f"{blank}{cell('ok')}"),
        row("Pro", "5", extra=f"<table:table-cell>{inner}</table:table-cell>{cell('new')}"),
    ]
    body = f"<office:text><table:table>{''.join(rows)}</table:table></office:text>"
    assert [p.text for p in passages(opendocument(body), "/a.odt")] == [
        "Plan: Free; Note: ok\nPlan: Pro; Fee: 5; Seats: EU 10; Note: new\n\nFootnote: No tax."
    ]


def test_numbered_lists_of_opendocument_are_counted() -> None:
    def items(*said: str) -> str:
        return "".join(f"<text:list-item><text:p>{one}</text:list-item>" for one in said)

    styles = "<text:list-style style:name='L'>" + "".join(
        f"<text:list-level-style-number text:level='{n}' style:num-format='{form}'"
        f" style:num-suffix='{end}'/>"
        for n, form, end in ((1, "1", "."), (2, "a", ")"))
    )
    inner = f"<text:list>{items('wick</text:p>', 'oil</text:p>')}</text:list>"
    body = (
        f"<text:list text:style-name='L'>{items(f'Fill</text:p>{inner}', 'Light</text:p>')}"
        "</text:list><text:p>Wait.</text:p>"
        f"<text:list text:style-name='L' text:continue-numbering='true'>{items('Close</text:p>')}"
        f"</text:list><text:list text:style-name='L'>{items('Anew</text:p>')}</text:list>"
    )
    made = opendocument(f"<office:text>{body}</office:text>", f"{styles}</text:list-style>")
    [passage] = passages(made, "/a.odt")
    lines = [line for line in passage.text.split("\n") if line]
    assert lines == ["1. Fill", "a) wick", "b) oil", "2. Light", "Wait.", "3. Close", "1. Anew"]


def test_blank_cells_at_the_end_of_a_row_do_not_count_towards_the_limit() -> None:
    rest = '<table:table-cell table:number-columns-repeated="16384"/>'
    rows = [row("Isle", "Sheep", extra=rest)] + [row("Noss", str(n), extra=rest) for n in range(99)]
    found = read(workbook("".join(rows)), "/a.ods")
    assert found.problems == ()
    assert "Isle: Noss; Sheep: 98" in found.parts[-1].text
    assert cut(found)[0].location.startswith("sheet Sales, rows 2-")


def test_a_document_with_macros_is_read() -> None:
    macro = '<!DOCTYPE script:module PUBLIC "-//OpenOffice.org//DTD 1.0//EN" "module.dtd"><a/>'
    members = {"Basic/Standard/one.xml": macro}
    [passage] = passages(workbook(row("Noss", "3"), **members), "/a.ods")
    assert passage.text == "Noss | 3"


def test_dates_of_a_sheet_are_as_those_of_excel() -> None:
    days = "".join(
        f'<table:table-cell office:value-type="date" office:date-value="{value}">'
        f"<text:p>02/03/24</text:p></table:table-cell>"
        for value in ("2024-03-02", "2024-03-02T08:30:00", "2024-03-02T00:00:00")
    )
    [passage] = passages(workbook(row("Noss", extra=days)), "/a.ods")
    assert passage.text == "Noss | 2024-03-02 | 2024-03-02 08:30 | 2024-03-02"


def test_merged_cells_and_comments_of_a_sheet_are_as_those_of_excel() -> None:
    def cell(said: str, note: str = "", entries: str = "") -> str:
        return f"<table:table-cell {entries}>{note}<text:p>{said}</text:p></table:table-cell>"

    tall = cell("Noss", entries='table:number-rows-spanned="2"')
    note = "<office:annotation><dc:creator>Eva</dc:creator><text:p>From afar.</text:p>"
    last = cell("2021") + cell("4", f"{note}</office:annotation>")
    rows = [
        row("Isle", "Year", "Sheep"),
        row(extra=tall + cell("2020") + cell("3")),
        row(extra=f"<table:covered-table-cell/>{last}"),
    ]
    sheet, comments = passages(workbook("".join(rows)), "/a.ods")
    assert sheet.text == "Isle: Noss; Year: 2020; Sheep: 3\nIsle: Noss; Year: 2021; Sheep: 4"
    assert (comments.text, comments.location) == (
        "Comment by Eva on C3 (Noss): From afar.",
        "sheet Sales",
    )


def test_another_kind_of_opendocument_is_refused() -> None:
    assert "not an OpenDocument text" in refused(opendocument("<office:spreadsheet/>"), "/a.odt")


def book(chapters: dict[str, str], spine: list[str]) -> bytes:
    items = "".join(f'<item id="{name}" href="{name}"/>' for name in chapters)
    order = "".join(f'<itemref idref="{name}"/>' for name in spine)
    container = '<container><rootfiles><rootfile full-path="in/a.opf"/></rootfiles></container>'
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata>'
        '<title xmlns="http://purl.org/dc/elements/1.1/">The Lamp</title></metadata>'
        f"<manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    members = {f"in/{name}": content for name, content in chapters.items() if content}
    return zipped({"META-INF/container.xml": container, "in/a.opf": package, **members})


def test_chapters_of_a_book_are_read_in_the_order_of_the_spine() -> None:
    chapters = {
        "b.xhtml": f"<html><body><h1>Oil</h1><p>{STORY}</p></body></html>",
        "a.xhtml": f"<body><h1>Wick</h1><p>{STORY}</p><h2>Length</h2><p>{STORY}</p></body>",
    }
    found = passages(book(chapters, ["a.xhtml", "b.xhtml"]), "/book.epub")
    assert list(dict.fromkeys((p.title, p.location) for p in found)) == [
        ("The Lamp – Wick", "chapter Wick"),
        ("The Lamp – Wick – Length", "chapter Wick"),
        ("The Lamp – Oil", "chapter Oil"),
    ]


def test_a_chapter_that_is_missing_breaks_off_or_has_problems_is_told() -> None:
    chapters = {
        "a.xhtml": "<html><body><p>It burns.</p></body></html>",
        "b.xhtml": f"<html><body><p>{STORY}",
        "c.xhtml": f"<html><body><p>{STORY}</p><!-- <p>{STORY}</p></body></html>",
        "d.xhtml": "",
        "e.xhtml": '<!DOCTYPE html><html xmlns="http://www.w3.org/19',
    }
    problems = read(book(chapters, list(chapters)), "/book.epub").problems
    assert problems[:2] == (
        "chapter 2 (in/b.xhtml) breaks off: it does not end as XHTML does",
        "chapter 3 (in/c.xhtml): a comment in it is not closed, so what follows it was left out",
    )
    assert problems[2].startswith("chapter 4 (in/d.xhtml) was left out")
    assert problems[3].startswith("chapter 5 (in/e.xhtml) was left out: it holds no text")


def test_a_book_without_text_is_refused() -> None:
    assert "no chapter holds any text" in refused(book({}, []), "/book.epub")
