"""Workbooks, made by openpyxl, and separated values."""

from __future__ import annotations

import datetime
import io
import weakref
from typing import Any

import openpyxl
import pytest
import xlsxwriter  # type: ignore[import-untyped]  # comes with python-pptx

from citeproof.tools.documents import sheets
from citeproof.tools.documents.workbook import Sheet
from citeproof.types import Passage
from tests.tools.documents.reading import packed, passages, read, refused, saved_strictly


def cut(book: Any) -> list[Passage]:
    return passages(packed(book), "sales.xlsx")


def book_of(*rows: list[Any]) -> Any:
    book = openpyxl.Workbook()
    book.active.title = "Sales"
    for row in rows:
        book.active.append(row)
    return book


def test_a_row_has_the_names_of_its_columns_and_says_where_it_stands() -> None:
    rows = [[f"Isle {n}", n, n * 2] for n in range(2, 60)]
    book = book_of(["Isle", "2020", "2021"], *rows)
    first, *rest = cut(book)
    assert first.text.startswith("Isle: Isle 2; 2020: 2; 2021: 4\nIsle: Isle 3; 2020: 3")
    assert first.location.startswith("sheet Sales, rows 2-")
    last = int(first.location.rpartition("-")[2])
    assert rest[0].location.startswith(f"sheet Sales, rows {last + 1}-")
    assert rest[-1].location.endswith("-59")
    assert (first.place, first.title) == (f"sales, {first.location}", "sales")
    assert passages(saved_strictly(packed(book)), "sales.xlsx") == [first, *rest]


