from __future__ import annotations

from pathlib import Path

from citeproof.files import write_whole


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "answer.html"
    write_whole(file, "Old.")
    assert file.stat().st_mode & 0o400
    file.chmod(0o600)
    write_whole(file, ["New.", " Newer."])
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("New. Newer.", 0o600)
    assert list(tmp_path.iterdir()) == [file]
