from __future__ import annotations

from pathlib import Path

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

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        write_whole(target, "new")
    assert {file: file.read_text("utf-8") for file in tmp_path.iterdir()} == {target: "old ✓"}


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
