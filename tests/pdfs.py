"""Handmade PDF files: pages of text in four fonts, with what else the tests need."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data"
LOCKED = DATA / "locked.pdf"
"""Encrypted; its password is `key`."""
RESTRICTED = DATA / "restricted.pdf"
"""Encrypted with an empty password, which only restricts its use; its text is "Not secret."."""


class Sheet(NamedTuple):
    """A page: its content stream, and further entries of its dictionary."""

    content: str
    entries: str = ""


BOLD = "F2"
CODE = "F3"
WIDE = "F4"
"""A font of equally wide letters: `A` to `G` are those of `WIDE_LETTERS`."""
WIDE_LETTERS = "島の灯台羊毛\u3000"


def lines(
    *texts: str, x: int = 72, y: int = 720, leading: int = 16, font: str = "F1", size: int = 12
) -> str:
    """A content stream with a line for each text."""
    shown = [f"1 0 0 1 {x} {y - n * leading} Tm ({text}) Tj" for n, text in enumerate(texts)]
    return f"BT /{font} {size} Tf {' '.join(shown)} ET\n"


def image(x: int = 72, y: int = 100, width: int = 400, height: int = 500) -> str:
    """A content stream with a grey picture."""
    return f"q {width} 0 0 {height} {x} {y} cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x60 EI Q\n"


def pdf(*texts: str) -> bytes:
    """A PDF with a line of text on each page."""
    return make([Sheet(lines(text)) for text in texts])


def make(
    sheets: Sequence[Sheet],
    *,
    title: str = "",
    bookmarks: Sequence[tuple[str, int, float]] = (),
    fields: Sequence[str] = (),
) -> bytes:
    """A complete PDF file.

    Args:
        sheets: The pages of the file.
        title: The title in the metadata.
        bookmarks: Title, page from 0, and height of the target of each.
        fields: Entries of form fields on the first page.
    """
    names = ("Helvetica", "Helvetica-Bold", "Courier")
    fonts = [f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>" for name in names]
    count = len(WIDE_LETTERS)
    fonts.append(
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /FirstChar 65 "
        f"/LastChar {64 + count} /Widths [{'1000 ' * count}] /ToUnicode 7 0 R >>"
    )
    codes = " ".join(f"<{65 + n:02x}> <{ord(letter):04x}>" for n, letter in enumerate(WIDE_LETTERS))
    codes = f"1 begincodespacerange <00> <ff> endcodespacerange {count} beginbfchar {codes}"
    codes = f"<< /Length {len(codes) + 10} >>\nstream\n{codes} endbfchar\nendstream"
    # The first two, the catalog and the pages, are filled in later.
    objects = ["", "", *fonts, codes]

    def add(entry: str) -> str:
        objects.append(entry)
        return f"{len(objects)} 0 R"

    widgets = [add(f"<< /Type /Annot /Subtype /Widget {own} >>") for own in fields]
    kids = []
    for number, (shown, entries) in enumerate(sheets):
        content = add(f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream")
        notes = f"/Annots [{' '.join(widgets)}]" if widgets and not number else ""
        kids.append(
            add(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font "
                "<< /F1 3 0 R /F2 4 0 R /F3 5 0 R /F4 6 0 R >> >> "
                f"/Contents {content} {entries} {notes} >>"
            )
        )
    catalog = f"/Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{' '.join(widgets)}] >>"
    if bookmarks:
        first, last = len(objects) + 2, len(objects) + 1 + len(bookmarks)
        outline = add(f"<< /First {first} 0 R /Last {last} 0 R /Count {len(bookmarks)} >>")
        for n, (name, page, height) in enumerate(bookmarks, start=first + 1):
            following = f"/Next {n} 0 R" if n <= last else ""
            place = f"/Dest [{kids[page]} /XYZ 0 {height} 0]"
            add(f"<< /Title ({name}) /Parent {outline} {following} {place} >>")
        catalog += f" /Outlines {outline}"
    objects[:2] = (
        f"<< {catalog} >>",
        f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>",
    )
    trailer = f"/Root 1 0 R /Info {add(f'<< /Title ({title}) >>')}"
    body, places = b"%PDF-1.4\n", []
    for number, entry in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{entry}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return body + (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {len(objects) + 1} {trailer} >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode("latin-1")
