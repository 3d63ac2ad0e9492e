"""PDF as docling reads it; its models are scripted."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from citeproof.errors import DocumentError, MissingExtraError, ModelError
from citeproof.memory.searched import open_index
from citeproof.settings import ChromaSettings, DocumentSettings, RetrieverSettings, Settings
from citeproof.tools.citations.passage_numbers import read_numbered
from citeproof.tools.documents import docling_pdf
from citeproof.tools.documents.base import Document
from citeproof.tools.documents.files import parse
from citeproof.tools.documents.passages import cut
from citeproof.tools.documents.sandbox import Sandbox, read_safely
from tests.pdfs import LOCKED, Sheet, lines, make, pdf

DOCLING = DocumentSettings(pdf="docling")
TWO_PAGES = pdf("one", "two")
NAN = math.nan
WIDTH, HEIGHT = 600, 800
TEXT = "The tower stands on a rock. It was lit in 1871 and shone on."
TURN = TEXT.index("in 1871")
"""Where the text continues on the second page."""
TABLE = [["Isle", "2020", "2021"], ["North", "12", "14"], ["South", "3", "4"]]


class Rectangle(NamedTuple):
    """A `BoundingBox`; its origin is the lower left corner unless it says otherwise."""

    l: float  # noqa: E741
    t: float
    r: float
    b: float
    from_top: bool = False

    def to_top_left_origin(self, height: float) -> Rectangle:
        """Its `t` and `b` counted from the upper edge."""
        if self.from_top:
            return self
        return Rectangle(self.l, height - self.t, self.r, height - self.b, True)


class Ref(NamedTuple):
    """A `RefItem`."""

    item: Any

    def resolve(self, document: object) -> Any:
        """The item."""
        return self.item


def cell(row: int, column: int) -> tuple[float, float, float, float]:
    """The rectangle of a table cell, from the upper edge."""
    return 60 + column * 100, 300 + row * 20, 150 + column * 100, 315 + row * 20


def item(label: str, text: str = "", *places: Any, children: Any = (), **more: Any) -> Any:
    """An item; its places are (page, rectangle, span of the text)."""
    prov = [SimpleNamespace(page_no=p, bbox=Rectangle(*box), charspan=s) for p, box, s in places]
    refs = [Ref(child) for child in children]
    said = {"text": text, "orig": text} if text else {}
    values = {"label": label, "content_layer": "body", "prov": prov, "children": refs}
    return SimpleNamespace(**{**values, **said, **more})


def scripted_table(rows: Any, *places: Any, children: Any = ()) -> Any:
    """A table of `rows`, whose cells are (text, is_header, rectangle)."""
    cells: dict[int, Any] = {}

    def one(given: Any) -> Any:
        text, is_header, box = given
        bbox = Rectangle(*box)._replace(from_top=True) if box else None
        made = SimpleNamespace(text=text, column_header=is_header, bbox=bbox)
        return cells.setdefault(id(given), made)  # a merged cell is the same in all its places

    grid = [[one(given) for given in row] for row in rows]
    data = SimpleNamespace(grid=grid)
    return item("table", "", *places, children=children, data=data)


def scripted(*items: Any) -> Any:
    """The document, or one with the given items."""
    pages = {n: SimpleNamespace(size=SimpleNamespace(width=WIDTH, height=HEIGHT)) for n in (1, 2)}
    caption = item("caption", "Table 1: Crowns", (2, (60, 520, 360, 505), (0, 15)))
    rows = [
        [(text, r == 0, cell(r, c)) for c, text in enumerate(row)] for r, row in enumerate(TABLE)
    ]
    listed = item("list_item", "North", (2, (60, 690, 540, 680), (0, 5)), marker="-")
    own = items or (
        item("title", "Isles", (1, (60, 740, 300, 700), (0, 5))),
        item("section_header", "Crowns", (1, (60, 690, 300, 670), (0, 6)), level=1),
        item(
            "text",
            TEXT,
            (1, (60, 660, 540, 600), (0, TURN - 1)),
            (2, (60, 760, 540, 700), (TURN, len(TEXT))),
        ),
        item("list", children=[listed]),
        scripted_table(rows, (2, (60, 500, 360, 440), (0, 0)), children=[caption]),
        item("picture", "", (2, (60, 400, 360, 300), (0, 0))),
        item("page_footer", "Page 2", (2, (60, 20, 360, 10), (0, 6)), content_layer="furniture"),
    )
    return SimpleNamespace(body=item("unspecified", children=own), pages=pages)


class Status(str):
    """A `ConversionStatus`."""

    @property
    def value(self) -> str:
        return str(self)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A scripted package `docling`: what it gives, and how it was used."""
    result = SimpleNamespace(
        document=scripted(),
        status=Status("success"),
        errors=[],
        confidence=SimpleNamespace(pages={}),
    )
    used = SimpleNamespace(result=result, sources=[], error=None, options=None)

    class Converter:
        def __init__(self, formats: Any, options: Any) -> None:
            used.options = options["pdf"].pipeline_options

        def initialize_pipeline(self, kind: str) -> None:
            if used.error:
                raise used.error

        def convert(self, source: Any, *, raises_on_error: bool) -> Any:
            assert not raises_on_error
            used.sources.append(source)
            return used.result

    module: Any = ModuleType("docling")
    module.DocumentConverter, module.InputFormat = Converter, SimpleNamespace(PDF="pdf")
    module.DocumentStream = module.PdfPipelineOptions = module.PdfFormatOption = SimpleNamespace
    names = ["", ".datamodel", ".datamodel.base_models", ".datamodel.pipeline_options"]
    for name in (*names, ".document_converter"):
        monkeypatch.setitem(sys.modules, f"docling{name}", module)
    docling_pdf._converter.cache_clear()
    yield used
    docling_pdf._converter.cache_clear()