@pytest.mark.parametrize(
    ("value", "form", "said"),
    [
        (0.125, "0.0%", "12.5%"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1234.5, '#,##0.00\\ "crowns"', "1,234.50 crowns"),
        (-3, "0;(0)", "(3)"),
        (5, "[$€-407]0.00", "€5.00"),
        (0.1 + 0.2, "General", "0.3"),
        (4103, "00000", "04103"),
        (123456789, "000-00-0000", "123-45-6789"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"),
        (10, '0 "kg"', "10 kg"),
        (1234.5, "#,##0.00 [$CHF]", "1,234.50 CHF"),
        (1234.5, "#\\ ##0.00", "1 234.50"),
        (12.5, "0.0\\%", "12.5%"),
        (1234567, "#,##0,", "1,235"),
        (1234567, '0.0,,"M"', "1.2M"),
        (2500, '[<1000]0" g";0.0," kg"', "2.5 kg"),
        (0, '_-* #,##0.00 "€"_-;-* #,##0.00 "€"_-;_-* "-"??" €"_-;_-@_-', "- €"),
        (0, '"yes";"yes";"no"', "no"),
        (2.5, "0", "3"),
        (1.005, "0.00", "1.01"),
        (0.285, "0%", "29%"),
        (-0.001, "0%", "0%"),
        (1234.5, "0.00E+00", "1234.5"),
        (0.25, "# ?/?", "0.25"),
        (1, "0" * 250 + "." + "0" * 250, "0" * 249 + "1." + "0" * 4),
        (datetime.time(14, 30), "hh:mm", "14:30"),
        (datetime.timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
        (datetime.datetime(2024, 5, 1), "dd.mm.yyyy", "2024-05-01"),
        (datetime.datetime(2024, 5, 1, 8, 30), "dd.mm.yyyy hh:mm", "2024-05-01 08:30"),
        (True, "General", "TRUE"),
    ],
)
def test_values_are_as_the_sheet_shows_them(value: Any, form: str, said: str) -> None:
    book = book_of(["Name", "Value"], ["x", value])
    book.active["B2"].number_format = form
    assert cut(book)[0].text in {f"Name: x; Value: {said}", f"Name | Value\nx | {said}"}


def test_each_sheet_has_its_name_in_the_title_unless_a_program_chose_it() -> None:
    book = book_of(["Isle", "Sheep"], ["Noss", 3])
    for name in ("Fair Isle", "Sheet3", "Sheet4"):
        book.copy_worksheet(book.active).title = name
    titles = [(p.title, p.location) for p in cut(book)]
    assert titles == [
        ("sales", "sheet Sales, row 2"),
        ("sales – Fair Isle", "sheet Fair Isle, row 2"),
        ("sales", "sheet Sheet3, row 2"),
        ("sales", "sheet Sheet4, row 2"),
    ]


def test_merged_cells_stand_in_all_rows_and_columns_that_they_cover() -> None:
    book = book_of(["Isle", "Sheep"], [None, 2020, 2021], ["Noss", 3, 4], [None, 5, 6])
    for merged in ("A1:A2", "B1:C1", "A3:A4"):
        book.active.merge_cells(merged)
    assert cut(book)[0].text == (
        "Isle: Noss; Sheep 2020: 3; Sheep 2021: 4\nIsle: Noss; Sheep 2020: 5; Sheep 2021: 6"
    )


def test_tables_below_each_other_have_their_own_names() -> None:
    rows: list[list[Any]] = [["Isle", "Sheep"], ["Noss", 3], [], [], ["Lamp", "Oil"], ["East", 7]]
    found = [(p.text, p.location) for p in cut(book_of(*rows))]
    assert found == [
        ("Isle: Noss; Sheep: 3", "sheet Sales, row 2"),
        ("Lamp: East; Oil: 7", "sheet Sales, row 6"),
    ]


BESIDE: list[Any] = [["Isle", "Sheep", None, "Lamp", "Oil"], ["Noss", 3, None, "East", 7]]


def test_tables_beside_each_other_are_read_one_after_the_other() -> None:
    longer = [*BESIDE, ["Fair", 5, None, "West", 8], [None, None, None, "South", 9]]
    assert [p.text for p in cut(book_of(*longer))] == [
        "Isle: Noss; Sheep: 3\nIsle: Fair; Sheep: 5",
        "Lamp: East; Oil: 7\nLamp: West; Oil: 8\nLamp: South; Oil: 9",
    ]
    titled: list[Any] = [["Flocks", None, None, "Lights"], *BESIDE]
    assert [(p.title, p.text) for p in cut(book_of(*titled))] == [
        ("sales – Flocks", "Isle: Noss; Sheep: 3"),
        ("sales – Lights", "Lamp: East; Oil: 7"),
    ]
    assert cut(book_of(*TITLED))[0].title == "sales – Sheep of the isles"


JANUARY, FEBRUARY = (datetime.date(2024, month, 1) for month in (1, 2))
TITLED: list[Any] = [["Sheep of the isles"], ["Isle", "Sheep"], ["Noss", 3]]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (BESIDE, "Isle: Noss; Sheep: 3; Lamp: East; Oil: 7"),
        (
            [["Isle", "May", None, "All", "Note"], ["Noss", 3, None, 4, "good"], [], []],
            "Isle: Noss; May: 3; All: 4; Note: good",
        ),
        (TITLED, "Isle: Noss; Sheep: 3"),
        # A cell of its own has the name of its column, unless it names the rows below it.
        (
            [["Isle", "Sheep", "Note"], ["North"], ["Noss", 3, "bare"], [None, None, "windy"]],
            "North\nIsle: Noss; Sheep: 3; Note: bare\nNote: windy",
        ),
        # Two columns of words, or the fields of a form, have no names.
        ([["Name", "Anna"], ["Born in", "Lerwick"]], "Name | Anna\nBorn in | Lerwick"),
        (
            [["Name", "Anna"], ["Wage", 50_000], ["Since", datetime.date(2024, 3, 1)]],
            "Name | Anna\nWage | 50000\nSince | 2024-03-01",
        ),
        ([["Name:", "Anna"], ["Age:", 30]], "Name: Anna\nAge: 30"),
        # Dates name columns unless dates are below.
        (
            [["Isle", JANUARY, FEBRUARY], ["Noss", 3, 4]],
            "Isle: Noss; 2024-01-01: 3; 2024-02-01: 4",
        ),
        (
            [["Fair", JANUARY, "held"], ["Market", FEBRUARY, "held"]],
            "Fair | 2024-01-01 | held\nMarket | 2024-02-01 | held",
        ),
        # Two header rows name the columns together.
        (
            [["Isle", "Sheep", None], [None, 2020, 2021], ["Noss", 3, 4], ["Fair", 5, 6]],
            "Isle: Noss; Sheep 2020: 3; Sheep 2021: 4\nIsle: Fair; Sheep 2020: 5; Sheep 2021: 6",
        ),
    ],
)
def test_which_rows_name_the_columns(rows: list[list[Any]], said: str) -> None:
    assert [p.text for p in cut(book_of(*rows))] == [said]


