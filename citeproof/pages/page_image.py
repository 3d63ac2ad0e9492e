"""Renders pages of PDF files as pictures, with quoted sentences marked (extra `pdf`)."""

from __future__ import annotations

import base64
import io
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from citeproof.errors import DocumentError
from citeproof.paths import is_file
from citeproof.pdfium import LOCK, Area, Displayed, open_pdf, page_annotations, spell_out
from citeproof.types import Box

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage

__all__ = ["PageImage", "render_page_image"]

_WIDTH, _TALLEST = 1000, 4
"""Width of a picture in pixels, and its maximum height as a multiple of the width."""
_MARK = (255, 226, 89)
_QUALITY = 50
_SAME = 0.7
"""Minimum share of boxes that must still hold their text; letters of overlapping lines may be
found in either box."""
_AROUND = Area(-0.004, -0.002, 0.004, 0.002)
"""Margin of a mark around its letters."""


class PageImage(NamedTuple):
    """A page as a picture."""

    data: bytes
    """WebP."""
    width: int
    height: int
    """In pixels."""

    @property
    def address(self) -> str:
        """The picture as a data URL."""
        return f"data:image/webp;base64,{base64.b64encode(self.data).decode()}"


def render_page_image(
    path: Path, page: int, boxes: Sequence[Box] = (), said: Sequence[str] = ()
) -> PageImage:
    """Draw a page, as it is displayed, with boxes marked.

    Args:
        path: The PDF file.
        page: Number of the page, from 1.
        boxes: The rectangles to mark.
        said: The text of each box when the file was read, which the page must still have there. A
            page without text, such as a scan, is not checked.

    Raises:
        DocumentError: The file is gone, cannot be read, lacks the page, or has changed.
        MissingExtraError: The extra `pdf` is not installed.
    """
    if not is_file(path):
        raise DocumentError(f"{path} cannot be shown", why="the file is not there any more")
    with open_pdf(path) as document, LOCK:
        if not 1 <= page <= len(document):
            raise DocumentError(f"{path} cannot be shown", why=f"it has no page {page}")
        own = document[page - 1]
        shown = Displayed(own)
        if said and not _still_says(own, shown, boxes, said):
            raise DocumentError(f"{path} cannot be shown", why="the file has changed since")
        scale = _WIDTH / max(shown.width, shown.height / _TALLEST)
        bitmap = own.render(scale=scale, rev_byteorder=True)
        picture = bitmap.to_pil().convert("RGB")
        bitmap.close()
    for box in boxes:
        _mark(picture, _area(box))
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=_QUALITY, method=4)
    return PageImage(file.getvalue(), *picture.size)


def _still_says(page: PdfPage, shown: Displayed, boxes: Sequence[Box], said: Sequence[str]) -> bool:
    """Return whether the text of a page is where it was. The caller holds PDFium's lock."""
    from pypdfium2 import raw

    text = page.get_textpage()
    if not text.count_chars():
        return True
    # The content of fields and notes does not belong to the page's text.
    places = page_annotations(page, shown)
    noted = [area for _, kind, area in places if kind != raw.FPDF_ANNOT_LINK]
    asked = [
        (_letters(own), _letters(text.get_text_bounded(*shown.bounds(_area(box)))))
        for box, own in zip(boxes, said, strict=True)
        if not any(note.holds(_area(box)) for note in noted)
    ]
    same = sum(own in now for own, now in asked)
    return same >= _SAME * len(asked)


def _area(box: Box) -> Area:
    return Area(box.left, box.top, box.right, box.bottom)


def _letters(text: str) -> str:
    normal = unicodedata.normalize("NFKC", spell_out(text)).casefold()
    return "".join(letter for letter in normal if letter.isalnum())


def _mark(picture: Image, area: Area) -> None:
    """Colour a rectangle like a highlighter pen: dark pixels stay dark."""
    from PIL import Image, ImageChops

    across, down = picture.size
    sides = [max(0, min(1, side + more)) for side, more in zip(area, _AROUND, strict=True)]
    left, right = round(sides[0] * across), round(sides[2] * across)
    top, bottom = round(sides[1] * down), round(sides[3] * down)
    if left < right and top < bottom:
        piece = picture.crop((left, top, right, bottom))
        marked = ImageChops.multiply(piece, Image.new("RGB", piece.size, _MARK))
        picture.paste(marked, (left, top))