def reading(package: SimpleNamespace, *items: Any, **more: Any) -> Document:
    """What is read of a file of two pages that docling converts so."""
    if items:
        package.result.document = scripted(*items)
    vars(package.result).update(more)
    return docling_pdf.read_with_docling(TWO_PAGES, Path("isles.pdf"))


def test_pages_headings_rows_and_rectangles(package: SimpleNamespace) -> None:
    read = reading(package)
    first, second = read.parts
    assert (first.page, first.headings) == (1, ("Crowns",))
    assert first.text[first.body : first.end].strip() == "The tower stands on a rock. It was lit"
    assert (second.page, second.headings) == (2, ("Crowns",))
    assert second.text[second.start : second.end].split("\n") == [
        "in 1871 and shone on.",
        "",
        "- North",
        "",
        "Table 1: Crowns",
        "",
        "Isle: North; 2020: 12; 2021: 14",
        "Isle: South; 2020: 3; 2021: 4",
    ]
    shown = [(b.left, b.top, b.right, b.bottom, second.text[b.start : b.end]) for b in second.boxes]
    assert shown == [
        (0.1, 0.05, 0.9, 0.125, "in 1871 and shone on."),
        (0.1, 0.1375, 0.9, 0.15, "- North"),
        (0.1, 0.35, 0.6, 0.3688, "Table 1: Crowns"),
        (0.1, 0.4, 0.5833, 0.4188, "Isle: North; 2020: 12; 2021: 14"),
        (0.1, 0.425, 0.5833, 0.4437, "Isle: South; 2020: 3; 2021: 4"),
    ]
    assert read.problems == ("a picture or table on page 2: what it shows was not read",)
    passage, *_ = cut(read)
    [box] = passage.boxes  # a sentence has the rectangle of its paragraph
    assert (box.left, box.top, box.right, box.bottom) == (0.1, 0.175, 0.9, 0.25)
    assert (passage.page, passage.title) == (1, "Isles – Crowns")