def test_struck_out_cells_are_left_out() -> None:
    book = book_of(["Isle", "Sheep", "Goats"], ["Noss", 3, 4])
    book.active["B2"].font = openpyxl.styles.Font(strike=True)
    assert cut(book)[0].text == "Isle: Noss; Goats: 4"


def test_comments_and_text_boxes_come_after_the_rows() -> None:
    book = xlsxwriter.Workbook(out := io.BytesIO())
    sheet = book.add_worksheet("Sales")
    for number, row in enumerate([["Isle", "Sheep"], ["Noss", 3]]):
        sheet.write_row(number, 0, row)
    sheet.write_comment("B2", "Counted from afar.", {"author": "Eva"})
    sheet.insert_textbox("D2", "All figures are provisional.")
    book.close()
    found = [(p.text, p.location) for p in passages(out.getvalue(), "sales.xlsx")]
    notes = "Comment by Eva on B2 (Noss): Counted from afar.\nAll figures are provisional."
    assert found == [("Isle: Noss; Sheep: 3", "sheet Sales, row 2"), (notes, "sheet Sales")]


def test_empty_sheets_and_uncomputed_formulas_are_told() -> None:
    book = book_of(["Isle", "Sheep"], ["Noss", 3], ["All", "=SUM(B2)"])
    book.create_sheet("Plans")
    assert read(packed(book), "a.xlsx").problems == (
        "formulas without a computed value (1); open it in Excel and save it",
        "no values in sheet Plans",
    )
    assert "its formulas were never computed" in refused(packed(book_of(["=1+1"])), "a.xlsx")
    assert "no cell holds a value" in refused(packed(openpyxl.Workbook()), "a.xlsx")


def test_a_sheet_that_was_read_does_not_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: weakref.WeakSet[Watched] = weakref.WeakSet()
    most = 0

    class Watched(Sheet):
        __hash__ = object.__hash__

        def __init__(self, name: str, location: str) -> None:
            nonlocal most
            super().__init__(name, location)
            alive.add(self)
            most = max(most, len(alive))

    monkeypatch.setattr(sheets, "Sheet", Watched)
    book = book_of(["Isle", "Sheep"], ["Noss", 3])
    for _ in range(4):
        book.copy_worksheet(book.active)
    assert len(cut(book)) == 5
    assert most == 2, "the next sheet is made before the last one is forgotten"


