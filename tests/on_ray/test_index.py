from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from citeproof.actors import Actors
from citeproof.memory.index import Index, IndexReport
from citeproof.settings import ChromaSettings, RaySettings, RetrieverSettings
from citeproof.tools.spread import SpreadEmbeddings
from tests.memory.fakes import WordEmbeddings
from tests.on_ray.workers import open_embedder

TWO = RaySettings(actors=2)
KIND = RetrieverSettings(passage_words=20)


def documents(folder: Path) -> Path:
    folder.mkdir()
    for n in range(60):
        told = " ".join(f"Sentence {m} of file {n} says what number {n * m} is." for m in range(9))
        (folder / f"{n}.txt").write_text(told)
    (folder / "empty.txt").write_text("")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    return folder


def held(index: Index) -> tuple[Any, ...]:
    """All passages, and how near each is to some queries."""
    near = index.candidates(["Sentence 3 of file 5", "what number 7 is"], index.count())
    passages = sorted(index.passages(), key=lambda own: own.id)
    return passages, [sorted((own.id, own.cosine) for own in found) for found in near]


def counted(report: IndexReport) -> list[int]:
    outcomes = (report.added, report.unchanged, report.errors, report.left_out)
    return [*map(len, outcomes), report.passages]


def test_an_index_made_in_actors_is_the_one_made_here(tmp_path: Path) -> None:
    folder = documents(tmp_path / "documents")
    with closing(Index.open(ChromaSettings(path=tmp_path / "a"), KIND, WordEmbeddings())) as index:
        alone = index.update([folder])
        expected = held(index)
    with Actors(open_embedder, TWO) as actors:
        embeddings, chroma = SpreadEmbeddings(actors), ChromaSettings(path=tmp_path / "b")
        with closing(Index.open(chroma, KIND, embeddings, actors=actors)) as index:
            spread = index.update([folder])
            assert held(index) == expected
            (folder / "1.txt").write_text("It says something else.")
            again = index.update([folder])
        assert embeddings.embed_query("number 7") == WordEmbeddings().embed_query("number 7")
    assert spread == alone
    assert counted(spread) == [60, 0, 1, 1, len(expected[0])]
    assert (again.updated, len(again.unchanged)) == ((str(folder / "1.txt"),), 59)
    with closing(Index.open(ChromaSettings(path=tmp_path / "b"), KIND, WordEmbeddings())) as index:
        assert index.candidates(["Sentence 3 of file 5"], 1)  # it is known by the model's own name