def test_a_word_that_two_columns_part_is_whole(package: SimpleNamespace) -> None:
    """Docling counts the hyphen, and takes it out."""
    left, right = (1, (60, 700, 290, 600), (0, 14)), (1, (310, 700, 540, 600), (15, 34))
    text = item("text", "The light house shone all night.".replace("t h", "th"), left, right)
    [part] = reading(package, text).parts
    assert part.text == "The lighthouse shone all night."
    assert [part.text[box.start : box.end] for box in part.boxes] == [
        "The lighthouse",
        "shone all night.",
    ]


def test_merged_cells_are_said_once(package: SimpleNamespace) -> None:
    both, isle = ("Crowns", True, None), ("Isle", True, None)
    table = scripted_table(
        [
            [isle, both, both],
            [isle, ("2020", True, None), ("2021", True, None)],
            [("North", False, None), ("12", False, None), ("14", False, None)],
        ],
        (1, (60, 500, 360, 440), (0, 0)),
    )
    [part] = reading(package, table).parts
    assert part.text == "Isle: North; Crowns 2020: 12; Crowns 2021: 14"
    [box] = part.boxes  # cells without rectangles have that of the table
    assert (box.top, box.bottom) == (0.375, 0.45)


def test_a_heading_that_nothing_stands_under_is_text(package: SimpleNamespace) -> None:
    head = item("section_header", "Crowns", (1, (60, 700, 300, 680), (0, 6)), level=1)
    last = item("section_header", "It snowed.", (2, (60, 700, 300, 680), (0, 10)), level=1)
    read = reading(package, head, last)
    assert [(p.page, p.text[p.start : p.end].strip()) for p in read.parts] == [
        (1, "Crowns"),
        (2, "It snowed."),
    ]


def test_text_without_a_place_stands_on_the_page_before_it(package: SimpleNamespace) -> None:
    hint = item("text", "In metres.")
    field = item("text", "Height: 40", (2, (60, 700, 300, 680), (0, 10)), children=[hint])
    [part] = reading(package, field).parts
    assert (part.text, part.page) == ("Height: 40\n\nIn metres.", 2)
    assert [part.text[box.start : box.end] for box in part.boxes] == ["Height: 40"]


def test_fields_and_notes_are_read_where_they_stand(package: SimpleNamespace) -> None:
    """Docling reads neither."""
    fields = [
        "/FT /Tx /T (keeper) /V (Anna Holm) /Rect [200 715 400 735]",
        "/FT /Btn /T (paid) /TU (The rent is paid) /AS /On /V /On /Rect [72 680 84 692] "
        "/AP << /N << /On << >> >> >>",
        "/FT /Tx /T (day) /V (fourth) /Rect [160 600 200 610]",
    ]
    data = make([Sheet(lines("Name of the keeper:"))], fields=fields)
    name = item("text", "Name of the keeper:", (1, (72, 730, 190, 720), (0, 19)))
    signed = item("text", "Signed on the fourth of May.", (1, (72, 610, 300, 600), (0, 28)))
    package.result.document = scripted(name, signed)
    package.result.document.pages[1].size = SimpleNamespace(width=612, height=792)
    [part] = docling_pdf.read_with_docling(data, Path("form.pdf")).parts
    assert part.text.split("\n\n") == [
        "Name of the keeper: Anna Holm",
        "[x] The rent is paid",
        "Signed on the fourth of May.",
    ]
    held = [box for box in part.boxes if part.text[box.start : box.end] == "Anna Holm"]
    assert [(box.left, box.right) for box in held] == [(0.3268, 0.6536)]


def test_what_is_missing_or_may_be_wrong_is_told(package: SimpleNamespace) -> None:
    text = item("text", "It rained.", (1, (60, 700, 300, 680), (0, 10)))
    scores = {n: SimpleNamespace(ocr_score=score) for n, score in ((1, 0.8), (2, NAN))}
    error = SimpleNamespace(page_no=2, error_message="a model\nfailed")
    read = reading(
        package,
        text,
        status=Status("partial_success"),
        errors=[error],
        confidence=SimpleNamespace(pages=scores),
    )
    assert read.problems == (
        "page 2: a model failed",
        "no text on page 2: blank, or a scan in which none was recognised",
        "text of page 1 was recognised in a picture, and may have errors",
    )


