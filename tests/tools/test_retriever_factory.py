from __future__ import annotations

from pathlib import Path

import pytest

from citeproof.errors import SettingsError
from citeproof.settings import Settings
from citeproof.tools.retrieval.sources import make_retriever

MODULE = """
from citeproof.tools.retrieval import from_texts

def plain():
    return from_texts(["The tide is high at noon."])

def told(settings):
    return from_texts([f"passages of {settings.retriever.passage_words} words"])

def wrong():
    return 3

def broken():
    raise OSError("no such shelf")

number = 3
"""


@pytest.fixture(autouse=True)
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_search.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "query", "text"),
    [("plain", "tide", "The tide is high at noon."), ("told", "words", "passages of 100 words")],
)
async def test_a_factory_makes_a_retriever(name: str, query: str, text: str) -> None:
    retriever = make_retriever(f"python:own_search:{name}", Settings())
    assert [one.text for one in await retriever.retrieve(query, 3)] == [text]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("python:own_search", "package.module:function"),
        ("python:no_such_module:made", "No module named"),
        ("python:own_search:absent", "no attribute 'absent'"),
        ("python:own_search:number", "not callable"),
        ("python:own_search:wrong", "A int cannot be used as a retriever"),
        ("python:own_search:broken", "no such shelf"),
    ],
)
def test_what_cannot_be_made_is_told(source: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        make_retriever(source, Settings())
