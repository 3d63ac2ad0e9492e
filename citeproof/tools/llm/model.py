"""Asks a language model for text, for an object of a schema, or for a choice.

Every attempt counts against the budget. LangChain's usage callback would miss failed attempts, and
models that do not report their name.
"""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from pydantic import BaseModel, ValidationError

from citeproof.errors import CiteproofError, InputError, ModelError, ModelReplyError
from citeproof.prompts import Prompt, fill, template
from citeproof.runtime.events import LLMCalled, LLMWaiting, emit
from citeproof.runtime.meter import check_budget, note, spend
from citeproof.text import problem as first_problem
from citeproof.tools.llm import replies
from citeproof.tools.llm.chat_models import ChatModels, secrets
from citeproof.tools.llm.retries import retry, shows_key, translate
from citeproof.tools.llm.structured_output import object_text, prepare, refusable, refuses
from citeproof.types import Usage

__all__ = ["LLM"]

_log = logging.getLogger("citeproof")
LONGEST_TOKEN = 32
"""Most characters of a token. Some servers ignore `max_tokens`, so long replies are cut here."""

NO_LLM = "no language model"

T = TypeVar("T", bound=BaseModel)


class LLM:
    """A language model in one role of a run.

    A call raises `ModelOutageError` if the model does not answer, even after retries, `ModelError`
    if the provider rejects the call, and `BudgetExceededError` if the budget allows no further one.

    Args:
        model: Any LangChain chat model; `open_llm` opens one from settings.
        role: The role that calls the model, for events and errors.
        retries: Further attempts after a transient failure, such as a timeout or a 429.
        backoff: Seconds before the first retry, doubled for each further one, with jitter. A
            server's Retry-After takes precedence.
        roles: Other models, for `for_role`.
        answers_in_json: Whether to ask for whole answers as JSON instead of text with marks.
    """

    def __init__(
        self,
        model: BaseChatModel | ChatModels,
        *,
        role: str = "default",
        retries: int = 4,
        backoff: float = 1.0,
        roles: Mapping[str, LLM] | None = None,
        answers_in_json: bool = False,
    ) -> None:
        self.role = role
        self.answers_in_json = answers_in_json
        self._models = model if isinstance(model, ChatModels) else ChatModels.of(model)
        self._retries = retries
        self._backoff = backoff
        self._base = self
        self._roles = dict(roles or {})

    def __repr__(self) -> str:
        return f"LLM({self.name!r}, role={self.role!r})"

    @property
    def name(self) -> str:
        """The model and its location, for users."""
        return self._models.name

    @property
    def absent(self) -> bool:
        """Whether there is no language model, so that every call fails."""
        return self.name == NO_LLM

    @property
    def goes_on(self) -> bool:
        """Whether the model continues a prefilled reply; others are asked in words to continue."""
        return self._models.continues is not None

    @property
    def at_once(self) -> int:
        """How many independent requests to send at a time; the embedded model takes one."""
        return self._models.at_once

    def start(self) -> None:
        """Start the embedded servers of this model and of its roles before their first call.

        Raises:
            ModelError: A model cannot be loaded.
        """
        for llm in (self._base, *self._roles.values()):
            llm._models.start()

    def close(self) -> None:
        """Stop the embedded servers that this model and the models of its roles started."""
        for llm in (self._base, *self._roles.values()):
            llm._models.close()

    def for_role(self, role: str) -> LLM:
        """Return the role's own model if it has one, else this model under that role."""
        twin = copy.copy(self._roles.get(role, self._base))
        twin.role, twin._base, twin._roles = role, self._base, self._roles
        return twin

    def in_form(self, form: Literal["marks", "json"]) -> LLM:
        """Return the same model, set to write whole answers with citation marks or as JSON."""
        twin = copy.copy(self)
        twin.answers_in_json = form == "json"
        return twin

    async def text(
        self,
        prompt: Prompt,
        *,
        max_tokens: int = 256,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
        sample: int = 0,
        on_delta: Callable[[str], None] | None = None,
    ) -> str:
        """Return the reply, without control characters other than newline and tab.

        Args:
            prompt: The prompt. If it begins the reply, only the continuation is returned. Servers
                that can continue a reply get the beginning as a prefilled reply; other models are
                asked in words to continue, and may reply `replies.END`.
            max_tokens: Most tokens of the reply. The server cuts it, or else it is cut here,
                roughly. A sentence that the server cut is dropped; if it is the only one, it is
                shortened to its last whole clause.
            temperature: Defaults to that of the settings.
            stop: The reply ends before any of these strings.
            sample: Number of the sample, from 0, so that several replies to one prompt get
                different seeds.
            on_delta: Called with each piece of the reply as it arrives. After a retry it gets only
                what goes beyond the earlier pieces; the returned text is authoritative.
        """
        body: Mapping[str, bool] | None = None
        begun = prompt.begun  # a reply that is begun may have nothing to add
        if begun and not self.goes_on:
            task = fill(template("go_on"), task=prompt.task, begun=begun, end=replies.END)
            prompt = replace(prompt, task=task, begun="")
        elif begun:
            body = self._models.continues
        limits = {"max_tokens": max_tokens, "temperature": temperature, "sample": sample}
        free = {**limits, "stop": list(stop) if stop else None, "body": body}
        ways = [{**free, "schema": prompt.schema}, free] if prompt.schema else [free]
        if stop:
            ways += [{**way, "stop": None} for way in ways]
        message = await self._reply(*((prompt, way) for way in ways), on_delta=on_delta)
        # Without streaming, llama.cpp repeats the prefilled beginning of the reply.
        said = self._said(message).removeprefix(prompt.begun)[: max_tokens * LONGEST_TOKEN]
        # A caller that does not pass the reply on asks again, or has a note of its own.
        if on_delta is not None and not (said.strip() or stop or begun):
            called = " but a call of a tool" if getattr(message, "tool_calls", None) else ""
            note(f"{self.name} gave {self.role} no text{called}.")
        said = replies.whole(said) if replies.is_cut(message) and not prompt.schema else said
        for end in stop or ():  # some models refuse stop texts, or ignore them
            said = said.partition(end)[0]
        return said

    async def parse(self, prompt: Prompt, schema: type[T], *, max_tokens: int = 256) -> T:
        """Return the reply as an object of the schema; asks once more if it is invalid.

        The server gets the schema if it supports one; otherwise the prompt describes it.

        Raises:
            ModelReplyError: The second reply is invalid as well; the caller has a default.
        """
        form = json.dumps(schema.model_json_schema(), ensure_ascii=False)
        limits = {"max_tokens": max_tokens}
        task, problem, text = prompt.task, "", ""
        for _ in range(2):
            words = f"{task}\n\nReply with one JSON object that fits this schema:\n{form}"
            message = await self._reply(
                (replace(prompt, task=task), {**limits, "schema": schema}),
                (replace(prompt, task=words), limits),
            )
            called = getattr(message, "tool_calls", None)
            text = object_text(message) if called else self._said(message)
            found = replies.first_object(text[: max_tokens * LONGEST_TOKEN])
            problem = "it holds no complete JSON object"
            if found is not None:
                try:
                    return schema.model_validate(found)
                except ValidationError as error:
                    problem = first_problem(error)
            again = f"Your last reply was not usable: {problem}. Reply with one JSON object only."
            task = f"{prompt.task}\n\n{again}"
        raise ModelReplyError(
            f"{self.name} gave no usable {schema.__name__} to {self.role}",
            why=f"{problem}; it said {replies.short(text)}",
            fix="A larger model follows the format more reliably.",
        )

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> dict[str, float]:
        """Return the probability of each option as the first token of the reply.

        The probabilities add up to 1. An option should be a single token, such as Yes or No; case
        does not matter. If the provider gives no probabilities, the option that the reply begins
        with gets 1.0, and the run's notes say so.

        Raises:
            InputError: There are fewer than two options, or two differ only in case.
            ModelReplyError: The reply begins with none of the options.
        """
        distinct = {option.strip().casefold() for option in options} - {""}
        if len(distinct) < 2 or len(distinct) != len(options):
            raise InputError(f"Options must be two or more distinct words, not {list(options)}")

        message = await self._reply(
            (prompt, {"max_tokens": 1, "logprobs": True, "top_logprobs": 20}),
            (prompt, {"max_tokens": 16}),
        )
        tokens = replies.scored_tokens(message)
        if tokens and (found := replies.option_probabilities(tokens[0], options)):
            return found
        said = self._said(message)
        if (option := replies.read_option(said, options)) is None:
            raise ModelReplyError(
                f"{self.name} chose none of {', '.join(options)} for {self.role}",
                why=f"it said {replies.short(said)}",
            )
        note(f"{self.name} gave no probabilities for a choice; its reply counts as certain.")
        return {other: float(other == option) for other in options}

    async def send(
        self,
        messages: Sequence[BaseMessage],
        *,
        max_tokens: int,
        body: Mapping[str, Any] | None = None,
    ) -> BaseMessage:
        """Return the raw reply to messages, for models that were trained on a format of their own.

        It has the probabilities of its tokens if the provider gives them. `body` are further fields
        of the request.
        """
        limits = {"max_tokens": max_tokens, "body": body}
        scored = {**limits, "logprobs": True, "top_logprobs": 20}
        return await self._reply((messages, scored), (messages, limits))

    def _tell_waiting(
        self, keys: Collection[str], failure: BaseException, seconds: float, attempt: int
    ) -> None:
        why = translate(failure, self.name, secrets=keys).why
        most = self._retries + 1
        emit(LLMWaiting(role=self.role, seconds=seconds, attempt=attempt, attempts=most, why=why))

    def _said(self, message: BaseMessage) -> str:
        """Return the text of a reply, without the model's reasoning before it."""
        if replies.is_filtered(message):
            raise ModelError(
                f"{self.name} gave no reply to {self.role}",
                why="its provider's content filter withheld it",
                fix="Rephrase the question, leave out the passages that it objects to, or use "
                "another model for this role.",
            )
        if replies.thought_only(message):
            raise ModelError(
                f"{self.name} thinks before it replies, and its reply to {self.role} was cut off",
                why="the token limit of a reply is too small for a chain of thought",
                fix="Switch its thinking off, with llm.extra_body: see docs/serving.md.",
            )
        return replies.said(message.text)

    async def _reply(
        self,
        *ways: tuple[Prompt | Sequence[BaseMessage], dict[str, Any]],
        on_delta: Callable[[str], None] | None = None,
    ) -> BaseMessage:
        """Return the reply to the first prompt whose arguments the model does not refuse."""
        for prompt, arguments in ways:
            if (message := await self._ask(prompt, arguments, on_delta)) is not None:
                return message
            if "schema" in arguments and "schema" in self._models.refuses:
                note(f"{self.name} supports no schema; the prompt describes the format instead.")
        raise AssertionError("the last prompt brings nothing that may be refused")

    async def _ask(
        self,
        prompt: Prompt | Sequence[BaseMessage],
        arguments: dict[str, Any],
        on_delta: Callable[[str], None] | None,
    ) -> BaseMessage | None:
        """Get one reply, with retries; None if the model refuses the arguments."""
        may_refuse = refusable(arguments)
        if not self._models.refuses.isdisjoint(may_refuse):
            return None
        messages = _messages(prompt) if isinstance(prompt, Prompt) else list(prompt)
        # A node's prompt is not part of the conversation that `stream_mode="messages"` streams.
        config: RunnableConfig = {"metadata": {"role": self.role}, "tags": [TAG_NOSTREAM]}
        longest = arguments["max_tokens"] * LONGEST_TOKEN
        teller = _Teller(on_delta, longest) if on_delta else None
        attempts, spent = 0, Usage()
        keys = set[str]()
        tell_waiting = partial(self._tell_waiting, keys)
        message: BaseMessage
        try:
            async for attempt in retry(self._retries, self._backoff, tell_waiting):
                with attempt:
                    model = await self._models.here()
                    keys.update(secrets(model))
                    if (ready := prepare(model, **arguments)) is None:
                        return None
                    check_budget()
                    if self._models.limiter is not None:
                        await self._models.limiter.aacquire()
                    attempts, spent = attempts + 1, Usage(llm_calls=1)
                    try:
                        async with asyncio.timeout(self._models.timeout):
                            if teller is None:
                                message = await ready.ainvoke(messages, config)
                            else:
                                message = await teller.tell(ready.astream(messages, config))
                        spent = replies.usage(message)
                    finally:
                        spend(spent)
        except CiteproofError:
            raise
        except Exception as error:
            failure = error
        else:
            asked = "\n\n".join(str(m.text) for m in messages)
            said = object_text(message)
            emit(LLMCalled(role=self.role, model=self.name, prompt=asked, reply=said, usage=spent))
            count = spent.prompt_tokens, spent.completion_tokens
            _log.debug("%s of %s replied: %d tokens in, %d out.", self.role, self.name, *count)
            return message
        if refused := [name for name in may_refuse if refuses(failure, name)]:
            self._models.refuses.update(refused)
            return None
        told = translate(failure, self.name, attempts=attempts, secrets=keys)
        raise told from (None if shows_key(failure, keys) else failure)


