"""Questions to the graphs: checks them, answers them in turn, and drops them if the client leaves.

A run may wait until a person has decided on a claim.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from citeproof.console.threads import Kept, run_with_review
from citeproof.errors import InputError
from citeproof.graphs.registry import Method, find_method
from citeproof.integrations.turns import Turn, Turns
from citeproof.parameters import Parameters, override_defaults
from citeproof.runtime.events import AnswerReady, ReviewRequested
from citeproof.runtime.moments import Moment
from citeproof.server.conversations import Conversations, as_messages
from citeproof.server.errors import NotFoundError
from citeproof.server.opening import Opening
from citeproof.server.runs import Run, Runs

if TYPE_CHECKING:
    from citeproof.tools.toolbox import Toolbox

LONGEST_QUESTION = 4_000
"""In characters, as the two limits below."""
LONGEST_CLAIM = 2_000
LONGEST_CONVERSATION = 100_000
Words = Annotated[str, Field(max_length=1_000_000)]
"""A client's text. Only in strings with a limit does pydantic refuse lone surrogates, which neither
tokenizers nor databases accept."""


class _Reviews:
    """The decisions that runs wait for, by run id."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[dict[str, str]]] = {}

    def expect(self, run: str, turn: Turn) -> None:
        """Accept a decision for a run while it lasts; its claim is about to be shown."""
        self._waiting[run] = asyncio.get_running_loop().create_future()
        turn.held.callback(self._waiting.pop, run, None)

    async def decision(self, run: str, turn: Turn, _: ReviewRequested) -> dict[str, str]:
        """Wait for a person's decision, and let others have the turn meanwhile."""
        turn.leave()
        decision = await self._waiting[run]
        await turn.take()
        return decision

    def decide(self, run: str, decision: dict[str, str]) -> None:
        """Resume a run with a decision."""
        waiting = self._waiting.get(run)
        if waiting is None or waiting.done():
            raise NotFoundError("No claim waits for a decision", fix="Ask the question again.")
        waiting.set_result(decision)


class Message(BaseModel):
    """A message of a conversation."""

    role: Words
    content: Words


@dataclass
class Question:
    """A question with a valid method and valid parameters."""

    asked: str
    """The question in the reader's words."""
    method: Method
    context: Parameters
    conversation: str | None = None
    """Name of the conversation, if it is kept."""
    messages: list[dict[str, str]] = field(default_factory=list)
    """The whole conversation, including the question, if the client keeps it."""
    turn: Turn | None = None
    """Its place in the queue, if it got one before its answer began."""
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    """The id of its run."""


