"""What documents an index has, and that one can be taken out of it."""

from __future__ import annotations

from pathlib import Path

from citeproof.memory.index import Index
from citeproof.settings import ChromaSettings, RetrieverSettings
from tests.memory.fakes import WordEmbeddings


def test_a_document_is_taken_out_of_both_searches(tmp_path: Path) -> None:
    tower, light = tmp_path / "tower.md", tmp_path / "light.md"
    tower.write_text("Ann Lee built the tower.")
    light.write_text("The lamp was lit in 1871.")
    chroma = ChromaSettings(path=tmp_path / "store")
    index = Index.open(chroma, RetrieverSettings(), WordEmbeddings())
    assert index.documents() == []
    index.remove([tower])  # of an index that is not there yet
    index.update([tower, light])
    assert sorted(index.documents()) == [str(light), str(tower)]
    [gone] = index.lexical(["tower"], 1)
    index.remove([tower, tmp_path / "unknown.md"])
    assert index.documents() == [str(light)]
    assert index.lexical(["tower"], 5) == [[]]
    assert gone[0] not in index.dense(["tower"], 5)[0]
    assert tower.is_file()
    assert index.update([tower]).added == (str(tower),)
    assert index.count() == 2
    index.close()