@pytest.mark.parametrize(
    ("limit", "most", "told"),
    [
        ("_MOST_COLUMNS", 2, "only the first 2 columns were read of sheet Sales"),
        ("_MOST_CELLS", 5, "sheet Sales was cut off: at most 5 cells are read"),
    ],
)
def test_what_is_left_out_of_a_huge_sheet_is_told(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, told: str
) -> None:
    monkeypatch.setattr(sheets, limit, most)
    book = book_of(["Isle", "Sheep", "Goats"], ["Noss", 3, 4], ["Fair", 5, 6])
    assert read(packed(book), "a.xlsx").problems == (told,)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_separated_values(mark: str) -> None:
    lines = ["Isle,Sheep", '"No,ss",3', "Fair,4"]
    text = "\n".join(line.replace(",", mark) for line in lines)
    [passage] = passages(text, "a.csv")
    assert passage.text == f"Isle: No{mark}ss; Sheep: 3\nIsle: Fair; Sheep: 4".replace("\t", " ")
    assert passage.location == "rows 2-3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('Name;Sum\n"Müller; Jan";1.234,56\n"Line\ntwo";0,15', "Name: Müller; Jan; Sum: 1.234,56"),
        ("A;1,5\nB;2,5\nC;3,5", "A | 1,5"),
        ("sep=;\nName;Sum\nA;1", "Name: A; Sum: 1"),
        ("Sales of May\n\nItem,Price,Stock\nBolt,0.15,20", "Item: Bolt; Price: 0.15; Stock: 20"),
        (
            'Name, Age, "City, State"\nAnna, 30, "Rome, NY"',
            "Name: Anna; Age: 30; City, State: Rome, NY",
        ),
        ("Item,Tags\nBolt,a;b\nNut,c;d\nPin,e", "Item: Bolt; Tags: a;b"),
    ],
)
def test_the_separator_is_found_among_others(text: str, said: str) -> None:
    lines = [line for passage in passages(text, "a.csv") for line in passage.text.split("\n")]
    assert said in lines


def test_a_row_with_line_breaks_is_a_row_like_others() -> None:
    text = 'Isle,Note,Town\nNoss,"bare\nrock",Bay\nFair,"a\nb",Stone\nUnst,green,Baltasound\n'
    [passage] = passages(text, "a.csv")
    assert passage.text.startswith("Isle: Noss; Note: bare rock; Town: Bay\nIsle: Fair; Note: a b")
    assert passage.location == "rows 2-4"


def test_separated_values_in_another_encoding_are_told() -> None:
    text = "Name;Ort\nJürg;Zürich\nRené;Genève\nBjörn;Malmö\n" * 20
    document = read(text.encode("cp1252"), "a.csv")
    assert "Zürich" in document.parts[0].text
    assert "it is not UTF-8 and was read as" in document.problems[0]


@pytest.mark.parametrize(
    ("name", "text", "said", "row"),
    [
        ("a.csv", 'Isle,Size,Note\nNoss,"3,ok\nFair,4,ok\nUnst,5,ok', 'Noss; Size: "3; Note', "2"),
        (
            "a.csv",
            'Isle,Size,Note\nA,1,x\nB,"2,x\nC,3,x\nD,4,x\nE,5,x\nF,6,"y, z"\n',
            "F; Size: 6; Note: y, z",
            "3",
        ),
        ("a.tsv", 'Isle\tSize\tNote\nA\t2"\tx\nB\t"3\tx\nC\t4"\tx', 'C; Size: 4"; Note', "3"),
    ],
)
def test_an_unclosed_quotation_mark_does_not_hide_rows(
    name: str, text: str, said: str, row: str
) -> None:
    document = read(text, name)
    assert f"Isle: {said}" in document.parts[0].text
    assert len(document.parts[0].rows) == text.strip().count("\n")
    assert document.problems == (f"a quotation mark is not closed in row {row}",)


def test_a_quotation_of_several_lines_may_contain_separators() -> None:
    text = 'Who,Said\nAnna,"Hello, dear\nThe lamp, it burns"\nEva,"No'
    [passage] = passages(text, "a.csv")
    assert passage.text == "Who: Anna; Said: Hello, dear The lamp, it burns\nWho: Eva; Said: No"


def test_a_quotation_without_end_is_told() -> None:
    assert "quotation mark that is not closed" in refused('a,b\n"' + "x" * (2 << 20), "a.csv")