class Asking:
    """Answers questions as soon as the tools are open."""

    def __init__(
        self, opening: Opening, turns: Turns, runs: Runs, conversations: Conversations
    ) -> None:
        self.opening = opening
        self.turns = turns
        self.runs = runs
        self.conversations = conversations
        self.reviews = _Reviews()
        self._graphs: dict[tuple[str, bool], Any] = {}

    def question(
        self,
        messages: list[Message],
        method: str = "vtg",
        parameters: dict[str, Any] | None = None,
        conversation: str | None = None,
        *,
        attended: bool = False,
    ) -> Question:
        """Validate a question before anything is spent on it.

        Args:
            messages: The conversation; the question is its last message.
            method: Name of the method.
            parameters: Parameters of the method to set; the others keep their defaults.
            conversation: Name of the conversation, if it is kept.
            attended: Whether a person can be asked about a claim.
        """
        self.turns.refuse_more()
        self.conversations.refuse_another(conversation)
        said = [own.model_dump() for own in messages if own.role in ("user", "assistant")]
        if not said or said[-1]["role"] != "user" or not said[-1]["content"].strip():
            raise InputError("There is not a question", fix="Ask something, in words.")
        asked = said[-1]["content"].strip()
        if len(asked) > LONGEST_QUESTION:
            raise InputError(
                "The question is too long", fix=f"Use at most {LONGEST_QUESTION:,} characters."
            )
        if sum(len(own["content"]) for own in said) > LONGEST_CONVERSATION:
            raise InputError(
                "The conversation is too long",
                fix=f"Use at most {LONGEST_CONVERSATION:,} characters.",
            )
        found, given = find_method(method), parameters or {}
        override_defaults(found.parameters, given)
        context = found.parameters(**given)
        if getattr(context, "review", False) and not attended:
            raise InputError(
                "Nobody can be asked about a claim",
                why="a review needs the events of the run",
                fix="Ask at /api/ask with a stream, on the page, or with citeproof ask --review.",
            )
        return Question(asked, found, context, conversation, said if len(said) > 1 else [])

    def queue(self, question: Question) -> Turn:
        """Queue a question, and let no other into its conversation until the turn is closed.

        Called before the question's stream begins, so that a refusal sets the response's status.

        Raises:
            BusyError: Too many questions wait already.
            ConflictError: The conversation is being answered.
        """
        with ExitStack() as held:
            held.enter_context(self.conversations.alone(question.conversation))
            question.turn = self.turns.queue()
            question.turn.held = held.pop_all()
        return question.turn

    async def moments(self, question: Question) -> AsyncGenerator[Moment]:
        """Yield the moments of a run, from the question's turn on, with the answer as the last.

        Closing the generator ends the run. A finished run is kept in `runs`.
        """
        async with self.turns.turn(question.turn or self.queue(question)) as turn:
            tools = await self.opening.tools()
            await refuse_nothing(tools, question.context)
            kept = await self._prepare(tools, question)
            from citeproof.graphs.shape import read_shape  # numpy must not delay the page

            shape = read_shape(kept.graph)
            told: list[Moment] = []
            answered: Moment | None = None
            decide = partial(self.reviews.decision, question.run, turn)
            async with aclosing(run_with_review(kept, decide)) as moments:
                async for moment in moments:
                    told.append(moment)
                    if isinstance(moment.event, AnswerReady):
                        answered, answer = moment, moment.event.answer
                        continue
                    if isinstance(moment.event, ReviewRequested):
                        self.reviews.expect(question.run, turn)
                    yield moment
            assert answered is not None, "a run ends with its answer"
            self.runs.keep(Run(question.run, answer, told, shape))
        # Clients leave or ask again when they have the answer, so it is saved by now.
        yield answered

    async def answer(self, question: Question) -> Run:
        """Answer a question and return its run."""
        async with aclosing(self.moments(question)) as moments:
            async for _ in moments:
                await asyncio.sleep(0)
        return self.runs.get(question.run)

    async def _prepare(self, tools: Toolbox, question: Question) -> Kept:
        config: Any = None
        messages = question.messages
        graph = self._graph(tools, question)
        if question.conversation is not None:
            turns = await self.conversations.turns(question.conversation)
            if turns:  # the method's own thread holds the turns up to its last one
                own = [place for place, turn in enumerate(turns, 1) if turn.method == graph.name]
                messages = as_messages(turns[max(own, default=0) :], question.asked)
            config = self.conversations.config(
                question.method, question.conversation, turns, question.asked, question.run
            )
        elif getattr(question.context, "review", False):
            config = {"configurable": {"thread_id": question.run}}
        given: dict[str, Any] = {"question": question.asked}
        if messages and "messages" in graph.channels:
            given = {"messages": messages}
        return Kept(graph, given, config, question.context)

    def _graph(self, tools: Toolbox, question: Question) -> Any:
        method = question.method
        if question.conversation is None and getattr(question.context, "review", False):
            # The graph waits in memory, for this run only.
            return method.build(tools, checkpointer=InMemorySaver())
        key = (method.name, question.conversation is not None)
        if key not in self._graphs:
            saver = self.conversations.saver if question.conversation else None
            self._graphs[key] = method.build(tools, checkpointer=saver)
        return self._graphs[key]


async def refuse_nothing(tools: Toolbox, context: Parameters | None = None) -> None:
    """Refuse a question, or a text to check, if there is nothing to read."""
    reads = getattr(context, "cite", True)  # CLOSEDBOOK reads only to cite
    if reads and tools.index is not None and not await asyncio.to_thread(tools.index.count):
        raise InputError("There are no documents yet", fix="Add some first.")
