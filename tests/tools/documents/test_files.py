from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from citeproof.errors import DocumentError, MissingExtraError
from citeproof.tools.documents import files as documents
from citeproof.tools.documents.files import find, load, parse
from citeproof.types import Passage
from tests.tools.documents.reading import STORY, read_file


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path) -> str:
    with pytest.raises(DocumentError) as caught:
        read_file(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_text_is_cut_at_sentence_ends_with_exact_offsets(tmp_path: Path) -> None:
    path = write(tmp_path, "story.txt", f"The Lighthouse\n\n{STORY}\r\n\r\nAnd so it ends.\n")
    text = path.read_text(encoding="utf-8")
    passages = read_file(path, 100)
    assert len(passages) == 4
    assert all(text[p.start : p.end] == p.text for p in passages)
    assert all(p.text.endswith(".") for p in passages)
    assert all(80 <= len(p.text.split()) <= 120 for p in passages)
    assert {(p.title, p.source, p.page) for p in passages} == {("The Lighthouse", str(path), None)}
    assert len({p.id for p in passages}) == 4


def test_text_without_heading_is_named_for_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, "plain.txt", "Only this.")
    [passage] = read_file(path)
    assert passage == Passage(
        id=passage.id, text="Only this.", title="plain", source=str(path), start=0, end=10
    )


def test_a_list_of_short_lines_is_not_taken_for_headings(tmp_path: Path) -> None:
    (passage,) = read_file(write(tmp_path, "list.txt", "Apples\n\nPears\n\nPlums\n"))
    assert passage.text == "Apples\n\nPears\n\nPlums"


def test_a_sentence_without_end_is_cut_between_words(tmp_path: Path) -> None:
    passages = read_file(write(tmp_path, "endless.txt", "word " * 2000), 100)
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
    text = path.read_text(encoding="utf-8").replace("*", "")  # emphasis is no part of the text
    passages = read_file(path, 100)
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


def test_markdown_of_headings_only_is_not_lost(tmp_path: Path) -> None:
    (passage,) = read_file(write(tmp_path, "heads.md", "# One\n\n## Two\n"))
    assert passage.text == "# One\n\n## Two"


def test_a_name_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    with pytest.raises(DocumentError, match="its name is not UTF-8"):
        read_file(path)


def test_jsonl_keeps_ids_titles_and_sources(tmp_path: Path) -> None:
    rows = [
        {"id": "x1", "title": "Tides", "text": "High at noon.", "source": "almanac"},
        {"id": 7, "text": "Low at six."},
        {"text": "No id."},
        {"id": "long", "text": " ".join([STORY] * 3)},
        {"id": "x1", "title": "Tides", "text": "High at noon.", "source": "almanac"},
    ]
    path = write(tmp_path, "pool.jsonl", "\n".join(map(json.dumps, rows)) + "\n\n")
    first, second, third, *pieces = read_file(path, 100)
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
        (json.dumps({"text": "a", "source": "b" * 2_001}), "more than 2,000 characters"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = write(tmp_path, "bad.jsonl", '{"text": "fine", "id": "one"}\n' + line + "\n")
    assert why in refused(path)


def test_an_empty_text_in_jsonl_is_a_problem_not_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "gap.jsonl", '{"text": ""}\n{"text": "half \\ud83d pair"}\n')
    document = parse(load(path), path)
    assert document.problems == ("line 1 has an empty text and was left out",)
    assert [p.text for p in read_file(path)] == ["half \ufffd pair"]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("empty.txt", b"", "is empty"),
        ("blank.md", b" \n\n", "is empty"),
        ("nul.txt", b"MZ\x00\x01\x02", "NUL bytes"),
        ("tags.html", b"<p><br></p>", "holds no text"),
        ("broken.pdf", b"%PDF-1.4\n1 0 obj\n<<", "the PDF is broken"),
        ("not.pdf", b"hello there", "the PDF is broken"),
        ("not.docx", b"PK\x03\x04 hello", "not a valid zip archive"),
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


@pytest.mark.parametrize(
    ("name", "module"), [("a.pdf", "pypdfium2"), ("a.pptx", "pptx"), ("a.xlsx", "openpyxl")]
)
def test_a_missing_extra_is_named(
    tmp_path: Path, name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"citeproof\[(pdf|office)\]"):
        read_file(write(tmp_path, name, b"x"))


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
