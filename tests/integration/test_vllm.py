"""A real vLLM server, where `CITEPROOF_TEST_VLLM_URL` names one (http://host:8000/v1)."""

from __future__ import annotations

import os

import httpx
import pytest
from pydantic import BaseModel, Field, SecretStr

from citeproof.prompts import Prompt
from citeproof.runtime.meter import Meter, use_meter
from citeproof.settings import LLMSettings, ModelSettings
from citeproof.tools.llm.model import LLM
from citeproof.tools.llm.opening import open_llm

URL = os.environ.get("CITEPROOF_TEST_VLLM_URL", "")
KEY = os.environ.get("VLLM_API_KEY", "not-needed")

pytestmark = pytest.mark.skipif(not URL, reason="CITEPROOF_TEST_VLLM_URL names no server")

ASK = Prompt("You answer briefly.", "Question: What is the capital of France?", "Answer it.")


class Capitals(BaseModel):
    """Capitals of countries."""

    cities: list[str] = Field(min_length=2, max_length=2)


@pytest.fixture
def llm() -> LLM:
    found = httpx.get(f"{URL}/models", headers={"Authorization": f"Bearer {KEY}"}, timeout=30)
    model = found.raise_for_status().json()["data"][0]["id"]
    settings = LLMSettings(model=f"vllm:{model}", base_url=URL, api_key=SecretStr(KEY))
    return open_llm(settings, ModelSettings())


async def test_it_goes_on_with_a_reply(llm: LLM) -> None:
    begun = Prompt(ASK.system, ASK.context, ASK.task, "The capital of France is")
    with use_meter(Meter()) as meter:
        added = await llm.text(begun, max_tokens=8)
        pieces: list[str] = []
        assert await llm.text(begun, max_tokens=8, on_delta=pieces.append) == "".join(pieces)
    for text in (added, "".join(pieces)):
        assert "Paris" in text
        assert "capital" not in text
    assert meter.used.prompt_tokens > 20
    assert 0 < meter.used.completion_tokens <= 16


async def test_it_keeps_to_a_schema(llm: LLM) -> None:
    with use_meter(Meter()) as meter:
        ask = Prompt("", "", "Name the capitals of France and of Italy, as JSON.")
        found = await llm.parse(ask, Capitals)
    assert {city.casefold() for city in found.cities} == {"paris", "rome"}
    assert meter.used.llm_calls == 1
    assert meter.notes == []


async def test_it_gives_probabilities(llm: LLM) -> None:
    with use_meter(Meter()) as meter:
        ask = Prompt("", "", "Is Paris the capital of France? Reply with Yes or No only.")
        found = await llm.choose(ask, ("Yes", "No"))
    assert found["Yes"] > 0.5
    assert meter.notes == []
