"""Handmade PDF files: pages of Helvetica and Courier, with what else the tests need."""

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
    objects: list[tuple[str, str | None]] = [
        ("", None),
        ("", None),
        *(
            (f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>", None)
            for name in ("Helvetica", "Helvetica-Bold", "Courier")
        ),
    ]

    def add(entry: str, stream: str | None = None) -> int:
        objects.append((entry, stream))
        return len(objects)

    widgets = [add(f"<< /Type /Annot /Subtype /Widget {own} >>") for own in fields]
    kids = []
    for number, sheet in enumerate(sheets):
        content = add("", sheet.content)
        notes = " ".join(f"{n} 0 R" for n in widgets) if number == 0 else ""
        kids.append(
            add(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font "
                f"<< /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> /Contents {content} 0 R {sheet.entries}"
                f"{f' /Annots [{notes}]' if notes else ''} >>"
            )
        )
    catalog = "/Type /Catalog /Pages 2 0 R"
    if bookmarks:
        root = len(objects) + 1
        numbers = [root + 1 + n for n in range(len(bookmarks))]
        add(f"<< /First {numbers[0]} 0 R /Last {numbers[-1]} 0 R /Count {len(numbers)} >>")
        for n, (name, page, height) in enumerate(bookmarks):
            following = f"/Next {numbers[n + 1]} 0 R" if n + 1 < len(numbers) else ""
            place = f"/Dest [{kids[page]} 0 R /XYZ 0 {height} 0]"
            add(f"<< /Title ({name}) /Parent {root} 0 R {following} {place} >>")
        catalog += f" /Outlines {root} 0 R"
    if fields:
        catalog += f" /AcroForm << /Fields [{' '.join(f'{n} 0 R' for n in widgets)}] >>"
    objects[0] = (f"<< {catalog} >>", None)
    objects[1] = (
        f"<< /Type /Pages /Kids [{' '.join(f'{n} 0 R' for n in kids)}] /Count {len(kids)} >>",
        None,
    )
    trailer = "/Root 1 0 R"
    if title:
        trailer += f" /Info {add(f'<< /Title ({title}) >>')} 0 R"
    return _written(objects, trailer)


def _written(objects: Sequence[tuple[str, str | None]], trailer: str) -> bytes:
    body, places = b"%PDF-1.4\n", []
    for number, (entry, stream) in enumerate(objects, start=1):
        places.append(len(body))
        if stream is not None:
            entry = f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream"
        body += f"{number} 0 obj\n{entry}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return body + (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {len(objects) + 1} {trailer} >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode("latin-1")
