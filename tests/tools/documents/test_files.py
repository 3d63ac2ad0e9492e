from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from citeproof.errors import DocumentError, MissingExtraError
from citeproof.tools.documents import files as documents
from citeproof.tools.documents.files import find, load
from citeproof.types import Passage
from tests.tools.documents.reading import STORY, passages, read, refused


def write(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_text_is_cut_at_sentence_ends_with_exact_offsets() -> None:
    found = passages(f"The Lighthouse\n\n{STORY}\r\n\r\nAnd so it ends.\n", "/story.txt")
    assert len(found) == 4
    assert all(p.text.endswith(".") for p in found)
    assert all(80 <= len(p.text.split()) <= 120 for p in found)
    assert {(p.title, p.source, p.page) for p in found} == {("The Lighthouse", "/story.txt", None)}
    assert len({p.id for p in found}) == 4


def test_text_without_heading_is_named_for_its_file() -> None:
    [passage] = passages("Only this.", "/plain.txt")
    assert passage == Passage(
        id=passage.id, text="Only this.", title="plain", source="/plain.txt", start=0, end=10
    )


@pytest.mark.parametrize(
    ("name", "text"), [("list.txt", "Apples\n\nPears\n\nPlums"), ("heads.md", "One\n\nTwo")]
)
def test_what_consists_of_short_lines_or_headings_is_one_passage(name: str, text: str) -> None:
    assert [p.text for p in passages(f"{text}\n", name)] == [text]


def test_a_sentence_without_end_is_cut_between_words() -> None:
    counts = [len(p.text.split()) for p in passages("word " * 2000, "endless.txt")]
    assert sum(counts) == 2000
    assert max(counts) <= 150


def test_markdown_sections() -> None:
    *_, last = found = passages(
        f"---\ntitle: From the front\n---\n# The *Guide*\n\n{STORY}\n\n## Getting there\n\n"
        f"{STORY}\n\n### By [ferry](http://x.y)\n\n{STORY}\n\n```\n# not a heading\n```\n\n"
        "Fares\n-----\nThe fare is two crowns.\n\n## Tides\nHigh at noon.\n",
        "guide.md",
    )
    assert list(dict.fromkeys(p.title for p in found)) == [
        "From the front – The Guide",
        "From the front – The Guide – Getting there",
        "From the front – The Guide – Getting there – By ferry",
    ]
    # Two tiny sections make one passage, and keep their headings in its text.
    assert last.text == "Fares\n\nThe fare is two crowns.\n\nTides\n\nHigh at noon."
    assert last.title == "From the front – The Guide"


def test_a_file_that_cannot_be_loaded_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MOST_BYTES", 10)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    for path, why in (
        (tmp_path / "nothing.txt", "no such file"),
        (tmp_path, "not a file"),
        (odd, "its name is not UTF-8"),
        (write(tmp_path, "empty.txt", ""), "is empty"),
        (write(tmp_path, "blank.md", " \n\n"), "is empty"),
        (write(tmp_path, "big.txt", "more than ten bytes"), "too large"),
    ):
        with pytest.raises(DocumentError, match=why) as caught:
            load(path)
        assert path == odd or str(path) in str(caught.value)


def test_jsonl_keeps_ids_titles_and_sources() -> None:
    rows = [
        {"id": "x1", "title": "Tides", "text": "High at noon.", "source": "almanac"},
        {"id": 7, "text": "Low at six."},
        {"text": "No id."},
        {"id": "long", "text": " ".join([STORY] * 3)},
        {"id": "x1", "title": "Tides", "text": "High at noon.", "source": "almanac"},
    ]
    lines = "\n".join(map(json.dumps, rows)) + "\n\n"
    first, second, third, *pieces = passages(lines, "/pool.jsonl")
    assert first == Passage(
        id="x1", text="High at noon.", title="Tides", source="almanac", start=0, end=13
    )
    assert (second.id, second.source, second.title) == ("7", "/pool.jsonl", "")
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
def test_a_bad_line_is_named(line: str, why: str) -> None:
    assert why in refused('{"text": "fine", "id": "one"}\n' + line + "\n", "bad.jsonl")


def test_an_empty_text_in_jsonl_is_a_problem_not_an_error() -> None:
    document = read('{"text": ""}\n{"text": "half \\ud83d pair"}\n', "gap.jsonl")
    assert document.problems == ("line 1 has an empty text and was left out",)
    assert [part.text for part in document.parts] == ["half \ufffd pair"]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("nul.txt", b"MZ\x00\x01\x02", "NUL bytes"),
        ("tags.html", b"<p><br></p>", "holds no text"),
        ("broken.pdf", b"%PDF-1.4\n1 0 obj\n<<", "the PDF is broken"),
        ("not.pdf", b"hello there", "the PDF is broken"),
        ("what.xyz", b"hello", "format is unknown"),
    ],
)
def test_bad_files(name: str, content: bytes, why: str) -> None:
    message = refused(content, f"/docs/{name}")
    assert why in message
    assert f"/docs/{name}" in message


@pytest.mark.parametrize(
    ("name", "module"), [("a.pdf", "pypdfium2"), ("a.pptx", "pptx"), ("a.xlsx", "openpyxl")]
)
def test_a_missing_extra_is_named(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"citeproof\[(pdf|office)\]"):
        read("x", name)


def test_find(tmp_path: Path) -> None:
    kept = [write(tmp_path, name, "x") for name in ("a.md", "sub/b.TXT", "sub/deeper/c.pdf")]
    write(tmp_path, ".hidden.md", "x")
    write(tmp_path, ".store/d.md", "x")
    write(tmp_path, "sub/~$c.docx", "x")
    other = write(tmp_path, "picture.png", "x")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    (tmp_path / "again.md").symlink_to(kept[0])
    os.mkfifo(tmp_path / "pipe.txt")
    found = find([tmp_path, kept[0], tmp_path / "gone.txt"])
    assert found.files == kept
    assert found.skipped == [other]
    assert [path.name for path, _ in found.errors] == ["pipe.txt", "gone.txt"]
