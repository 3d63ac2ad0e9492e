"""Pages of PDF files as pictures."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from citeproof.errors import DocumentError
from citeproof.pages.page_image import PageImage, render_page_image
from citeproof.types import Passage
from tests.pdfs import Sheet, image, lines, make, pdf
from tests.tools.documents.reading import read_file


def passage(path: Path, data: bytes) -> Passage:
    path.write_bytes(data)
    return read_file(path)[0]


def said(own: Passage) -> list[str]:
    return [own.text[box.start : box.end] for box in own.boxes]


def is_marked(shown: PageImage, across: float, down: float) -> bool:
    """Whether the picture is yellow at a place, which is in shares of it."""
    with Image.open(io.BytesIO(shown.data)) as picture:
        assert picture.size == (shown.width, shown.height)
        pixel = picture.convert("RGB").getpixel(
            (round(across * shown.width), round(down * shown.height))
        )
    assert isinstance(pixel, tuple)
    return pixel[2] < 150


@pytest.mark.parametrize("turn", [0, 90])
def test_boxes_are_marked_where_they_are_displayed(tmp_path: Path, turn: int) -> None:
    sheet = Sheet(lines("......It rained......"), f"/Rotate {turn}")
    own = passage(path := tmp_path / "a.pdf", make([sheet]))
    shown = render_page_image(path, 1, own.boxes, said(own))
    assert shown.data[8:12] == b"WEBP"
    assert shown.address.startswith("data:image/webp;base64,")
    assert (shown.width > shown.height) == (turn == 90)
    [box, *_] = own.boxes
    # Between the dots and the upper edge of the line nothing is printed.
    assert is_marked(shown, box.left + 0.002, box.top + 0.002)
    assert not is_marked(shown, box.left - 0.02, box.top - 0.02)
    assert not is_marked(render_page_image(path, 1), box.left + 0.002, box.top + 0.002)


def test_a_file_that_is_gone_or_has_changed_is_told(tmp_path: Path) -> None:
    own = passage(path := tmp_path / "a.pdf", pdf("It rained in May.", "It snowed."))

    def why(page: int = 1) -> str:
        with pytest.raises(DocumentError) as caught:
            render_page_image(path, page, own.boxes, said(own))
        return caught.value.why

    assert why(page=3) == "it has no page 3"
    path.write_bytes(pdf("It snowed in June."))
    assert why() == "the file has changed since"
    path.write_bytes(b"no PDF any more")
    assert why().startswith("the PDF is broken")
    path.unlink()
    assert why() == "the file is not there any more"
    path = tmp_path / ("x" * 300)  # `pathlib` raises for it, as for a folder not to be entered
    assert why() == "the file is not there any more"


def test_what_fields_and_notes_say_is_no_change(tmp_path: Path) -> None:
    field = "/FT /Tx /T (keeper) /V (Anna Holm) /Rect [72 715 400 735]"
    data = make([Sheet(lines("Name:", y=760) + lines("below", y=718))], fields=[field])
    own = passage(path := tmp_path / "a.pdf", data)
    render_page_image(path, 1, own.boxes, said(own))


def test_of_a_scan_nothing_can_be_compared(tmp_path: Path) -> None:
    own = passage(path := tmp_path / "a.pdf", pdf("It rained in May."))
    path.write_bytes(make([Sheet(image())]))
    assert render_page_image(path, 1, own.boxes, said(own)).width == 1000
