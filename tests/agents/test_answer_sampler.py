"""Several answers to one prompt, at once."""

from __future__ import annotations

import asyncio
from typing import Any

from citeproof import LLM
from citeproof.agents.answer_sampler import AnswerSampler
from citeproof.testing import ScriptedChatModel
from tests.agents.baseline_states import reading


async def test_each_sample_is_an_answer_to_the_same_prompt() -> None:
    model = ScriptedChatModel(["One [1].", "Two [2].", "DONE"])
    update = await AnswerSampler(LLM(model), samples=3)(reading())
    texts = [[claim.text for claim in claims] for claims in update["samples"]]
    assert sorted(texts) == [[], ["One."], ["Two."]]
    assert len({call.prompt for call in model.calls}) == 1
    assert {call.arguments["temperature"] for call in model.calls} == {1.0}


class Slow:
    """Stands where an LLM goes; notes how many calls are under way, and their sample numbers."""

    answers_in_json = False

    def __init__(self) -> None:
        self.now = self.most = 0
        self.samples: list[int] = []

    async def text(self, prompt: Any, *, sample: int, **options: Any) -> str:
        """Let the others begin before this call ends."""
        self.samples.append(sample)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return "One [1]."


async def test_they_are_asked_for_at_once_each_with_a_seed_of_its_own() -> None:
    llm = Slow()
    await AnswerSampler(llm, samples=4)(reading())  # type: ignore[arg-type]
    assert llm.most == 4
    assert sorted(llm.samples) == [0, 1, 2, 3]


async def test_no_passages_are_empty_samples_and_no_call() -> None:
    model = ScriptedChatModel([])
    assert await AnswerSampler(LLM(model), samples=2)(reading(long_term=[])) == {
        "samples": [[], []]
    }
