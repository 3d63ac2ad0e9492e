"""Lexical search: BM25 over stemmed words, kept in a folder between runs."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from citeproof.tools.sentences import MARKS, UNSPACED

__all__ = ["BM25"]

# Scripts without spaces are searched character by character.
_TOKEN = rf"[{UNSPACED}]|(?:[^\W{UNSPACED}][{MARKS}]*)+"
_VERSION = 2
"""Goes up when the tokens change, so that an index kept by an older version is built anew."""


class BM25:
    """A BM25 index; `build` and `load` make one.

    Words are folded to lower case without accents and stemmed; English stop words are left
    out. Scoring is bm25s's default (Lucene's variant, k1 1.5, b 0.75).
    """

    def __init__(self, ids: list[str], model: Any) -> None:
        self._ids = ids
        self._rows = {key: row for row, key in enumerate(ids)}
        self._model = model
        self._lock = threading.Lock()

    @classmethod
    def build(cls, ids: Sequence[str], texts: Sequence[str]) -> BM25:
        """Index the texts; `ids[n]` is found for `texts[n]`."""
        import bm25s

        tokens = _tokens(texts)
        model = None
        if any(tokens):
            model = bm25s.BM25()
            model.index(tokens, show_progress=False)
        return cls(list(ids), model)

    @classmethod
    def load(cls, folder: Path, fingerprint: str) -> BM25 | None:
        """What `save` kept; None if there is nothing, or it is of another fingerprint."""
        import bm25s

        try:
            kept = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
            if kept["fingerprint"] != f"{_VERSION}:{fingerprint}":
                return None
            model = bm25s.BM25.load(str(folder), mmap=True) if kept["terms"] else None
            return cls(kept["ids"], model)
        except Exception:  # half a file, or another bm25s; it can always be built anew
            return None

    def save(self, folder: Path, fingerprint: str) -> None:
        """Keep the index in `folder`, in place of what is there."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        try:
            if self._model is not None:
                self._model.save(str(fresh), show_progress=False)
            kept = {
                "fingerprint": f"{_VERSION}:{fingerprint}",
                "terms": self._model is not None,
                "ids": self._ids,
            }
            (fresh / "ids.json").write_text(json.dumps(kept), encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            fresh.replace(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def search(self, queries: Sequence[str], k: int) -> list[list[str]]:
        """For each query the ids of the k best texts; fewer where fewer share a word with it."""
        import numpy as np

        found: list[list[str]] = []
        for scores in self._scores(queries):
            order = np.argsort(-scores, kind="stable")[:k]
            found.append([self._ids[row] for row in order if scores[row] > 0])
        return found

    def scores(self, queries: Sequence[str], ids: Sequence[Sequence[str]]) -> list[list[float]]:
        """For each query the scores of its `ids`; 0 where a text shares no word with it."""
        rows = [[self._rows.get(key) for key in some] for some in ids]
        return [
            [0.0 if row is None else float(scores[row]) for row in some]
            for scores, some in zip(self._scores(queries), rows, strict=True)
        ]

    def _scores(self, queries: Sequence[str]) -> Iterator[Any]:
        import numpy as np

        for tokens in _tokens(queries):
            if self._model is None or not tokens:
                yield np.zeros(len(self._ids), dtype=np.float32)
                continue
            with self._lock:
                scores = self._model.get_scores(tokens)
            yield scores


def _tokens(texts: Sequence[str]) -> list[list[str]]:
    import bm25s
    import Stemmer

    tokens: list[list[str]] = bm25s.tokenize(
        [_folded(text) for text in texts],
        token_pattern=_TOKEN,
        stopwords="en",
        stemmer=Stemmer.Stemmer("english"),
        return_ids=False,
        show_progress=False,
    )
    return tokens


def _folded(text: str) -> str:
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", re.sub(r"[\u0300-\u036f]", "", parts))
