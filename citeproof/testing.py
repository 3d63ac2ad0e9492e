"""Fake models and retrievers for tests.

They don't need pytest, use no network, and record their calls:

    >>> from citeproof.testing import ListRetriever, ScriptedChatModel, TableEntailment, passage
    >>> model = ScriptedChatModel(["The tower is old.", "DONE"])
    >>> model.invoke("Next sentence:").text
    'The tower is old.'
    >>> [call.prompt for call in model.calls]
    ['Next sentence:']
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, PrivateAttr

from citeproof.errors import InputError
from citeproof.tools.entailment import Pair
from citeproof.types import Passage

__all__ = [
    "Call",
    "Choice",
    "ListRetriever",
    "ScriptedChatModel",
    "TableEntailment",
    "passage",
]

_WORDS = re.compile(r"\S+\s*|\s+")


class Choice(dict[str, float]):
    """A reply to `LLM.choose`: `Choice(Yes=0.9, No=0.1)`. Its text is the most probable option."""


Reply = str | Choice | Mapping[str, Any] | BaseModel | BaseException
"""Text; a choice; an object, which is sent as JSON; or an exception, which is raised."""


@dataclass(frozen=True)
class Call:
    """One call of a `ScriptedChatModel`."""

    role: str
    """The role of the calling `LLM`; empty if the model was called directly."""
    prompt: str
    """The texts of all messages, separated by empty lines."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Arguments other than the messages, such as `max_tokens`."""


