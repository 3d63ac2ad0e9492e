"""Archives that are made to harm."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from citeproof.errors import DocumentError
from citeproof.tools.documents import archives
from citeproof.tools.documents.archives import Archive, parse_xml

PATH = Path("/a.docx")


def packed(members: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        Archive(data, PATH, "Save it anew.")
    return caught.value.why


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = packed({"a.xml": b" " * 30_000_000})
    assert "more than 200 times its size" in refused(dense)
    monkeypatch.setattr(archives, "_MOST_UNPACKED", 1_000)
    assert "more than a gigabyte" in refused(dense)
    monkeypatch.setattr(archives, "_MOST_ENTRIES", 2)
    assert "more than 2 files" in refused(packed(dict.fromkeys("abc", b"")))


def test_old_office_and_other_files_are_told_apart() -> None:
    assert "Office 97" in refused(b"\xd0\xcf\x11\xe0 old")
    assert "not a sound zip archive" in refused(b"PK\3\4 no")


def test_a_missing_or_damaged_member_is_named() -> None:
    archive = Archive(packed({"a.xml": b"<a"}), PATH, "")
    with pytest.raises(DocumentError, match="b.xml in it is missing"):
        archive.read("b.xml")
    with pytest.raises(DocumentError, match="a.xml in it is damaged"):
        archive.xml("a.xml")


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    named = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{tmp_path}/secret">]><x>&a;</x>'
    assert "".join(parse_xml(named.encode()).itertext("x")) == ""
