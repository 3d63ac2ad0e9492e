"""Runs of a method, in this process or at a `citeproof serve` with the models open."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from citeproof import errors
from citeproof.console.threads import Build, Thread, resumable, run_with_review
from citeproof.console.warm import PATH, Note
from citeproof.errors import CiteproofError, ModelError
from citeproof.graphs.registry import find_method
from citeproof.runtime.events import ReviewRequested
from citeproof.runtime.moments import Moment
from citeproof.types import Answer

Decide = Callable[[ReviewRequested], Awaitable[dict[str, str]]]
"""Asks a person about a claim; returns the decision to resume the run with."""


@dataclass
class LocalRuns:
    """Answers questions in this process, by one method with fixed parameters."""

    build: Build
    goes_on: bool = False
    """Whether the last `ask` resumed an interrupted run."""

    @property
    def graph(self) -> Any:
        """The compiled graph without a checkpointer, for drawing."""
        return self.build()

    async def ask(
        self, question: str, thread: Thread | None, decide: Decide, *, review: bool = False
    ) -> AsyncGenerator[Moment]:
        """Yield the moments of a run, which resumes if the question was interrupted before."""
        async with resumable(self.build, question, thread, review=review) as kept:
            self.goes_on = kept.given is None
            async with aclosing(run_with_review(kept, decide)) as moments:
                async for moment in moments:
                    yield moment

    async def begun(self, thread: Thread) -> tuple[Answer | None, int]:
        """Return the last answer of a conversation and the number of its questions."""
        async with thread.opened(self.build) as kept:
            values = (await kept.graph.aget_state(kept.config)).values
        said = values.get("messages", ())
        return values.get("answer"), sum(message.type == "human" for message in said)

    async def forget(self, thread: Thread) -> None:
        """Delete a conversation."""
        async with thread.opened(self.build) as kept:
            assert kept.config is not None
            thread_id = kept.config["configurable"]["thread_id"]
            await kept.graph.checkpointer.adelete_thread(thread_id)


@dataclass
class RemoteRuns:
    """Answers questions at a server, by one method with fixed parameters."""

    server: Note
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)
    goes_on: bool = False

    @property
    def graph(self) -> Any:
        """The method's graph, without models."""
        return find_method(self.method).sketch(**self.parameters)

    async def ask(
        self, question: str, thread: Thread | None, decide: Decide, *, review: bool = False
    ) -> AsyncGenerator[Moment]:
        """See `LocalRuns`."""
        run = name = ""
        body = self._body(thread, question=question, review=review)
        async with _client(self.server) as client, client.stream("POST", "ask", json=body) as told:
            await _refuse_failure(told)
            async for line in told.aiter_lines():
                if line.startswith("event: "):
                    name = line[7:]
                if not line.startswith("data: "):
                    continue
                data = json.loads(line[6:])
                if name == "run":
                    run = data["run"]
                elif name == "kept":
                    self.goes_on = data["goes_on"]
                    if thread is not None:
                        thread.is_kept = data["is_kept"]
                elif name == "error":
                    raise _make_error(data)
                elif name == "moment":
                    moment = Moment.model_validate(data)
                    yield moment
                    if isinstance(moment.event, ReviewRequested):
                        decision = await decide(moment.event)
                        await post(self.server, f"decision/{run}", decision)

    async def begun(self, thread: Thread) -> tuple[Answer | None, int]:
        """See `LocalRuns`."""
        told = await post(self.server, "begun", self._body(thread))
        answer = told["answer"]
        return None if answer is None else Answer.model_validate(answer), told["questions"]

    async def forget(self, thread: Thread) -> None:
        """See `LocalRuns`."""
        await post(self.server, "forget", self._body(thread))

    def _body(self, thread: Thread | None, **more: Any) -> dict[str, Any]:
        body = {"method": self.method, "parameters": self.parameters, **more}
        if thread is not None:
            body |= {"thread": thread.name, "kind": thread.kind}
        return body


Runs = LocalRuns | RemoteRuns


@asynccontextmanager
async def _client(server: Note) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {server.token}"}
    timeout = httpx.Timeout(None, connect=10)
    base = f"{server.address}{PATH}/"
    try:
        async with httpx.AsyncClient(
            base_url=base, headers=headers, timeout=timeout, trust_env=False
        ) as client:
            yield client
    except httpx.HTTPError as error:
        raise ModelError(
            f"citeproof serve at {server.address} is gone",
            why=str(error),
            fix="Run the command again: without a server it loads the models itself.",
        ) from error


async def post(server: Note, path: str, body: Any) -> Any:
    """Send a request of the command line to the server and return its reply."""
    async with _client(server) as client:
        told = await client.post(path, json=body)
        await _refuse_failure(told)
        return told.json()


async def _refuse_failure(told: httpx.Response) -> None:
    if told.is_success:
        return
    await told.aread()
    try:
        body = told.json()
    except ValueError:
        body = {}
    raise _make_error(body, f"The server answered {told.status_code}")


def _make_error(body: dict[str, Any], otherwise: str = "The server failed") -> CiteproofError:
    """Rebuild the server's error as if it had been raised here."""
    if "what" not in body:
        return CiteproofError(body.get("error", {}).get("message", otherwise))
    kind = getattr(errors, body["kind"], CiteproofError)
    error: CiteproofError = kind(body["what"], why=body["why"], fix=body["fix"])
    return error
