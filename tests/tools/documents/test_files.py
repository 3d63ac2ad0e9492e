from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from citeproof.errors import DocumentError, MissingExtraError
from citeproof.tools.documents import files as documents
from citeproof.tools.documents.files import find, load, parse, read
from citeproof.tools.documents.html import read_html
from citeproof.types import Passage

STORY = " ".join(f"Sentence number {n} tells of the lighthouse." for n in range(60))


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path) -> str:
    with pytest.raises(DocumentError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_text_is_cut_at_sentence_ends_with_exact_offsets(tmp_path: Path) -> None:
    path = write(tmp_path, "story.txt", f"The Lighthouse\n\n{STORY}\r\n\r\nAnd so it ends.\n")
    text = path.read_text(encoding="utf-8")
    passages = read(path, 100)
    assert len(passages) == 4
    assert all(text[p.start : p.end] == p.text for p in passages)
    assert all(p.text.endswith(".") for p in passages)
    assert all(80 <= len(p.text.split()) <= 120 for p in passages)
    assert {(p.title, p.source, p.page) for p in passages} == {("The Lighthouse", str(path), None)}
    assert len({p.id for p in passages}) == 4


def test_text_without_heading_is_named_for_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, "plain.txt", "Only this.")
    assert read(path) == [
        Passage(
            id=read(path)[0].id, text="Only this.", title="plain", source=str(path), start=0, end=10
        )
    ]


def test_a_list_of_short_lines_is_not_taken_for_headings(tmp_path: Path) -> None:
    (passage,) = read(write(tmp_path, "list.txt", "Apples\n\nPears\n\nPlums\n"))
    assert passage.text == "Apples\n\nPears\n\nPlums"


def test_a_sentence_without_end_is_cut_between_words(tmp_path: Path) -> None:
    passages = read(write(tmp_path, "endless.txt", "word " * 2000), 100)
    assert sum(len(p.text.split()) for p in passages) == 2000
    assert max(len(p.text.split()) for p in passages) <= 150


def test_markdown_sections(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "guide.md",
        f"---\ntitle: From the front\n---\n# The *Guide*\n\n{STORY}\n\n## Getting there\n\n"
        f"{STORY}\n\n### By [ferry](http://x.y)\n\n{STORY}\n\n```\n# not a heading\n```\n\n"
        "Fares\n-----\nThe fare is two crowns.\n\n## Tides\nHigh at noon.\n",
    )
    text = path.read_text(encoding="utf-8")
    passages = read(path, 100)
    titles = list(dict.fromkeys(p.title for p in passages))
    assert titles == [
        "From the front – The Guide",
        "From the front – The Guide – Getting there",
        "From the front – The Guide – Getting there – By ferry",
    ]
    assert all(text[p.start : p.end] == p.text for p in passages)
    # Two tiny sections make one passage, and keep their headings in its text.
    last = passages[-1]
    assert last.text == "Fares\n-----\nThe fare is two crowns.\n\n## Tides\nHigh at noon."
    assert last.title == "From the front – The Guide"


def test_markdown_title_is_not_said_twice(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", f"# Guide\n\n{STORY}\n\n## Tides\n\n{STORY}\n")
    assert list(dict.fromkeys(p.title for p in read(path))) == ["Guide", "Guide – Tides"]


def test_markdown_of_headings_only_is_not_lost(tmp_path: Path) -> None:
    (passage,) = read(write(tmp_path, "heads.md", "# One\n\n## Two\n"))
    assert passage.text == "# One\n\n## Two"


def test_html(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "page.html",
        "<!DOCTYPE html><html><head><title>The Island</title><style>p {}</style></head><body>"
        "<nav>Home</nav><h1>The Island</h1><p>It is <b>very</b>\n small. It has<br>one shop.</p>"
        "<script>alert(1)</script><p hidden>secret</p><h2>The <i>shop</i></h2>"
        f"<p>{STORY}</p><ul><li>bread</li><li>rope</li></ul>"
        "<table><tr><th>Day</th><td>Open</td></tr></table></body></html>",
    )
    first, *rest = read(path)
    assert (first.title, first.text) == ("The Island", "It is very small. It has\none shop.")
    assert {p.title for p in rest} == {"The Island – The shop"}
    said = "\n".join(p.text for p in rest)
    assert "bread\nrope" in said
    assert "Day | Open" in said
    assert not any(word in said for word in ("Home", "alert", "secret", "<"))


def test_deeply_nested_html_does_no_harm(tmp_path: Path) -> None:
    path = write(tmp_path, "deep.html", "<div>" * 3000 + "Down here." + "</div>" * 3000)
    assert [p.text for p in read(path)] == ["Down here."]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "<tr><th>Name</th><th>2019</th><th>2020</th></tr>\n"
            "<tr>\n<td>North</td>\n<td></td>\n<td>12</td>\n</tr>",
            "Name | 2019 | 2020\nNorth | | 12",
        ),
        ("<tr><th></th><th>2019</th><th> </th><th>2021</th></tr>", "| 2019 | | 2021"),
        ("<tr><td><p>A</p></td> <td><!-- x --><div><p>B <b>b</b></p></div></td></tr>", "A | B b"),
        ("<tr><td>A</td><td><p>&nbsp;</p><p></p></td><td>C</td></tr>", "A | | C"),
        ("<tr><td>A<td><td><p>C<tr><td><td>E", "A | | C\n| E"),
        ("<td>A</td> <td>B</td>", "A | B"),
        ("<tr><td><p>A</p><p>B</p></td><td>C</td></tr>", "A\n\nB\nC"),
        (
            "<tr><td>Out</td><td><table><tr><td></td><td>in</td></tr></table></td>"
            "<td>Last</td></tr>",
            "Out\n| in\nLast",
        ),
        ("<tr><td>A<div> </div> <b>a</b></td><td>B</td></tr>", "A\na | B"),
        ("<tr><td><div>Lead<p>x</p>tail</div></td><td>B</td></tr>", "Lead\n\nx\n\ntail\nB"),
    ],
)
def test_html_table_cells_keep_their_columns(tmp_path: Path, rows: str, said: str) -> None:
    path = write(tmp_path, "table.html", f"<table>{rows}</table>")
    assert [p.text for p in read(path)] == [said]