class ScriptedChatModel(BaseChatModel):
    """A chat model that replies from a script.

    The script is one of
    - a list of replies, used in order;
    - a function of the prompt's text;
    - a mapping whose keys are roles or parts of the prompt's text; the first matching key is used.
      Its value is a list of replies, used in order, or one reply, used every time.

    Streaming yields one word at a time. Token counts are word counts; words of a common prefix with
    the previous prompt count as cached.

    Args:
        replies: The script.
        logprobs: Whether to return probabilities on request; some providers do not.
        delay: Seconds before each reply.

    Raises:
        InputError: A call finds no reply in the script.
    """

    script: Any
    logprobs: bool = True
    delay: float = 0.0
    _calls: list[Call] = PrivateAttr(default_factory=list)
    _given: dict[str, int] = PrivateAttr(default_factory=dict)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(
        self,
        replies: Sequence[Reply] | Mapping[str, Reply | Sequence[Reply]] | Callable[[str], Reply],
        *,
        logprobs: bool = True,
        delay: float = 0.0,
    ) -> None:
        super().__init__(script=replies, logprobs=logprobs, delay=delay)

    @property
    def calls(self) -> list[Call]:
        """The calls so far, in order."""
        return self._calls

    @property
    def _llm_type(self) -> str:
        return "scripted"

    # LangChain looks for `run_manager` in the signature.
    def _generate(self, *given: Any, run_manager: Any = None, **arguments: Any) -> ChatResult:
        time.sleep(self.delay)
        return self._result(run_manager, *given, **arguments)

    async def _agenerate(
        self, *given: Any, run_manager: Any = None, **arguments: Any
    ) -> ChatResult:
        await asyncio.sleep(self.delay)
        return self._result(run_manager, *given, **arguments)

    def _stream(self, *given: Any, **arguments: Any) -> Iterator[ChatGenerationChunk]:
        yield from _chunks(self._generate(*given, **arguments))

    async def _astream(self, *given: Any, **arguments: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(await self._agenerate(*given, **arguments)):
            yield chunk

    async def astream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """Stream a reply, with the role from the config's metadata."""
        # `_astream` gets no run manager, and so no metadata.
        role = ((config or {}).get("metadata") or {}).get("role", "")
        async for chunk in super().astream(input, config, role=role, **kwargs):
            yield chunk

    def _result(
        self,
        run_manager: Any,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        prompt = "\n\n".join(str(message.text) for message in messages)
        metadata = getattr(run_manager, "metadata", None) or {}
        role = str(kwargs.pop("role", "") or metadata.get("role", ""))
        arguments = {**kwargs, "stop": stop} if stop else dict(kwargs)
        with self._lock:
            before = self._calls[-1].prompt if self._calls else ""
            self._calls.append(Call(role, prompt, arguments))
            reply = None if callable(self.script) else self._next(role, prompt)
        if callable(self.script):
            reply = self.script(prompt)
        if isinstance(reply, BaseException):
            raise reply
        text = _text(reply)
        for end in stop or ():
            text = text.partition(end)[0]
        asked = self.logprobs and kwargs.get("logprobs")
        message = AIMessage(
            text,
            usage_metadata=_usage(before, prompt, text),
            response_metadata={"logprobs": _logprobs(reply, text)} if asked else {},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _next(self, role: str, prompt: str) -> Any:
        key, replies = "", self.script
        if isinstance(self.script, Mapping):
            keys = (key for key in self.script if key == role or key in prompt)
            if (fitting := next(keys, None)) is None:
                raise InputError(
                    f"The script has no reply for {_describe_call(role, prompt)}",
                    fix=f"Its keys: {', '.join(map(repr, self.script)) or 'none'}.",
                )
            key, replies = fitting, self.script[fitting]
        if isinstance(replies, str | Mapping | BaseModel | BaseException):
            return replies
        given = self._given.get(key, 0)
        if given >= len(replies):
            of = f" for {key!r}" if key else ""
            raise InputError(
                f"The script has run out after {given} replies{of}",
                why=f"asked once more by {_describe_call(role, prompt)}",
                fix="Add a reply, or find out why there is one call more than expected.",
            )
        self._given[key] = given + 1
        return replies[given]


class TableEntailment:
    """An entailment model with fixed scores.

    Args:
        scores: A function of premise and hypothesis; or a table with keys (premise, hypothesis).
            An exact key wins. Otherwise keys match if their premise is part of the pair's premise,
            and the highest score of these is used.
        default: The score of pairs without a match in the table.
        threshold: Scores of at least this count as entailed.
        name: The name in reports.
    """

    def __init__(
        self,
        scores: Mapping[tuple[str, str], float] | Callable[[str, str], float],
        *,
        default: float = 0.0,
        threshold: float = 0.5,
        name: str = "table",
    ) -> None:
        self.name = name
        self.threshold = threshold
        self.pairs: list[Pair] = []
        """The pairs so far, in order."""
        self.batches: list[int] = []
        """The number of pairs in each call."""
        self._scores = scores
        self._default = default

    async def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each pair, in order.

        Raises:
            InputError: A score is not from 0 to 1.
        """
        self.pairs.extend(pairs)
        self.batches.append(len(pairs))
        return [self._score(pair) for pair in pairs]

    def _score(self, pair: Pair) -> float:
        if callable(self._scores):
            score = self._scores(pair.premise, pair.hypothesis)
        else:
            fitting = [
                score
                for (premise, hypothesis), score in self._scores.items()
                if hypothesis == pair.hypothesis and premise in pair.premise
            ]
            exact = self._scores.get((pair.premise, pair.hypothesis))
            score = exact if exact is not None else max(fitting, default=self._default)
        if not 0.0 <= score <= 1.0:
            raise InputError(f"The score {score} of {pair.hypothesis!r} is not from 0 to 1")
        return score


class ListRetriever:
    """A retriever over given passages.

    Args:
        passages: A list, which is ranked by the number of words that a passage shares with the
            query, without those that share none; a mapping, whose first key that is part of the
            query determines the passages; or a function of the query.
    """

    def __init__(
        self,
        passages: Sequence[Passage]
        | Mapping[str, Sequence[Passage]]
        | Callable[[str], Sequence[Passage]],
    ) -> None:
        self.queries: list[str] = []
        """The queries so far, in order."""
        self._passages = passages

    async def retrieve(self, query: str, k: int = 5) -> list[Passage]:
        """Return the k best passages for the query, best first."""
        self.queries.append(query)
        if callable(self._passages):
            found = self._passages(query)
        elif isinstance(self._passages, Mapping):
            found = next((v for key, v in self._passages.items() if key in query), ())
        else:
            wanted = _word_set(query)
            shared = {p.id: len(wanted & _word_set(f"{p.title} {p.text}")) for p in self._passages}
            ranked = sorted(self._passages, key=lambda p: -shared[p.id])
            found = [p for p in ranked if shared[p.id]]
        return list(found[:k])


def passage(text: str, *, title: str = "", id: str = "", source: str = "") -> Passage:  # noqa: A002
    """Create a passage; by default its id is made from its source and text."""
    return Passage(id=id or Passage.make_id(source, text), text=text, title=title, source=source)


def _text(reply: Any) -> str:
    if isinstance(reply, str):
        return reply
    if isinstance(reply, Choice):
        return max(reply, key=lambda option: reply[option])
    if isinstance(reply, BaseModel):
        return reply.model_dump_json()
    if isinstance(reply, Mapping):
        return json.dumps(reply, ensure_ascii=False)
    raise InputError(
        f"A script can't reply with a {type(reply).__name__}",
        fix="Use text, a Choice, a dictionary, a pydantic model or an exception.",
    )


def _logprobs(reply: Any, text: str) -> dict[str, Any]:
    """Return probabilities of the first token in OpenAI's format."""
    first = next(iter(text.split()), "").rstrip(".,;:!")
    choice = reply if isinstance(reply, Choice) else {first: 1.0}
    top = [{"token": t, "logprob": math.log(p)} for t, p in choice.items() if p > 0]
    top.sort(key=lambda token: -float(str(token["logprob"])))
    return {"content": [{**top[0], "top_logprobs": top}] if top else []}


def _usage(before: str, prompt: str, reply: str) -> UsageMetadata:
    read, written = len(prompt.split()), len(reply.split())
    both = zip(before.split(), prompt.split(), strict=False)
    shared = sum(1 for _ in takewhile(lambda words: words[0] == words[1], both))
    return UsageMetadata(
        input_tokens=read,
        output_tokens=written,
        total_tokens=read + written,
        input_token_details={"cache_read": shared},
    )


def _chunks(result: ChatResult) -> Iterator[ChatGenerationChunk]:
    message = result.generations[0].message
    assert isinstance(message, AIMessage)
    for word in _WORDS.findall(str(message.text)):
        yield ChatGenerationChunk(message=AIMessageChunk(content=word))
    last = AIMessageChunk(
        content="",
        usage_metadata=message.usage_metadata,
        response_metadata=message.response_metadata,
    )
    yield ChatGenerationChunk(message=last)


def _describe_call(role: str, prompt: str) -> str:
    end = " ".join(prompt.split())[-120:]
    return f"{role or 'a prompt'} ending with {end!r}"


def _word_set(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
