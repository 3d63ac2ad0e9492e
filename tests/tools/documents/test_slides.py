"""Presentations, made by python-pptx."""

from __future__ import annotations

from typing import Any

import pptx
from pptx.util import Inches

from citeproof.types import Passage
from tests.tools.documents.reading import packed, passages, read, refused, saved_strictly

NAME = "talk.pptx"
TITLE_ONLY = 5
MERGED = ["Isle", "Sheep", "", "", "2020", "2021", "North\nRona", "3", "4"]


def begun() -> tuple[Any, Any]:
    """A presentation, and its first slide."""
    deck = pptx.Presentation()
    return deck, deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])


def cut(deck: Any) -> list[Passage]:
    return passages(packed(deck), NAME)


def box(slide: Any, text: str, left: float, top: float) -> None:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(1))
    shape.text_frame.text = text


def test_a_slide_is_a_part_with_its_shapes_in_reading_order() -> None:
    deck, slide = begun()
    slide.shapes.title.text = "The island"
    box(slide, "Below.", 1, 5)
    box(slide, "To the right.", 5, 2)
    box(slide, "To the left.", 1, 2.1)
    slide.notes_slide.notes_text_frame.text = "Speak slowly."
    other = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    other.shapes.title.text = "The lamp"
    box(other, "It burns oil.", 1, 3)
    first, second = cut(deck)
    assert first.text == "To the left.\n\nTo the right.\n\nBelow.\n\nNotes: Speak slowly."
    assert (first.title, first.location) == ("The island", "slide 1")
    assert (second.text, second.title) == ("It burns oil.", "The island – The lamp")
    assert second.place == "The island – The lamp, slide 2"
    assert passages(saved_strictly(packed(deck)), NAME) == [first, second]


def test_columns_with_headings_are_read_one_after_the_other() -> None:
    deck, slide = begun()
    for left, rows in ((1, ("For", "cheap\nfast")), (5, ("Against", "small\nloud"))):
        for top, text in enumerate(rows):
            box(slide, text, left, 2 + top)
    other = deck.slides.add_slide(deck.slide_layouts[4])
    plans = "Plans", "Free", "1 GB", "Pro", "9 GB"
    for shape, text in zip(other.placeholders, plans, strict=True):
        shape.text_frame.text = text
    labels = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    for n, text in enumerate(("Fee", "5 EUR", "Term", "2 years")):
        box(labels, text, 1 + 4 * (n % 2), 2 + n // 2)
    assert [" ".join(p.text.split()) for p in cut(deck)] == [
        "For cheap fast Against small loud",
        "Free 1 GB Pro 9 GB",
        "Fee 5 EUR Term 2 years",
    ]


def test_the_rows_of_a_table_have_their_columns_names() -> None:
    deck, slide = begun()
    for rows, said in ((2, ["Isle", "Sheep", "North", "forty"]), (3, MERGED)):
        columns = len(said) // rows
        table = slide.shapes.add_table(rows, columns, *[Inches(rows)] * 4).table
        for n, text in enumerate(said):
            table.cell(n // columns, n % columns).text = text
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 1).merge(table.cell(0, 2))
    [passage] = cut(deck)
    assert passage.text == (
        "Isle: North; Sheep: forty\n\nIsle: North Rona; Sheep 2020: 3; Sheep 2021: 4"
    )


def test_raised_digits_and_struck_out_text() -> None:
    deck, slide = begun()
    box(slide, "10", 1, 3)
    paragraph = slide.shapes[-1].text_frame.paragraphs[0]
    for said, name, value in (("6", "baseline", "30000"), ("40", "strike", "sngStrike")):
        run = paragraph.add_run()
        run.text = said
        run.font._element.set(name, value)
    assert [p.text for p in cut(deck)] == ["10⁶"]


def test_what_holds_no_text_is_told() -> None:
    deck, slide = begun()
    assert "no slide holds any text" in refused(packed(deck), NAME)
    slide.shapes.title.text = "The lamp"
    box(slide, "It burns.", 1, 3)
    deck.slides.add_slide(deck.slide_layouts[6])
    assert read(packed(deck), NAME).problems == ("no text on slide 2",)