@pytest.mark.parametrize(
    "rows",
    ["<tr><td>a<td><td>b" * 10_000, "<tr>" + "<td>a" * 20_000, "<td><div>" + "<p>a</p>" * 20_000],
)
def test_a_large_html_table_is_read_in_one_go(rows: str) -> None:
    begun = time.process_time()
    assert read_html(f"<table>{rows}".encode(), Path("large.html")).parts
    assert time.process_time() - begun < 20


def test_html_lists_and_tables_stand_apart_from_what_is_above(tmp_path: Path) -> None:
    lines = "<p>Shop:</p> <ul> <li>bread <ol><li>rye</ol></li> <li>rope</li> </ul>"
    tables = "<table> <tr><td>1</td></tr> </table> <table><tr><td>2</td></tr></table>"
    path = write(tmp_path, "lists.html", lines + tables)
    (passage,) = read(path)
    assert passage.text == "Shop:\n\nbread \nrye\nrope\n\n1\n\n2"


def test_an_empty_block_parts_words(tmp_path: Path) -> None:
    path = write(tmp_path, "gap.html", "<div>It rained.<p>&nbsp;</p>It snowed.</div>")
    assert [p.text for p in read(path)] == ["It rained.\n\nIt snowed."]


def test_a_guessed_html_encoding_is_told(tmp_path: Path) -> None:
    def problems(content: bytes) -> tuple[str, ...]:
        return parse(content, tmp_path / "page.html").problems

    text = "<p>El niño comió</p>"
    [problem] = problems(text.encode("cp1252"))
    assert "does not say its encoding and was read as " in problem
    assert problem.endswith("letters may be wrong; save it as UTF-8")
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert problems(text.encode(encoding)) == ()
    assert problems(b"<p>It rained.</p>") == ()
    assert problems(f'<meta charset="cp1252">{text}'.encode("cp1252")) == ()


@pytest.mark.parametrize("head", ["<head><title>Keepers</title>", "<title>Keepers</title>"])
def test_html_may_leave_out_where_its_head_ends(tmp_path: Path, head: str) -> None:
    path = write(tmp_path, "short.html", f"<html>{head}<body><p>Anna kept the light.</body>")
    assert [(p.title, p.text) for p in read(path)] == [("Keepers", "Anna kept the light.")]


def test_broken_markup_is_told(tmp_path: Path) -> None:
    assert "markup" in refused(write(tmp_path, "odd.html", "<p>It rained. <![foo[ bar"))


def test_a_name_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    with pytest.raises(DocumentError, match="its name is not UTF-8"):
        read(path)


def test_docx(tmp_path: Path) -> None:
    import docx

    document = docx.Document()
    document.add_heading("The Report", 0)
    document.add_paragraph("It is short.")
    document.add_heading("Numbers", 1)
    document.add_paragraph(STORY)
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "sheep", "forty"
    path = tmp_path / "report.docx"
    document.save(str(path))
    first, *rest = read(path)
    assert (first.title, first.text) == ("The Report", "It is short.")
    assert {p.title for p in rest} == {"The Report – Numbers"}
    assert rest[-1].text.endswith("sheep | forty")


