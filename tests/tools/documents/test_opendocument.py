"""OpenDocument, zipped in the test."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from citeproof.errors import DocumentError
from citeproof.tools.documents.files import parse
from citeproof.tools.documents.passages import cut

SPACES = "".join(
    f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "drawing")
)


def packed(body: str) -> bytes:
    content = f"<office:document-content{SPACES}><office:body>{body}</office:body>"
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", f"{content}</office:document-content>")
    return out.getvalue()


def test_text_with_headings_lists_notes_and_tables() -> None:
    body = (
        '<office:text><text:h text:outline-level="1">Lamp</text:h>'
        "<text:p>It<text:s/>burns<text:note><text:note-body><text:p>Oil.</text:p></text:note-body>"
        "</text:note> well.</text:p><text:list><text:list-item><text:p>wick</text:p>"
        "</text:list-item></text:list><table:table>"
        "<table:table-header-rows><table:table-row><table:table-cell><text:p>Day</text:p>"
        "</table:table-cell><table:table-cell><text:p>Oil</text:p></table:table-cell>"
        "</table:table-row></table:table-header-rows><table:table-row><table:table-cell>"
        "<text:p>May</text:p></table:table-cell><table:table-cell><text:p>much</text:p>"
        "</table:table-cell></table:table-row></table:table></office:text>"
    )
    [passage] = cut(parse(packed(body), Path("/a.odt")))
    assert passage.title == "Lamp"
    assert passage.text == "It burns well.\n\nFootnote: Oil.\n- wick\n\nDay: May; Oil: much"


def test_sheets_and_repeated_cells() -> None:
    def row(*cells: str, extra: str = "") -> str:
        made = "".join(f"<table:table-cell><text:p>{c}</text:p></table:table-cell>" for c in cells)
        return f"<table:table-row>{made}{extra}</table:table-row>"

    rest = '<table:table-cell table:number-columns-repeated="16384"/>'
    rows = row("Isle", "Sheep", extra=rest) + row("Noss", "3", extra=rest)
    sheet = f'<table:table table:name="Sales">{rows}</table:table>'
    body = f"<office:spreadsheet>{sheet}</office:spreadsheet>"
    [passage] = cut(parse(packed(body), Path("/a.ods")))
    assert (passage.text, passage.location) == ("Isle: Noss; Sheep: 3", "sheet Sales, row 2")


def test_another_kind_is_refused() -> None:
    with pytest.raises(DocumentError, match="no OpenDocument text"):
        parse(packed("<office:spreadsheet/>"), Path("/a.odt"))
