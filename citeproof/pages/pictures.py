"""The quoted pages of documents as pictures within an HTML page, each page once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from citeproof.errors import CiteproofError
from citeproof.pages.page_image import PageImage, render_page_image
from citeproof.types import Box, Citation, Passage, QuotedPassage

__all__ = ["Cut", "Picture", "Pictures", "View"]

_AROUND = 0.035
"""Margin of a view on each side, as a share of the page."""
_LEAST, _NARROWEST = 0.16, 0.45
"""Minimum height and width of a view, as shares of the page."""


class Cut(NamedTuple):
    """A rectangle of a picture, in pixels."""

    left: int
    top: int
    width: int
    height: int

    def __str__(self) -> str:
        """The rectangle in SVG's notation."""
        return " ".join(map(str, self))


@dataclass(frozen=True)
class Picture:
    """A page as a picture, of which views show parts."""

    id: str
    image: PageImage

    @property
    def whole(self) -> Cut:
        """The whole picture."""
        return Cut(0, 0, self.image.width, self.image.height)


class View(NamedTuple):
    """A part of the picture of a source's page."""

    picture: Picture | None = None
    wide: Cut = Cut(0, 0, 0, 0)
    """The quoted lines with some around them, as wide as the page."""
    narrow: Cut = Cut(0, 0, 0, 0)
    """The same lines for a small screen, as narrow as possible."""
    alt: str = ""
    """The quoted text."""
    missing: str = ""
    """Why there is no picture."""


class Pictures:
    """Draws pages, each once, with everything marked that is quoted of it."""

    def __init__(self, quoted: Iterable[tuple[Passage, Citation | QuotedPassage]]) -> None:
        """Take the passages with their quotes."""
        self.drawn: list[Picture] = []
        self._quoted = list(quoted)
        self._pages: dict[tuple[str, int], Picture | str] = {}

    def view(self, passage: Passage) -> View | None:
        """Return the view of a passage's page; None if the source is not a PDF."""
        if passage.page is None or not passage.source.lower().endswith(".pdf"):
            return None
        own = [quote for other, quote in self._quoted if other.id == passage.id]
        boxes = [box for quote in own for box in quote.boxes]
        if not boxes:
            missing = next((quote.unplaced for quote in own if quote.unplaced), "nothing is quoted")
            return View(missing=missing)
        key = passage.source, passage.page
        if key not in self._pages:
            self._pages[key] = self._draw(*key)
        if isinstance(picture := self._pages[key], str):
            return View(missing=picture)
        width, height = picture.image.width, picture.image.height
        top, down = _around([(box.top, box.bottom) for box in boxes], _LEAST, height)
        left, across = _around([(box.left, box.right) for box in boxes], _NARROWEST, width)
        alt = " ".join(dict.fromkeys(quote.sentence for quote in own if quote.boxes))
        wide, narrow = Cut(0, top, width, down), Cut(left, top, across, down)
        return View(picture, wide, narrow, alt)

    def _draw(self, source: str, page: int) -> Picture | str:
        """Return the picture, or the reason why there is none."""
        boxes: list[Box] = []
        said: list[str] = []
        for passage, quote in self._quoted:
            if (passage.source, passage.page) == (source, page):
                boxes += quote.boxes
                said += [quote.sentence[box.start : box.end] for box in quote.boxes]
        try:
            image = render_page_image(Path(source), page, boxes, said)
        except CiteproofError as error:
            return error.why
        self.drawn.append(Picture(f"page-{len(self.drawn) + 1}", image))
        return self.drawn[-1]


def _around(shares: Sequence[tuple[float, float]], least: float, pixels: int) -> tuple[int, int]:
    """Return where a view of several spans begins along a side of the page, and its length."""
    begin = min(start for start, _ in shares) - _AROUND
    end = max(stop for _, stop in shares) + _AROUND
    spare = max(0.0, least - (end - begin)) / 2
    begin, end = max(0.0, begin - spare), min(1.0, end + spare)
    return round(begin * pixels), round((end - begin) * pixels)