def test_docx_says_what_its_tracked_changes_and_controls_say(tmp_path: Path) -> None:
    import docx
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = docx.Document()
    paragraph = document.add_paragraph("The deposit is ")
    changes = "<w:ins {0}><w:r><w:t>not </w:t></w:r></w:ins>", "<w:del {0}><w:r/></w:del>"
    for change in changes:
        paragraph._p.append(parse_xml(change.format(nsdecls("w"))))
    paragraph.add_run("refundable.")
    control = (
        "<w:sdt {0}><w:sdtContent><w:p><w:r><w:t>Held.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    document.element.body.insert(1, parse_xml(control.format(nsdecls("w"))))
    table = document.add_table(rows=2, cols=4)
    for cell, text in zip(table.rows[0].cells, ["Keepers", "3", "3", "4"], strict=True):
        cell.text = text
    merged = table.rows[1].cells
    merged[1].merge(merged[2]).text = "six"
    merged[0].text, merged[3].text = "Both", "four"
    path = tmp_path / "lease.docx"
    document.save(str(path))
    [passage] = read(path)
    assert passage.text == (
        "The deposit is not refundable.\n\nHeld.\nKeepers | 3 | 3 | 4\nBoth | six | four"
    )


def test_jsonl_keeps_ids_titles_and_sources(tmp_path: Path) -> None:
    rows = [
        {"id": "x1", "title": "Tides", "text": "High at noon.", "source": "almanac"},
        {"id": 7, "text": "Low at six."},
        {"text": "No id."},
        {"id": "long", "text": " ".join([STORY] * 3)},
        {"id": "x1", "title": "Tides", "text": "High at noon.", "source": "almanac"},
    ]
    path = write(tmp_path, "pool.jsonl", "\n".join(map(json.dumps, rows)) + "\n\n")
    first, second, third, *pieces = read(path, 100)
    assert first == Passage(
        id="x1", text="High at noon.", title="Tides", source="almanac", start=0, end=13
    )
    assert (second.id, second.source, second.title) == ("7", str(path), "")
    assert (third.text, len(third.id)) == ("No id.", 16)
    assert [p.id for p in pieces] == [f"long#{n}" for n in range(1, len(pieces) + 1)]
    assert len(pieces) > 5


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"text": "a"', "line 2, is not JSON"),
        ("[1]", "line 2, cannot be used"),
        ('{"title": "no text"}', "a string under `text`"),
        ('{"text": "a", "id": [1]}', "`id` is [1]"),
        ('{"text": "other", "id": "one"}', "same id 'one'"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = write(tmp_path, "bad.jsonl", '{"text": "fine", "id": "one"}\n' + line + "\n")
    assert why in refused(path)


def test_an_empty_text_in_jsonl_is_a_problem_not_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "gap.jsonl", '{"text": ""}\n{"text": "half \\ud83d pair"}\n')
    document = parse(load(path), path)
    assert document.problems == ("line 1 has an empty text and was left out",)
    assert [p.text for p in read(path)] == ["half \ufffd pair"]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("empty.txt", b"", "is empty"),
        ("blank.md", b" \n\n", "is empty"),
        ("nul.txt", b"MZ\x00\x01\x02", "NUL bytes"),
        ("latin.txt", "Zürich".encode("latin-1"), "not valid utf-8 at byte 1"),
        ("tags.html", b"<p><br></p>", "holds no text"),
        ("broken.pdf", b"%PDF-1.4\n1 0 obj\n<<", "the PDF is broken"),
        ("not.pdf", b"hello there", "the PDF is broken"),
        ("not.docx", b"PK\x03\x04 hello", "not a sound Word document"),
        ("what.xyz", b"hello", "format is unknown"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    assert why in refused(write(tmp_path, name, content))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "nothing.txt")
    assert "not a file" in refused(tmp_path)


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_BYTES", 10)
    assert "too large" in refused(write(tmp_path, "big.txt", "more than ten bytes"))


@pytest.mark.parametrize(("name", "module"), [("a.pdf", "pypdfium2"), ("a.docx", "docx")])
def test_a_missing_extra_is_named(
    tmp_path: Path, name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"citeproof\[(pdf|office)\]"):
        read(write(tmp_path, name, b"x"))


def test_utf_16_and_byte_order_marks(tmp_path: Path) -> None:
    assert read(write(tmp_path, "a.txt", "Zürich.".encode("utf-16")))[0].text == "Zürich."
    assert read(write(tmp_path, "b.txt", "Zürich.".encode("utf-8-sig")))[0].start == 0


def test_find(tmp_path: Path) -> None:
    kept = [write(tmp_path, name, "x") for name in ("a.md", "sub/b.TXT", "sub/deeper/c.pdf")]
    write(tmp_path, ".hidden.md", "x")
    write(tmp_path, ".store/d.md", "x")
    other = write(tmp_path, "picture.png", "x")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    (tmp_path / "again.md").symlink_to(kept[0])
    os.mkfifo(tmp_path / "pipe.txt")
    found = find([tmp_path, kept[0], tmp_path / "gone.txt"])
    assert found.files == kept
    assert found.skipped == [other]
    assert [path.name for path, _ in found.errors] == ["pipe.txt", "gone.txt"]
