"""The shipped models by address: `citeproof serve` in front of them, and a client without any."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from citeproof import Settings, Toolbox
from citeproof.models.embedder import load_embedder
from citeproof.settings import EmbeddingSettings, EntailmentSettings
from citeproof.testing import ScriptedChatModel
from citeproof.tools.entailment import Entailment, Pair, contradicts
from citeproof.tools.entailment.opening import open_answerability, open_first
from citeproof.tools.retrieval.remote_embeddings import RemoteEmbeddings
from tests.server.serving import served

CASES = Path(__file__).parents[1] / "data" / "hard_cases.jsonl"
GROUP = 8
"""Pairs of a batch: half precision rounds otherwise in a batch of another shape."""


def test_scores_and_vectors_by_address_are_those_in_process(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()][:15]
    pairs = [Pair(row["premise"], row["hypothesis"]) for row in rows]
    long = " ".join(row["premise"] for row in rows)
    pairs += [Pair(long * 2, rows[0]["hypothesis"])]
    settings = Settings.load(entailment={"kind": "cross-encoder"})
    here = open_first(settings.entailment, settings.models)
    embedder = load_embedder(settings.embedding, settings.models)
    answers = open_answerability(settings)
    assert answers is not None
    tools = Toolbox(ScriptedChatModel(["."]), entailment=here, answerability=answers)
    tools.embeddings = embedder
    texts = [pair.premise for pair in pairs]

    async def compared(there: Entailment, here: Entailment) -> None:
        for begin in range(0, len(pairs), GROUP):
            group = pairs[begin : begin + GROUP]
            found, wanted = await there.scores(group), await here.scores(group)
            assert found == pytest.approx(wanted, abs=1e-6)
            assert [contradicts(one) for one in found] == [contradicts(one) for one in wanted]

    with served(tmp_path, tools) as url:
        asked = EntailmentSettings(kind="cross-encoder", base_url=url, timeout=600)
        there = open_first(asked, settings.models)
        answers_there = open_answerability(settings.model_copy(update={"entailment": asked}))
        assert answers_there is not None
        asyncio.run(compared(there, here))
        asyncio.run(compared(answers_there, answers))
        remote = RemoteEmbeddings(EmbeddingSettings(base_url=f"{url}/v1"))
        vectors = remote.embed_documents(texts)
    assert (there.name, there.threshold) == (here.name, here.threshold)
    assert (answers_there.name, answers_there.threshold) == (answers.name, answers.threshold)
    for one, other in zip(vectors, embedder.embed_documents(texts), strict=True):
        assert one == pytest.approx(other, abs=1e-6)
