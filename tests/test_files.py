from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from citeproof.errors import InputError
from citeproof.files import refuse_place, write_whole


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "answer.html"
    write_whole(file, "Old.")
    assert file.stat().st_mode & 0o400
    file.chmod(0o600)
    write_whole(file, ["New.", " Newer."])
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("New. Newer.", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "answer.html"
    write_whole(target, "old ✓")
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(Path, "replace", Mock(side_effect=full))
    with pytest.raises(InputError, match="cannot be written: No space left"):
        write_whole(target, "new")
    assert {file: file.read_text("utf-8") for file in tmp_path.iterdir()} == {target: "old ✓"}


def test_a_link_stays_and_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    file, link, pipe = (tmp_path / name for name in ("there/a.html", "a.html", "pipe"))
    file.parent.mkdir()
    link.symlink_to(file)
    for text in ("old", "new"):
        refuse_place(link)
        write_whole(link, text)
        assert (link.is_symlink(), file.read_text()) == (True, text)
    os.mkfifo(pipe)
    for write in (refuse_place, lambda path: write_whole(path, "x")):
        with pytest.raises(InputError, match="pipe cannot be written: it is not a plain file"):
            write(pipe)
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    "place", [".", "nowhere/page.html", "~nosuchuser/page.html", f"{'x' * 300}/page.html"]
)
def test_a_place_where_no_file_can_be_is_refused(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        refuse_place(Path(place))
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(Path(place), "x")
    assert list(tmp_path.iterdir()) == []