@dataclass
class _Teller:
    """Passes a reply on piece by piece; a retry adds only what goes beyond the last attempt."""

    on_delta: Callable[[str], None]
    longest: int
    """Most characters and most pieces; a reply that goes on is cut off."""
    told: int = 0

    async def tell(self, stream: Any) -> Any:
        """Pass on a reply as it arrives, and return the whole of it."""
        whole, seen, count = None, 0, 0
        async with aclosing(cast("AsyncGenerator[Any]", stream)) as pieces:
            async for piece in pieces:
                # Else a server that sends faster than this reads would block timers and Ctrl-C.
                await asyncio.sleep(0)
                count += 1
                whole = piece if whole is None else whole + piece
                text = replies.clean(piece.text)
                new = text[max(0, self.told - seen) :]
                seen += len(text)
                if new:
                    self.told = seen
                    self.on_delta(new)
                if max(seen, count) >= self.longest:
                    break
        return whole


def _messages(prompt: Prompt) -> list[BaseMessage]:
    """Return the system message, then context and task, then the beginning of the reply."""
    # The shared prefix comes first, so that the server reads it once for all nodes.
    asked = HumanMessage("\n\n".join(part for part in (prompt.context, prompt.task) if part))
    system = [SystemMessage(prompt.system)] if prompt.system else []
    return [*system, asked, *([AIMessage(prompt.begun)] if prompt.begun else [])]
