"""`/predict`, `/info` and `/v1/embeddings`: the server's own models, for other processes."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import openai
import pytest

from citeproof import Toolbox
from citeproof.errors import ModelError, VerifierOutageError
from citeproof.settings import EmbeddingSettings, EntailmentSettings
from citeproof.testing import ScriptedChatModel, TableEntailment
from citeproof.tools.entailment import Entailment, Pair, Score
from citeproof.tools.entailment.cascade import Cascade
from citeproof.tools.entailment.opening import open_entailment
from citeproof.tools.retrieval.remote_embeddings import RemoteEmbeddings
from tests.memory.fakes import WordEmbeddings
from tests.server.serving import HeldEntailment, client, reply, served

TOKEN = "a-token-of-this-test"
PAIRS = [Pair("The tower is lit.", "The tower is lit."), Pair("It is " + "dark. " * 9000, "Lit.")]


def table(premise: str, hypothesis: str) -> float:
    return Score(0.9, 0.05) if hypothesis in premise else Score(0.123456789, 0.7)


def tools(entailment: Entailment | None = None) -> Toolbox:
    """Scripted models; behind the entailment model a judge whom nobody may ask."""
    never = Mock(side_effect=AssertionError("the judge has an address of its own"))
    first = entailment or TableEntailment(table)
    made = Toolbox(ScriptedChatModel(reply), entailment=Cascade(first, never, band=(0.0, 1.0)))
    made.embeddings = WordEmbeddings()
    return made


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("store"), tools(), token=TOKEN) as found:
        yield found


def opened(url: str, **more: Any) -> Entailment:
    settings = EntailmentSettings(base_url=url, **{"model": "table", "api_key": TOKEN, **more})
    return open_entailment(settings, Mock(side_effect=AssertionError("no model is asked")))


async def test_scores_by_address_are_those_of_the_server(url: str) -> None:
    found = await opened(url).scores(PAIRS)
    wanted = [table(pair.premise, pair.hypothesis) for pair in PAIRS]
    assert found == wanted
    assert [getattr(s, "contradiction", None) for s in found] == [0.05, 0.7]


async def test_the_answerability_model_has_routes_of_its_own(tmp_path: Path) -> None:
    body = {"inputs": [["The tower is lit.", "Is it lit?"]]}
    made = tools()
    made.answerability = TableEntailment(lambda premise, hypothesis: 0.25, name="answers")
    async with client(tmp_path, made) as there:
        info = (await there.get("/answerability/info")).json()
        [[found]] = (await there.post("/answerability/predict", json=body)).json()
        [other, _] = (await there.post("/predict", json=body)).json()[0]
    assert (info["model_id"], found["score"]) == ("answers", 0.25)
    assert other["score"] != 0.25
    async with client(tmp_path, tools()) as there:
        none = await there.get("/answerability/info")
    assert none.status_code == 400
    assert "no answerability model" in none.text


def test_vectors_by_address_are_those_of_the_server(url: str) -> None:
    texts = [f"The tower of the year {n} is lit." for n in range(300)]
    own = WordEmbeddings()
    settings = EmbeddingSettings(model=own.name, base_url=f"{url}/v1", api_key=TOKEN)
    there = RemoteEmbeddings(settings)
    found = there.embed_documents(texts)
    for one, other in zip(found, own.embed_documents(texts), strict=True):
        length = sum(number * number for number in other) ** 0.5
        assert one == pytest.approx([number / length for number in other])


def test_openais_client_gets_vectors(url: str) -> None:
    ai = openai.OpenAI(base_url=f"{url}/v1", api_key=TOKEN, max_retries=0)
    name = WordEmbeddings().name
    [one] = ai.embeddings.create(model=name, input="A tower.").data  # asks for base64 by itself
    assert one.embedding == pytest.approx(WordEmbeddings().embed_query("A tower."))
    raw = httpx.post(
        f"{url}/v1/embeddings",
        json={"model": name, "input": ["A tower."], "encoding_format": "base64"},
        headers={"authorization": f"Bearer {TOKEN}"},
    ).json()["data"][0]["embedding"]
    packed = base64.b64decode(raw)
    assert list(struct.unpack(f"<{len(packed) // 4}f", packed)) == pytest.approx(one.embedding)
    with pytest.raises(openai.NotFoundError, match="It has"):
        ai.embeddings.create(model="other", input="A tower.")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/predict", {"inputs": []}, 400),
        ("/predict", {"inputs": [["p", "h"]] * 33}, 400),
        ("/predict", {"inputs": [["alone"]]}, 400),
        ("/predict", {"inputs": [["p" * 1_000_001, "h"]]}, 413),
        ("/v1/embeddings", {"model": "m", "input": ["t"] * 257}, 400),
        ("/v1/embeddings", {"input": "t"}, 400),
    ],
)
def test_what_is_too_much_is_refused(url: str, path: str, body: Any, status: int) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert httpx.post(f"{url}{path}", json=body, headers=headers).status_code == status


@pytest.mark.parametrize(
    "path",
    ["/info", "/predict", "/answerability/info", "/answerability/predict", "/v1/embeddings"],
)
def test_nobody_uses_the_models_without_the_token(url: str, path: str) -> None:
    method = "GET" if path.endswith("/info") else "POST"
    assert httpx.request(method, f"{url}{path}", json={}).status_code == 401
    with pytest.raises(ModelError, match=r"HTTP 401.*entailment\.api_key"):
        opened(url, api_key="wrong-token-of-this-test")


async def test_a_full_server_says_when_to_come_again(tmp_path: Path) -> None:
    held = HeldEntailment(table)
    body = {"inputs": [["p", "h"]]}
    async with client(tmp_path, tools(held), model_requests=1) as there:
        asked = [asyncio.create_task(there.post("/predict", json=body)) for _ in range(10)]
        [first], others = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        held.released.set()
        statuses = {(await reply).status_code for reply in others}
    refused = await first
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert statuses == {200}


def test_a_language_model_that_verifies_is_not_offered(tmp_path: Path) -> None:
    made = Toolbox(ScriptedChatModel(reply))  # it judges by itself
    with served(tmp_path, made) as there:
        with pytest.raises(ModelError, match="a language model verifies here"):
            opened(there, model="anything")
        none = httpx.post(f"{there}/v1/embeddings", json={"model": "m", "input": "t"})
        assert none.status_code == 404


async def test_a_server_that_stops_is_an_outage(tmp_path: Path) -> None:
    with served(tmp_path, tools()) as there:
        model = opened(there, retries=0)
    with pytest.raises(VerifierOutageError, match=f"The entailment server at {there}"):
        await model.scores(PAIRS)
