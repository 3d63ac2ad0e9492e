"""`check:NAME`: a conversation with the language model, whose answer is proved afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from citeproof.errors import InputError
from citeproof.runtime.meter import Meter, use_meter
from citeproof.server.asking import LONGEST_CONVERSATION, Asking, Message
from citeproof.tools.checking.check import check
from citeproof.types import CheckReport, Usage

_KINDS: dict[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "developer": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}
_MAX_TOKENS = 1_024


class Checked(NamedTuple):
    """A model's reply, and its check against the documents."""

    text: str
    report: CheckReport
    usage: Usage


def refuse_chat(messages: Sequence[Message]) -> None:
    """Refuse a conversation that cannot be forwarded.

    Raises:
        InputError: It is empty, too long, or somebody unknown speaks.
    """
    if unknown := {own.role for own in messages} - _KINDS.keys():
        raise InputError(
            f"Messages of the role {', '.join(sorted(unknown))} cannot be forwarded",
            fix=f"Known: {', '.join(_KINDS)}.",
        )
    if not messages or messages[-1].role != "user":
        raise InputError("There is no question", fix="End with a message of the user.")
    if sum(len(own.content) for own in messages) > LONGEST_CONVERSATION:
        raise InputError("The conversation is too long", fix="Leave its beginning out.")


async def chat_and_check(
    asking: Asking, messages: Sequence[Message], max_tokens: int | None = None
) -> Checked:
    """Forward a conversation in its turn, and prove the answer against the index.

    Raises:
        BusyError: Too many questions wait.
        ModelError: The model gives no answer.
    """
    async with asking.turns.turn():
        tools = await asking.opening.tools()
        forwarded = [_KINDS[own.role](own.content) for own in messages]
        with use_meter(Meter()) as meter:
            limit = min(max_tokens or _MAX_TOKENS, _MAX_TOKENS)
            reply = await tools.llm.for_role("answerer").send(forwarded, max_tokens=limit)
            text = str(reply.text)
            report = CheckReport(model=tools.entailment.name, threshold=tools.entailment.threshold)
            if tools.retriever is not None:
                report = await check(text, (), tools.entailment, retriever=tools.retriever)
        return Checked(text, report, meter.total())
