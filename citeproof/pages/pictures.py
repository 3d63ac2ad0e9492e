"""The pages that prove something, as pictures within a page of HTML: each page once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from citeproof.errors import CiteproofError
from citeproof.pages.page_image import PageImage, render_page_image
from citeproof.types import Box, Citation, Passage, Support

__all__ = ["Picture", "Pictures", "View"]

_AROUND = 0.035
"""By this share of the page's height a view is larger than what it shows."""
_LEAST = 0.16
"""The share of the page's height that a view has at least."""


@dataclass(frozen=True)
class Picture:
    """A page, which views show pieces of."""

    id: str
    image: PageImage


@dataclass(frozen=True)
class View:
    """What a source shows of its page."""

    picture: Picture | None = None
    top: int = 0
    """Where it begins, in pixels of the picture."""
    height: int = 0
    alt: str = ""
    """What stands there."""
    missing: str = ""
    """Why there is no picture."""


class Pictures:
    """Draws pages, each once, with all that is quoted of it."""

    def __init__(self, quoted: Iterable[tuple[Passage, Citation | Support]]) -> None:
        """Takes the passages with what is quoted of them."""
        self.drawn: list[Picture] = []
        self._quoted = list(quoted)
        self._pages: dict[tuple[str, int], Picture | str] = {}

    def view(self, passage: Passage) -> View | None:
        """What is shown of the page of a passage; None where the source is no PDF."""
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
        top = max(0.0, min(box.top for box in boxes) - _AROUND)
        bottom = min(1.0, max(box.bottom for box in boxes) + _AROUND)
        spare = max(0.0, _LEAST - (bottom - top))
        top = max(0.0, min(top - spare / 2, 1 - _LEAST))
        bottom = max(bottom + spare / 2, top + _LEAST)
        pixels = picture.image.height
        alt = " ".join(dict.fromkeys(quote.sentence for quote in own if quote.boxes))
        return View(picture, round(top * pixels), round((bottom - top) * pixels), alt)

    def _draw(self, source: str, page: int) -> Picture | str:
        """The picture, or why there is none."""
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