def test_what_docling_cannot_read_is_refused(package: SimpleNamespace) -> None:
    failed = SimpleNamespace(page_no=None, error_message="out of memory")
    with pytest.raises(DocumentError, match=r"gave up \(out of memory\)\. Try `documents\.pdf"):
        reading(package, status=Status("failure"), errors=[failed])
    picture = item("picture", "", (1, (60, 700, 300, 100), (0, 0)))
    with pytest.raises(DocumentError, match="docling finds no text in it; no text on page 1, 2"):
        reading(package, picture, status=Status("success"), errors=[])
    with pytest.raises(DocumentError, match="it is encrypted"):
        docling_pdf.read_with_docling(LOCKED.read_bytes(), Path("a.pdf"))


def test_the_setting_chooses_it_and_the_models(package: SimpleNamespace, tmp_path: Path) -> None:
    chosen = DocumentSettings(pdf="docling", docling_models=tmp_path)
    read = parse(TWO_PAGES, Path("isles.pdf"), chosen)
    assert read.parts[0].headings == ("Crowns",)
    assert package.options.artifacts_path == tmp_path
    [given] = package.sources
    assert (given.name, given.stream.getvalue()) == ("isles.pdf", TWO_PAGES)
    assert parse(TWO_PAGES, Path("isles.pdf")).parts[0].text == "one\ftwo"
    assert parse(b"# Isles\n\nNorth.", Path("a.md"), chosen).title == "Isles"


def test_models_that_cannot_be_had_are_told(package: SimpleNamespace) -> None:
    package.error = OSError("no snapshot\nof the model")
    with pytest.raises(ModelError, match=r"no snapshot of the model\. .*docling_models"):
        reading(package)


@pytest.mark.skipif(importlib.util.find_spec("docling") is not None, reason="docling is there")
def test_a_process_of_its_own_reads_with_it() -> None:
    with (
        closing(Sandbox(settings=DOCLING)) as sandbox,
        pytest.raises(MissingExtraError, match=r"citeproof\[docling\]"),
    ):
        sandbox.parse(TWO_PAGES, Path("/isles.pdf"))
    with pytest.raises(MissingExtraError, match=r"citeproof\[docling\]"):
        read_safely(TWO_PAGES, Path("/isles.pdf"), DOCLING)
    page = Path("/isles.html")
    assert read_safely(b"<p>It burns.", page, DOCLING) == parse(b"<p>It burns.", page)


def test_another_reader_reads_pdf_files_anew(
    package: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "documents").mkdir()
    (folder / "a.md").write_text("# Isles\n\nNorth.")
    (folder / "isles.pdf").write_bytes(TWO_PAGES)
    monkeypatch.setattr("citeproof.tools.documents.sources.read_safely", parse)

    def indexed(documents: DocumentSettings) -> Any:
        place, words = ChromaSettings(path=tmp_path / "store"), RetrieverSettings(kind="bm25")
        settings = Settings(chroma=place, retriever=words, documents=documents)
        with closing(open_index(settings, None)) as index:
            return index.update([folder]), [one.text for one in index.passages()]

    indexed(DocumentSettings())
    report, texts = indexed(DOCLING)
    assert (report.updated, report.unchanged) == (
        (str(folder / "isles.pdf"),),
        (str(folder / "a.md"),),
    )
    assert any("Isle: North; 2020: 12" in text for text in texts)
    assert not any("two" in text for text in texts)
    report, _ = indexed(DOCLING)
    assert len(report.unchanged) == 2


def test_what_is_checked_against_is_read_with_it(
    package: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "isles.pdf").write_bytes(TWO_PAGES)
    monkeypatch.setattr("citeproof.tools.citations.passage_numbers.read_safely", parse)
    read = read_numbered(tmp_path, settings=DOCLING)
    assert any("Isle: North; 2020: 12" in passage.text for passage in read.passages[1])
