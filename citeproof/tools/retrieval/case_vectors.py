"""Vectors of the memory bank's cases, one for each kind of snippet."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Literal, get_args

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from citeproof.tools.retrieval.embeddings import embed_texts

Vector = NDArray[np.float32]

Kind = Literal["generation", "assessment", "planning"]
"""The step that a snippet demonstrates."""
KINDS: tuple[Kind, ...] = get_args(Kind)

Part = str | tuple[str, ...]
"""A text, or several that count as one part, as the passages do."""
_PARTS: Mapping[Kind, int] = {"generation": 2, "assessment": 3, "planning": 4}
"""How many of question, passages, answer and feedback identify a kind (Ji et al., Table 1)."""

_PIECE = 600
"""Bytes of a piece that is embedded at once. MiniLM's 256 tokens hold more of prose, even if it has
tables and code."""
_PIECES = 4096
"""Most cached vectors of pieces: a run asks again for those of its question and passages."""


class CaseEncoder:
    """Encodes cases as vectors; threads may share an instance.

    Each part is embedded on its own, and a long text in pieces, so that the encoder's window cuts
    nothing off. A part's vector is the mean of its pieces' vectors, and a case's vector the mean of
    its parts' vectors, all scaled to length 1. So the question weighs as much as the passages.
    """

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, cases: Sequence[tuple[Part, ...]]) -> list[dict[Kind, Vector]]:
        """Return a vector of length 1 for each kind, for each case, given by its four parts."""
        pieces = [[_pieces(part) for part in case] for case in cases]
        texts = dict.fromkeys(text for case in pieces for part in case for text in part)
        known = self._embed(list(texts))
        made: list[dict[Kind, Vector]] = []
        for case in pieces:
            parts = [_mean([known[text] for text in part]) if part else None for part in case]
            made.append(
                {kind: _mean([v for v in parts[:n] if v is not None]) for kind, n in _PARTS.items()}
            )
        return made

    def _embed(self, texts: list[str]) -> dict[str, Vector]:
        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in texts if text not in known]
        rows = embed_texts(self._embeddings, missing)
        fresh = {
            text: _mean([np.asarray(row, np.float32)])
            for text, row in zip(missing, rows, strict=True)
        }
        with self._lock:
            self._kept |= fresh
            while len(self._kept) > _PIECES:
                self._kept.popitem(last=False)
        return known | fresh


def _pieces(part: Part) -> list[str]:
    """Cut the texts of a part into pieces of about 600 bytes, between words if there are any."""
    texts = [part] if isinstance(part, str) else part
    return [
        piece
        for text in texts
        if text.strip()
        for piece in wrap(text, max(1, _PIECE * len(text) // len(text.encode())))
    ]


def _mean(vectors: Sequence[Vector]) -> Vector:
    total: Vector = np.sum(vectors, axis=0, dtype=np.float32)
    unit: Vector = total / max(float(np.linalg.norm(total)), 1e-12)
    return unit
