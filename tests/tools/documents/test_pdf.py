"""What is read of a PDF, and where it says that it stands."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from citeproof.errors import DocumentError
from citeproof.pdfium import Area, spell_out
from citeproof.tools.documents.base import Document, Part
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.pdf import read_pdf
from citeproof.tools.documents.pdf_flow import flow
from citeproof.tools.documents.pdf_lines import Line
from tests.pdfs import BOLD, CODE, LOCKED, RESTRICTED, WIDE, Sheet, image, lines, make, pdf

LEFT = [f"The left column says in line {n} that" for n in range(8)]
RIGHT = [f"The right column says in line {n} that" for n in range(8)]


def document(data: bytes) -> Document:
    return read_pdf(data, Path("report.pdf"))


def texts(data: bytes) -> list[str]:
    return [part.text[part.start : part.end] for part in document(data).parts]


def boxed(part: Part, words: str) -> list[tuple[float, float, float, float]]:
    """The sides of the boxes that hold some words."""
    place = part.text.index(words, part.start)
    return [
        (box.left, box.top, box.right, box.bottom)
        for box in part.boxes
        if box.start < place + len(words) and box.end > place
    ]


def test_pages_are_parts() -> None:
    read = document(pdf("It rained in May.", "", "It snowed in June."))
    assert [(p.text[p.start : p.end], p.page, p.title) for p in read.parts] == [
        ("It rained in May.", 1, "report"),
        ("It snowed in June.", 3, "report"),
    ]
    assert read.problems == ("no text on page 2: blank, or a scan that needs text recognition",)
    assert [[p.text[box.start : box.end] for box in p.boxes] for p in cut(read)] == [
        ["It rained in May."],
        ["It snowed in June."],
    ]


def test_each_line_has_its_box_and_each_sentence_its_part_of_it() -> None:
    [part] = document(make([Sheet(lines("It rained. It", "snowed in June."))])).parts
    assert part.text == "It rained. It snowed in June."
    [(left, top, right, bottom)] = boxed(part, "It rained.")
    # 72 points from the left of 612, and 720 from the bottom of 792.
    assert left == pytest.approx(72 / 612, abs=0.005)
    assert (top, bottom) == pytest.approx((63 / 792, 72 / 792), abs=0.005)
    (begun, first, end, _), (again, second, _, _) = boxed(part, "It snowed")
    assert right < begun < end
    assert again == pytest.approx(left, abs=0.005)
    assert second - first == pytest.approx(16 / 792, abs=0.005)


@pytest.mark.parametrize("by_row", [True, False])
def test_columns_are_read_one_after_the_other(by_row: bool) -> None:
    head = lines("A heading that runs over the whole of the page, from left to right", y=740)
    left = [lines(text, y=700 - 16 * n) for n, text in enumerate(LEFT)]
    right = [lines(text, x=330, y=700 - 16 * n) for n, text in enumerate(RIGHT)]
    rows = [own for pair in zip(left, right, strict=True) for own in pair]
    [text] = texts(make([Sheet(head + "".join(rows if by_row else left + right))]))
    assert text.index("left column says in line 7") < text.index("right column says in line 0")
    assert " ".join(text.split()).endswith(" ".join(LEFT + RIGHT))


def table(*rows: tuple[str, ...], head: str = BOLD, edges: Sequence[int] = (72, 222, 372)) -> str:
    """A content stream with a table below column names; `edges` are the left ones of columns."""
    return "".join(
        lines(text, x=edge, y=700 - 16 * place, font="F1" if place else head)
        for place, row in enumerate(rows)
        for edge, text in zip(edges, row, strict=False)
        if text
    )


TEXT = ["The isle of Vessay lies three miles off the coast, and", "has forty people and a church."]
FIRST_COLUMN = ["The lamp of the isle has burnt", "since the year in which the keeper"]
SECOND_COLUMN = ["came to the isle with his two", "daughters and a boat."]
RAISED = (
    "BT 1 0 0 1 72 720 Tm /F1 12 Tf (It holds 10) Tj 5 Ts /F1 8 Tf (-6) Tj "
    "0 Ts /F1 12 Tf ( lamps per m) Tj 5 Ts /F1 8 Tf (2) Tj 0 Ts /F1 12 Tf (, and H) Tj "
    "-5 Ts /F1 8 Tf (2) Tj 0 Ts /F1 12 Tf (O.) Tj ET\n"
)
KEEPERS = ("cook", "old keeper", "boy", "tall priest", "guest", "smith", "queen")
CELLS = [
    (f"A key for the room of the {who}", f"The {who} has it in the upper hall") for who in KEEPERS
]
SHORN = [("Vessay", "40", "12"), ("Holm", "90", "31"), ("Ailsay", "17", "20")]
"""Isles, their sheep and their wool."""
EVEN = (80, 150, 220, 290, 360, 430, 500)
"""Left edges of columns that are equally far from each other."""


def grouped(names: Sequence[str], *above: tuple[str, int]) -> str:
    """A content stream with a table of the isles below two rows of names; some with their edges."""
    top = "".join(lines(name, x=x, y=716) for name, x in above)
    rows = [(isle, *(str(100 * n + len(isle)) for n in range(1, len(names)))) for isle, *_ in SHORN]
    return top + table(tuple(names), *rows, head="F1", edges=EVEN)


def named(*names: str) -> str:
    """The text of the rows that `grouped` writes, with the names of their columns of numbers."""
    return "\n".join(
        "; ".join(
            [f"Isle: {isle}", *(f"{n}: {100 * k + len(isle)}" for k, n in enumerate(names, 1))]
        )
        for isle, *_ in SHORN
    )


STATES = ["Docked: it is in the window.", "Free: it is on its own.", "Closed: it is gone."]
TERMS = [
    "log-file name",
    "Write what happens to a file with this name, and show nothing.",
    "This is the default of the lamps on the northern isles.",
    "Default: none.",
    "midi-extension name",
    "Set the ending of the files that are written, without a dot.",
]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(
            lines("The keeper of the old light-", "house wrote in his book that", "it rained."),
            "The keeper of the old lighthouse wrote in his book that it rained.",
            id="hyphens of the layout",
        ),
        pytest.param(
            lines("A well-known lamp, and a well-", "known light-", "house. Set --with-", "oil."),
            "A well-known lamp, and a well-known lighthouse. Set --with-oil.",
            id="hyphens of words",
        ),
        pytest.param(
            lines("The tides of the year are on the pages 3-", "4 of the old book of the isle."),
            "The tides of the year are on the pages 3-4 of the old book of the isle.",
            id="ranges",
        ),
        pytest.param(
            lines("All lamps are on https://isle.example/", "lamps/of_", "old.html now."),
            "All lamps are on https://isle.example/lamps/of_old.html now.",
            id="addresses",
        ),
        pytest.param(lines(r"The \256rst lamp."), "The first lamp.", id="ligatures"),
        pytest.param(
            lines("2 Prospects of the isle in the coming years", y=740)
            + lines(
                "Forty sheep graze on the hill above the bay",
                "South of it, oats grow in all the fields",
                y=712,
            )
            + lines("No boat came to the isle in the month of May", "Ten came in June", y=668),
            "2 Prospects of the isle in the coming years\n"
            "Forty sheep graze on the hill above the bay South of it, oats grow in all the fields\n"
            "No boat came to the isle in the month of May Ten came in June",
            id="space around headings and paragraphs",
        ),
        pytest.param(
            lines(*FIRST_COLUMN, y=200)
            + lines("1 It was out in 1931.", y=140, size=9)
            + lines(*SECOND_COLUMN, x=330, y=700),
            f"{' '.join(FIRST_COLUMN + SECOND_COLUMN)}\n1 It was out in 1931.",
            id="footnote of a column",
        ),
        pytest.param(
            lines("To see which of the lamps of the isle are lit, enter these two", "commands:")
            + lines("lamps --list --all --since yesterday --until today", y=680, font=CODE)
            + lines("lamps --light", y=664, font=CODE)
            + lines("and wait until the keeper has seen the light of all the lamps.", y=640),
            "To see which of the lamps of the isle are lit, enter these two commands:\n"
            "lamps --list --all --since yesterday --until today\nlamps --light\n"
            "and wait until the keeper has seen the light of all the lamps.",
            id="code",
        ),
        pytest.param(RAISED, "It holds 10⁻⁶ lamps per m², and H2O.", id="raised digits"),
        pytest.param(
            "".join(
                lines(cell, x=x, y=720 - 16 * n)
                for n, row in enumerate(CELLS)
                for x, cell in zip((72, 330), row, strict=True)
            ),
            "\n".join(map(" ".join, CELLS)),
            id="two columns of cells",
        ),
        pytest.param(lines(*TERMS), "\n".join(TERMS), id="terms"),
        pytest.param(
            lines("A lamp can be in three states:")
            + "".join(
                lines("-", x=90, y=699 - 16 * n, size=8) + lines(state, x=120, y=700 - 16 * n)
                for n, state in enumerate(STATES)
            ),
            "\n- ".join(["A lamp can be in three states:", *STATES]),
            id="small bullets",
        ),
        pytest.param(
            table(*((f"Sheep {n}", f"{n} crowns") for n in range(9)), head="F1"),
            "\n".join(f"Sheep {n} {n} crowns" for n in range(9)),
            id="rows without names",
        ),
        pytest.param(
            table(("Ann", "Bo", "Carl"), ("Dan", "Eve", "Fay"), ("Gil", "Hal", "Ida"), head="F1"),
            "Ann Bo Carl\nDan Eve Fay\nGil Hal Ida",
            id="columns without names",
        ),
        pytest.param(
            table(
                ("Option", "Meaning", "Default"),
                ("light", "Lights the lamp", "no"),
                ("", "when it is dark."),
                ("horn", "Blows the horn.", "yes"),
            ),
            "Option: light; Meaning: Lights the lamp when it is dark.; Default: no\n"
            "Option: horn; Meaning: Blows the horn.; Default: yes",
            id="cell of several lines",
        ),
        pytest.param(
            table(("", "Sheep", "Wool"), *SHORN, head="F1"),
            "Vessay; Sheep: 40; Wool: 12\nHolm; Sheep: 90; Wool: 31\nAilsay; Sheep: 17; Wool: 20",
            id="blank corner",
        ),
        pytest.param(
            lines("Sheep", x=272, y=716)
            + lines("Wool", x=484, y=716)
            + table(
                ("", "2023", "2024", "2023", "2024"),
                *((isle, sheep, "50", wool, "15") for isle, sheep, wool in SHORN),
                head="F1",
                edges=(72, 240, 310, 450, 520),
            ),
            "\n".join(
                f"{isle}; Sheep 2023: {sheep}; Sheep 2024: 50; Wool 2023: {wool}; Wool 2024: 15"
                for isle, sheep, wool in SHORN
            ),
            id="two rows of names",
        ),
        # "Costs" stands above the middle of two columns, but of four as well.
        pytest.param(
            grouped(
                ("Isle", "Wool", "Milk", "Staff", "Rent", "Feed", "Total"),
                ("Sales", 182),
                ("Costs", 392),
            ),
            "Sales Costs\n" + named("Wool", "Milk", "Staff", "Rent", "Feed", "Total"),
            id="names of groups between other columns",
        ),
        pytest.param(
            grouped(("Isle", "Wool", "Milk", "Staff", "Rent"), ("Sales", 182), ("Costs", 325)),
            named("Sales Wool", "Sales Milk", "Costs Staff", "Costs Rent"),
            id="names of two columns each",
        ),
        pytest.param(
            grouped(("Isle", *("2022", "2023", "2024") * 2), ("Sales", 215), ("Costs", 425)),
            named(
                *(f"{what} {year}" for what in ("Sales", "Costs") for year in (2022, 2023, 2024))
            ),
            id="names of three columns each",
        ),
        pytest.param(
            "".join(
                f"BT /F1 12 Tf 1 0 0 1 72 {700 - 16 * n} Tm [({') -9000 ('.join(row)})] TJ ET\n"
                for n, row in enumerate([("Isle", "Sheep", "Wool"), *SHORN])
            ),
            "\n".join(f"Isle: {isle}; Sheep: {sheep}; Wool: {wool}" for isle, sheep, wool in SHORN),
            id="rows in one piece",
        ),
        pytest.param(
            lines("ABCDGEF", "GABGEF", font=WIDE),
            "島の灯台\u3000羊毛\n島の\u3000羊毛",
            id="wide spaces",
        ),
    ],
)
def test_the_text_of_a_page(content: str, said: str) -> None:
    assert texts(make([Sheet(content)])) == [said]


def test_the_rows_of_a_table_have_the_names_of_their_columns() -> None:
    rows = table(
        ("Isle", "Sheep", "Wool in 2024"),
        ("Vessay", "40", "12 sacks"),
        ("Great Holm", "1,200", "310 sacks"),
        ("Ailsay", "", "none"),
    )
    content = lines("It is shorn in June.", y=730) + rows + lines("All is sold.", y=600)
    [part] = document(make([Sheet(content)])).parts
    assert part.text.splitlines() == [
        "It is shorn in June.",
        "Isle: Vessay; Sheep: 40; Wool in 2024: 12 sacks",
        "Isle: Great Holm; Sheep: 1,200; Wool in 2024: 310 sacks",
        "Isle: Ailsay; Wool in 2024: none",
        "All is sold.",
    ]
    assert [part.text[start:end] for start, end in part.kept] == part.text.splitlines()[1:4]
    [sacks] = boxed(part, "310 sacks")
    assert sacks[0] == pytest.approx(372 / 612, abs=0.005)


def test_the_words_of_code_are_not_measured() -> None:
    from pypdfium2 import PdfTextPage

    code = ["see us now we are on our own", "no one sees us or our sea now"]
    real = PdfTextPage.count_rects
    with patch.object(PdfTextPage, "count_rects", autospec=True, side_effect=real) as measured:
        assert texts(make([Sheet(lines(*code, font=CODE))])) == ["\n".join(code)]
    assert measured.call_count == len(code)


def test_a_table_that_goes_on_keeps_the_names_of_its_columns() -> None:
    isles = [(f"Isle {n}", f"{n} sheep", f"{n} sacks") for n in range(1, 6)]
    pages = [
        table(("Name", "Sheep", "Wool"), *isles),
        table(*isles, head="F1"),
        lines("All is sold.") + table(*isles, head="F1"),
    ]
    rows = [f"Name: {name}; Sheep: {sheep}; Wool: {wool}" for name, sheep, wool in isles]
    first, second, third = texts(make([Sheet(page) for page in pages]))
    assert (first.splitlines(), second.splitlines()) == (rows, rows)
    assert third.splitlines() == ["All is sold.", *map(" ".join, isles)]


def test_headers_and_page_numbers_that_repeat_are_left_out() -> None:
    sheets = [
        Sheet(
            lines("The Vessay Almanac", y=760)
            + lines(f"In chapter {n} the keepers lit the lamp {n} times.", y=600)
            + lines(f"Page {n} of 4", y=30)
        )
        for n in range(1, 5)
    ]
    assert texts(make(sheets)) == [
        f"In chapter {n} the keepers lit the lamp {n} times." for n in range(1, 5)
    ]
    # Of two pages nothing is known to repeat, and no page loses all that it says.
    assert texts(make(sheets[:2]))[0].startswith("The Vessay Almanac")
    assert texts(pdf("Thank you.", "Thank you.", "Thank you.")) == ["Thank you."] * 3


def test_numbers_in_tables_at_the_edges_of_pages_stay() -> None:
    rows = [("Alder", "12", "7.50"), ("Birch", "40", "7.50"), ("Cedar", "31", "7.50")]
    sheets = [
        Sheet(
            "".join(lines(cell, x=72 + 150 * n, y=760) for n, cell in enumerate(row))
            + lines("2024-05-01", y=45)
            + lines(f"3-{page} / 9", y=30)
        )
        for page, row in enumerate(rows, start=4)
    ]
    assert texts(make(sheets)) == [" ".join(row) for row in rows]


@pytest.mark.parametrize(
    ("entries", "middle"),
    [
        ("/Rotate 90", (1 - 0.085, 0.16)),
        ("/Rotate 180", (1 - 0.16, 1 - 0.085)),
        ("/Rotate 270", (0.085, 1 - 0.16)),
        ("/CropBox [36 396 342 792]", (0.16 * 2 - 36 / 306, 0.085 * 2)),
    ],
)
def test_boxes_are_shares_of_the_page_as_it_is_displayed(
    entries: str, middle: tuple[float, float]
) -> None:
    [part] = document(make([Sheet(lines("It rained."), entries)])).parts
    assert part.text == "It rained."
    [(left, top, right, bottom)] = boxed(part, "It rained.")
    assert ((left + right) / 2, (top + bottom) / 2) == pytest.approx(middle, abs=0.02)


def test_fields_are_read_where_they_stand() -> None:
    content = lines("Name of the keeper:") + lines("Signed on the fourth of May.", y=600)
    fields = [
        "/FT /Tx /T (keeper) /V (Anna Holm) /Rect [200 715 400 735]",
        "/FT /Btn /T (paid) /TU (The rent is paid) /AS /On /V /On /Rect [72 680 84 692] "
        "/AP << /N << /On << >> >> >>",
        "/FT /Btn /T (free) /AS /Off /Rect [72 650 84 662]",
    ]
    [part] = document(make([Sheet(content)], fields=fields)).parts
    assert part.text == (
        "Name of the keeper: Anna Holm\n[x] The rent is paid\nSigned on the fourth of May."
    )
    [(left, top, right, bottom)] = boxed(part, "Anna")
    assert (left, right) == pytest.approx((200 / 612, 400 / 612), abs=0.001)
    assert (top, bottom) == pytest.approx((57 / 792, 77 / 792), abs=0.001)


def test_notes_are_read_where_they_stand() -> None:
    notes = (
        "/Annots [<< /Type /Annot /Subtype /Text /Rect [400 590 420 610] "
        "/Contents (Who said so?) >>"
        "<< /Type /Annot /Subtype /FreeText /Rect [72 500 300 520] /DA (/F1 12 Tf) "
        "/Contents (Written at sea.) >>"
        "<< /Type /Annot /Subtype /Link /Rect [72 600 90 610] /Contents (a link) >>]"
    )
    content = lines("It rained all day in May.") + lines("It snowed all day in June.", y=600)
    [part] = document(make([Sheet(content, notes)])).parts
    assert part.text == (
        "It rained all day in May.\nIt snowed all day in June. Note: Who said so?\nWritten at sea."
    )
    assert boxed(part, "Who")


def test_bookmarks_are_headings_where_they_lead() -> None:
    pages = [lines(f"Page {n} tells of the sheep.", y=600) for n in range(4)]
    pages[2] += lines("3.1", y=420) + lines("Goats of", "the isle", x=140, y=420)
    pages[2] += lines("They eat all.", y=380)
    data = make(
        [Sheet(page) for page in pages],
        title="The Vessay Almanac",
        bookmarks=[("Sheep", 1, 780.0), ("Goats of the isle", 2, 440.0), ("Hens", 3, 400.0)],
    )
    read = document(data)
    assert read.title == "The Vessay Almanac"
    assert [(part.page, part.headings, part.text[part.body : part.end]) for part in read.parts] == [
        (1, (), "Page 0 tells of the sheep."),
        (2, ("Sheep",), "Page 1 tells of the sheep."),
        (3, ("Sheep",), "Page 2 tells of the sheep."),
        (3, ("Goats of the isle",), "They eat all."),
        (4, ("Goats of the isle",), "Page 3 tells of the sheep."),
    ]
    assert boxed(read.parts[3], "They eat")
    assert not boxed(read.parts[2], "They eat")


def test_large_and_bold_lines_are_headings() -> None:
    content = (
        lines("The Vessay", "Almanac", y=740, leading=24, size=20)
        + lines("1 The people", y=670, size=15)
        + lines(*TEXT, y=640)
        + lines("Their work", y=590, font=BOLD)
        + lines(*TEXT, y=570)
        + lines("Their work", y=520, font=BOLD)
        + lines("All of them fish.", y=520, x=300)
        + lines("2 The sheep", y=480, size=15)
        + lines(*TEXT, y=450)
    )
    read = document(make([Sheet(content)]))
    assert read.title == "The Vessay Almanac"
    assert [(part.headings, part.text[part.body : part.end]) for part in read.parts] == [
        (("1 The people",), " ".join(TEXT)),
        # A bold line may be a statement, so it stays; one in a row of a table is no heading.
        (
            ("1 The people", "Their work"),
            f"Their work\n{' '.join(TEXT)}\nTheir work All of them fish.",
        ),
        (("2 The sheep",), " ".join(TEXT)),
    ]


def test_a_form_whose_lines_are_bold_has_no_headings() -> None:
    content = "".join(
        lines(f"Question {n}", y=720 - 60 * n, font=BOLD) + lines("Answer:", y=690 - 60 * n)
        for n in range(6)
    )
    assert [part.headings for part in document(make([Sheet(content)])).parts] == [()]


def test_a_sentence_that_runs_over_stays_on_its_first_page() -> None:
    read = document(
        pdf("It rained. It was the keeper", "who lit the lamp. It snowed.", "It shone.")
    )
    assert [(part.page, part.text[part.start : part.end].strip()) for part in read.parts] == [
        (1, "It rained. It was the keeper who lit the lamp."),
        (2, "It snowed."),
        (3, "It shone."),
    ]
    assert boxed(read.parts[0], "keeper")
    assert not boxed(read.parts[0], "who lit")


def test_tables_of_contents_and_low_page_numbers_are_left_out() -> None:
    entries = [f"{n} On the keeper {' .' * 20} {4 * n}" for n in range(1, 7)]
    pages = [
        Sheet(lines("Contents", *entries)),
        *(
            Sheet(lines(f"The keeper number {n}.", y=600) + lines(str(n), y=120))
            for n in range(1, 4)
        ),
        Sheet(lines(*(f"Lamp {n} {' .' * 20} {9 - n} crowns" for n in range(6)))),
    ]
    read = texts(make(pages))
    assert read[:3] == [f"The keeper number {n}." for n in range(1, 4)]
    assert "5 crowns" in read[3]


def test_a_hyphen_before_a_letter_of_no_word_stays() -> None:
    area = Area(0.1, 0.1, 0.5, 0.2)
    below = Area(0.1, 0.21, 0.5, 0.31)
    said = flow([Line("The light-", (), area), Line("ⓐ lamp.", (), below)], 0, {}, {}).text
    assert said == "The light- ⓐ lamp."


def test_codes_of_fonts_are_spelled_out() -> None:
    assert spell_out("The de\x1cnitive coe\x1ecients 1\x1510") == "The definitive coefficients 1–10"
    assert spell_out("\uf0b7 a lamp") == "• a lamp"


@pytest.mark.parametrize("title", ["Microsoft Word - draft3.docx", "(anonymous)"])
def test_a_junk_title_gives_way_to_the_name_of_the_file(title: str) -> None:
    data = make([Sheet(lines("It rained."))], title=title.replace("(", r"\(").replace(")", r"\)"))
    assert document(data).title == "report"


def test_a_large_image_without_text_is_told() -> None:
    words = "a large image on page 1: what it shows was not read"
    assert document(make([Sheet(lines("It rained.") + image())])).problems == (words,)
    # A scan that was recognised has its text over the image.
    assert document(make([Sheet(image() + lines("It rained.", y=400))])).problems == ()
    small = Sheet(lines("It rained.") + image(width=90, height=90))
    assert document(make([small])).problems == ()


def test_many_pages_without_text_are_counted() -> None:
    why = ": blank, or a scan that needs text recognition"
    [problem] = document(pdf("It rained.", *[""] * 10)).problems
    assert problem == f"no text on page 2, 3, 4, 5, 6, 7, 8, 9 and 2 more{why}"


def test_a_document_without_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DocumentError, match="no page holds any text. If it is a scan, install"):
        document(make([Sheet(image())]))


def test_errors_of_pages_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import pypdfium2

    real = pypdfium2.PdfDocument.__getitem__

    def get(self: pypdfium2.PdfDocument, number: int) -> pypdfium2.PdfPage:
        if number == 1:
            raise pypdfium2.PdfiumError("odd page")
        return real(self, number)

    monkeypatch.setattr(pypdfium2.PdfDocument, "__getitem__", get)
    broken = "page 2 cannot be read and was left out: odd page"
    assert document(pdf("It rained.", "It snowed.")).problems == (broken,)
    with pytest.raises(DocumentError, match=f"no page holds any text; {broken}"):
        document(pdf("", "It snowed."))


def test_encryption() -> None:
    with pytest.raises(DocumentError, match="it is encrypted. Save it without a password."):
        document(LOCKED.read_bytes())
    # An empty password only restricts what a viewer may do.
    assert texts(RESTRICTED.read_bytes()) == ["Not secret."]


def test_threads_read_one_after_the_other() -> None:
    data = make([Sheet(lines(*LEFT)) for _ in range(6)])
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(texts(data))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [texts(data)] * 6


HEAD = "level page_num block_num par_num line_num word_num left top width height conf text"
ROWS = (
    (1, 1, 0, 0, 0, 0, 0, 0, 1000, 2000, -1, ""),
    (4, 1, 1, 1, 1, 0, 100, 200, 500, 40, -1, ""),
    (5, 1, 1, 1, 1, 1, 100, 200, 100, 40, 96, "It"),
    (5, 1, 1, 1, 1, 2, 250, 200, 150, 40, 96, "rained."),
    (5, 1, 1, 1, 1, 3, 450, 200, 150, 40, 91, "Then"),
    (5, 1, 1, 1, 2, 1, 100, 260, 200, 40, 93, "snow."),
)
TABLE = "".join("\t".join(map(str, row)) + "\n" for row in (HEAD.split(), *ROWS))


def tesseract(folder: Path, script: str) -> None:
    """A program of this name that does what a test needs."""
    program = folder / "tesseract"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)


def test_a_scan_is_recognised_where_tesseract_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table").write_text(TABLE, encoding="utf-8")
    tesseract(
        tmp_path,
        f'echo "$@" >> {tmp_path}/asked; head -c 4 > {tmp_path}/given; cat {tmp_path}/table',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    read = document(make([Sheet(image()), Sheet(lines("It has text.")), Sheet("")]))
    scan, _ = read.parts
    assert scan.text[scan.start : scan.end] == "It rained. Then snow."
    assert boxed(scan, "It rained.") == [(0.1, 0.1, 0.4, 0.12)]
    assert boxed(scan, "Then snow.") == [(0.45, 0.1, 0.6, 0.12), (0.1, 0.13, 0.3, 0.15)]
    # Only the first page: the second has text, and on the third nothing is to be seen.
    assert (tmp_path / "asked").read_text().splitlines() == ["stdin stdout tsv"]
    assert (tmp_path / "given").read_bytes() == b"\x89PNG"
    assert read.problems == (
        "no text on page 3: blank, or a scan that needs text recognition",
        "the text of page 1 was recognised in a scan, and may have errors",
    )


def test_a_recognition_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tesseract(tmp_path, "cat > /dev/null; echo 'no language eng' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    read = document(make([Sheet(image()), Sheet(lines("It has text."))]))
    assert read.problems == ("page 1 could not be recognised: no language eng",)
