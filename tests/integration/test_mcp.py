"""`citeproof mcp` on the embedded models: the protocol's own client uses each tool."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from citeproof import Answer, CheckReport, Settings
from citeproof.memory.index import Index
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from tests.integration.conftest import EXAMPLES

QUESTION = "How long does the keeper's loaf stay good?"
TRUE = "The keeper's loaf stays good for nine days."
FALSE = "The keeper's loaf stays good for ninety days."


@pytest.fixture
def store(tmp_path: Path) -> Path:
    settings = Settings.load(chroma={"path": tmp_path / "store"})
    index = Index.open(settings.chroma, settings.retriever, open_embedder(settings, None))
    assert not index.update([EXAMPLES / "documents" / "tregears-bakery.md"]).errors
    index.close()
    return settings.chroma.path


async def test_a_client_searches_reads_asks_and_checks(store: Path) -> None:
    command = ["-m", "citeproof", "mcp", "--store", str(store)]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    server = StdioServerParameters(command=sys.executable, args=command, env=environment)
    steps: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool: str, **arguments: Any) -> Any:
            result = await session.call_tool(tool, arguments, progress_callback=progress)
            assert not result.isError, result.content
            return result.structuredContent

        passage = (await call("search", query=QUESTION, k=1))["passages"][0]
        whole = await call("read", place=passage["source"])
        report = CheckReport.model_validate(await call("check", text=f"{TRUE} {FALSE}"))
        answer = Answer.model_validate(await call("ask", question=QUESTION))

    assert "nine days" in passage["text"]
    assert passage["text"] in whole["text"]
    true, false = report.sentences
    assert true.verdict == "uncited"  # a passage supports it
    assert false.verdict in ("unsupported", "contradicted")
    assert answer.claims[0].verdict.status == "supported"
    assert "nine days" in answer.text or "9 days" in answer.text
    assert {"retriever", f"accepted: {answer.claims[0].text}"} <= set(steps)
