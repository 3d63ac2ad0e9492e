"""Recognises text with Tesseract, if it is installed."""

from __future__ import annotations

import csv
import io
import re
import subprocess
from collections.abc import Sequence
from functools import reduce
from itertools import groupby
from operator import or_
from typing import TYPE_CHECKING

from citeproof.errors import DocumentError
from citeproof.pdfium import Area
from citeproof.tools.documents.pdf_lines import Line, Piece

if TYPE_CHECKING:
    from PIL.Image import Image

_PATIENCE = 120.0
"""Maximum seconds per page."""
_PAGE, _WORD = "1", "5"
_ENDED = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*$")


def recognize(program: str, picture: Image) -> list[Line]:
    """Recognise the lines of a page, in the order in which Tesseract (`program`) returns them.

    It reads English unless it was built or configured otherwise.

    Raises:
        DocumentError: The program failed, or took too long.
    """
    image = io.BytesIO()
    picture.save(image, "PNG", dpi=(300, 300))
    command = [program, "stdin", "stdout", "tsv"]
    try:
        done = subprocess.run(
            command, input=image.getvalue(), capture_output=True, timeout=_PATIENCE, check=True
        )
    except (subprocess.SubprocessError, OSError) as error:
        told = getattr(error, "stderr", None) or b""
        why = told.decode("utf-8", "replace").strip().rpartition("\n")[2] or str(error)
        raise DocumentError("A page was not recognised", why=why) from error
    return _lines(done.stdout.decode("utf-8", "replace"))


def _lines(table: str) -> list[Line]:
    rows = list(csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE))
    size = next(((int(r["width"]), int(r["height"])) for r in rows if r["level"] == _PAGE), (1, 1))
    words = [row for row in rows if row["level"] == _WORD and (row["text"] or "").strip()]
    found = []
    for _, line in groupby(words, lambda row: (row["block_num"], row["par_num"], row["line_num"])):
        said = [(row["text"].strip(), _area(row, size)) for row in line]
        text = " ".join(word for word, _ in said)
        found.append(Line(text, tuple(_pieces(said)), reduce(or_, (area for _, area in said))))
    return found


def _area(row: dict[str, str], size: tuple[int, int]) -> Area:
    left, top = int(row["left"]) / size[0], int(row["top"]) / size[1]
    return Area(left, top, left + int(row["width"]) / size[0], top + int(row["height"]) / size[1])


def _pieces(words: Sequence[tuple[str, Area]]) -> list[Piece]:
    """Split the words of a line into one piece per sentence."""
    pieces: list[Piece] = []
    place, ended = 0, True
    for word, area in words:
        end = place + len(word)
        if ended:
            pieces.append(Piece(place, end, area))
        else:
            pieces[-1] = Piece(pieces[-1].start, end, pieces[-1].area | area)
        place, ended = end + 1, bool(_ENDED.search(word))
    return pieces
