"""PDFium for reading and showing PDF: one thread at a time, documents closed (extra `pdf`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from citeproof.errors import DocumentError, MissingExtraError

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

LOCK = threading.RLock()
"""Held during every call of PDFium, which is not thread-safe."""
_FINE = 1_000_000
"""Width and height of a page in units; fine, since PDFium returns whole numbers."""

_SIGNS = str.maketrans(
    # Fonts of TeX in the encoding T1, and bullets of Word's symbol fonts.
    {0x15: "–", 0x16: "—", 0x1B: "ff", 0x1C: "fi", 0x1D: "fl", 0x1E: "ffi", 0x1F: "ffl"}
    | {0xF0A7: "•", 0xF0B7: "•"}
)


class Area(NamedTuple):
    """A rectangle on a displayed page; sides are shares of the page, from the upper left."""

    left: float
    top: float
    right: float
    bottom: float

    def __or__(self, other: Area) -> Area:
        """The smallest rectangle that contains both."""
        return Area(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    @property
    def width(self) -> float:
        """Width as a share of the page's width."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Height as a share of the page's height."""
        return self.bottom - self.top

    def holds(self, other: Area) -> bool:
        """Whether this rectangle contains the middle of the other one."""
        across, down = (other.left + other.right) / 2, (other.top + other.bottom) / 2
        return self.left <= across <= self.right and self.top <= down <= self.bottom


class Displayed:
    """A page as displayed, with its rotation and crop box applied."""

    def __init__(self, page: PdfPage) -> None:
        """Measure the page. The caller holds `LOCK`."""
        from pypdfium2 import PdfPosConv

        self._places = PdfPosConv(page, (0, 0, _FINE, _FINE, 0))
        x0, y0 = self._at(0, 0)
        (x1, y1), (x2, y2) = self._at(1000, 0), self._at(0, 1000)
        self._across = (x1 - x0) / 1000, (x2 - x0) / 1000, x0
        self._down = (y1 - y0) / 1000, (y2 - y0) / 1000, y0
        self.width, self.height = page.get_size()
        """Size in points."""

    def area(self, left: float, bottom: float, right: float, top: float) -> Area:
        """The displayed area of a rectangle in the PDF's own coordinates."""
        xx, xy, x = self._across
        yx, yy, y = self._down
        across = xx * left + xy * bottom + x, xx * right + xy * top + x
        down = yx * left + yy * bottom + y, yx * right + yy * top + y
        return Area(min(across), min(down), max(across), max(down))

    def bounds(self, area: Area) -> tuple[float, float, float, float]:
        """The PDF's own coordinates of a displayed area: left, bottom, right, top."""
        left, top, right, bottom = (round(side * _FINE) for side in area)
        corners = self._places.to_page(left, top), self._places.to_page(right, bottom)
        across, down = zip(*corners, strict=True)
        return min(across), min(down), max(across), max(down)

    def _at(self, x: float, y: float) -> tuple[float, float]:
        across, down = self._places.to_bitmap(x, y)
        return across / _FINE, down / _FINE


def page_annotations(page: PdfPage, shown: Displayed) -> Iterator[tuple[Any, int, Area]]:
    """The fields, notes and links of a page: handle, kind and place of each.

    A handle is valid until the next one is yielded. The caller holds `LOCK`.
    """
    from pypdfium2 import raw

    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        own, box = raw.FPDFPage_GetAnnot(page, number), raw.FS_RECTF()
        try:
            raw.FPDFAnnot_GetRect(own, box)
            area = shown.area(box.left, box.bottom, box.right, box.top)
            yield own, raw.FPDFAnnot_GetSubtype(own), area
        finally:
            raw.FPDFPage_CloseAnnot(own)


@contextmanager
def open_pdf(path: Path, data: bytes | None = None) -> Iterator[PdfDocument]:
    """Open a document, with its form if it has one. The caller holds `LOCK` while using it.

    Args:
        path: The file.
        data: The whole file, if it has already been read.

    Raises:
        DocumentError: The document is broken, or encrypted with a password.
        MissingExtraError: The extra `pdf` is not installed.
    """
    with MissingExtraError.unless_installed("pdf", "PDF files cannot be read"):
        from pypdfium2 import PdfDocument, PdfiumError, raw
    # Hides the warning that it draws no XFA forms.
    logging.getLogger("pypdfium2").setLevel(logging.ERROR)
    document = None
    try:
        with LOCK:
            document = PdfDocument(path if data is None else data)
            document.init_forms()
        yield document
    except PdfiumError as error:
        why, fix = f"the PDF is broken ({error})", "Open it in a PDF viewer and save it again."
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            why, fix = "it is encrypted", "Save it without a password."
        raise DocumentError(f"{path} cannot be read", why=why, fix=fix) from error
    finally:
        with LOCK:
            if document is not None:
                document.close()


def spell_out(text: str) -> str:
    """Replace codes of fonts that do not say which characters they stand for, such as ligatures."""
    return text.translate(_SIGNS)
