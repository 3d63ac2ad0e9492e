"""Entailment by a chat model that was trained to verify: Bespoke-MiniCheck, Granite Guardian.

The model is that of the role `judge`, on vLLM or another server with OpenAI's protocol.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from citeproof.errors import ModelReplyError
from citeproof.prompts import Prompt
from citeproof.runtime.gather import together
from citeproof.runtime.meter import note
from citeproof.tools.entailment.base import Pair, mark_unread
from citeproof.tools.entailment.chunks import combine
from citeproof.tools.entailment.presets import Preset
from citeproof.tools.llm.model import LLM
from citeproof.tools.llm.replies import option_probabilities, scored_tokens
from citeproof.tools.sentences import sentences

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_SCORE = re.compile(r"<score>\s*(yes|no)\s*</score>", re.IGNORECASE)
_OPENED = re.compile(r"<score>\s*$")
_AT_ONCE = 16
"""Most requests in flight."""


class ChatVerifier:
    """Asks a chat model in the exact words that it was trained on.

    Bespoke-MiniCheck answers Yes if a sentence is supported; the lowest score of a hypothesis's
    sentences counts. Granite Guardian answers yes, between `<score>` marks, if there is a risk that
    the text is not grounded. It reads the hypothesis as the assistant's message and the premise as
    a document of the chat template, so its server must pass on `chat_template_kwargs`, as vLLM
    does.

    Scores from `threshold` on count as entailed.
    """

    def __init__(self, llm: LLM, preset: Preset, *, threshold: float = 0.5) -> None:
        self._llm = llm
        self._preset = preset
        self.name = f"{preset.name}: {llm.name}"
        self.threshold = threshold

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the share of support in the probabilities of Yes and No, for each pair in order.

        If the server gives no probabilities, the answer counts as certain. An answer that is
        neither counts as not supported, and the run's notes say so.
        """
        distinct = list(dict.fromkeys(pairs))
        found = await together([partial(self._score, pair) for pair in distinct], _AT_ONCE)
        known = dict(zip(distinct, found, strict=True))
        return [known[pair] for pair in pairs]

    async def _score(self, pair: Pair) -> float:
        whole = self._preset.sentences == "whole"
        parts = [pair.hypothesis] if whole else sentences(pair.hypothesis)
        ask = self._yes if self._preset.system else self._groundedness
        found = [await ask(pair, part) for part in parts]
        return combine([[score] for score in found], self._preset.sentences)

    async def _yes(self, pair: Pair, hypothesis: str) -> float:
        task = self._preset.template.format(premise=pair.premise, hypothesis=hypothesis)
        try:
            chosen = await self._llm.choose(Prompt(self._preset.system, "", task), ("Yes", "No"))
        except ModelReplyError as error:
            return self._unread(pair, str(error))
        return chosen["Yes"]

    async def _groundedness(self, pair: Pair, hypothesis: str) -> float:
        from langchain_core.messages import AIMessage, HumanMessage

        messages: list[BaseMessage] = [AIMessage(hypothesis)]
        told: dict[str, Any] = {"documents": [{"doc_id": "0", "text": pair.premise}]}
        if self._preset.template:
            messages.append(HumanMessage(self._preset.template))
        else:
            told |= {"guardian_config": {"criteria_id": "groundedness"}, "think": False}
        body = {"chat_template_kwargs": told}
        reply = await self._llm.send(messages, max_tokens=48, body=body)
        risk = _risk(reply)
        return self._unread(pair, f"it said {reply.text[:80]!r}") if risk is None else 1.0 - risk

    def _unread(self, pair: Pair, why: str) -> float:
        note(f"{self._preset.name}: a pair counts as not entailed: {why}")
        mark_unread(pair)
        return 0.0


def _risk(reply: BaseMessage) -> float | None:
    """Return the probability of yes against no after the last `<score>`; None if there is none."""
    said, risk = "", None
    for token in scored_tokens(reply):
        if _OPENED.search(said) and (chances := option_probabilities(token, ("yes", "no"))):
            risk = chances["yes"]
        said += str(token["token"])
    if risk is None and (found := _SCORE.findall(reply.text)):
        risk = float(found[-1].lower() == "yes")
    return risk
