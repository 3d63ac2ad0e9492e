"""Candidates in the order of a cross-encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from citeproof.errors import InputError, ModelError
from citeproof.testing import ListRetriever, TableEntailment
from citeproof.tools.entailment import Pair
from citeproof.tools.entailment.cross_encoder import CrossEncoder
from citeproof.tools.retrieval import as_langchain, coerce_retriever
from citeproof.tools.retrieval.cross_encoder_reranker import CrossEncoderReranker
from tests.agents.states import A, B, C
from tests.tools.test_nli_models import bert

SCORES = {("Who?", A.premise): 0.2, ("Who?", B.premise): 0.9, ("Who?", C.premise): 0.2}


def reranker(k: int = 50) -> tuple[CrossEncoderReranker, ListRetriever, TableEntailment]:
    source, scorer = ListRetriever(lambda _: [A, B, C]), TableEntailment(SCORES)
    return CrossEncoderReranker(source, scorer, candidates=k), source, scorer


async def test_the_best_come_first_and_equal_ones_keep_their_order() -> None:
    made, _, scorer = reranker()
    assert await made.retrieve("Who?", 3) == [B, A, C]
    assert await made.retrieve("Who?", 1) == [B]
    assert scorer.batches == [3, 3]
    with pytest.raises(InputError, match="0 passages"):
        await made.retrieve("Who?", 0)
    assert await CrossEncoderReranker(ListRetriever([]), scorer).retrieve("Who?", 5) == []
    assert scorer.batches == [3, 3], "nothing found is nothing scored"


async def test_so_many_candidates_are_read_but_k_at_least() -> None:
    made, _, scorer = reranker(1)
    assert await made.retrieve("Who?", 1) == [A]
    assert await made.retrieve("Who?", 2) == [B, A]
    assert scorer.batches == [1, 2]


async def test_it_is_a_retriever_for_citeproof_and_for_langchain() -> None:
    made, _, _ = reranker()
    assert coerce_retriever(made) is made
    documents = await as_langchain(made, k=2).ainvoke("Who?")
    assert [document.id for document in documents] == ["b", "a"]


async def test_a_folder_is_loaded_as_a_cross_encoder(tmp_path: Path) -> None:
    folder = bert(tmp_path, ["LABEL_0"])
    made = CrossEncoderReranker(ListRetriever(lambda _: [A, B, C]), folder)
    found = await made.retrieve("lee", 3)
    scores = await CrossEncoder(folder).scores([Pair("lee", p.premise) for p in (A, B, C)])
    ranked = [p for _, p in sorted(zip(scores, (A, B, C), strict=True), key=lambda one: -one[0])]
    assert found == ranked
    assert len(set(scores)) == 3


async def test_a_model_that_cannot_be_had_is_an_error(tmp_path: Path) -> None:
    made = CrossEncoderReranker(ListRetriever(lambda _: [A]), str(tmp_path / "none"))
    with pytest.raises(ModelError, match="cannot be reranked.*Name a sentence-transformers"):
        await made.retrieve("Who?", 1)
