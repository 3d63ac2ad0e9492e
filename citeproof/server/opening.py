"""Opens the server's tools in the background, while the page is already served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from citeproof.errors import CiteproofError, ModelError
from citeproof.models.progress import Progress
from citeproof.tools.llm.retries import scrub

if TYPE_CHECKING:
    from citeproof.tools.toolbox import Toolbox


class Opening:
    """The models and the index, during and after opening.

    `open_tools` blocks; its argument takes progress reports.
    """

    def __init__(self, open_tools: Callable[[Progress], Toolbox]) -> None:
        self._open = open_tools
        self._task: asyncio.Task[Toolbox] | None = None
        self._closing = False
        self.loading: dict[str, tuple[int, int]] = {}
        """Name of each download or start in progress → amount done, and total."""

    def start(self) -> None:
        """Begin opening; called once, in the server's event loop."""
        self._task = asyncio.create_task(asyncio.to_thread(self._open, self._note))

    async def tools(self) -> Toolbox:
        """Wait for the tools and return them."""
        assert self._task is not None, "start comes first"
        try:
            return await asyncio.shield(self._task)
        except CiteproofError:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise ModelError("The models cannot be opened", why=why) from error

    def state(self) -> dict[str, Any]:
        """Return the reply of `/readyz`: `ready`, and `loading` or `error` if it is false."""
        if self._task is None or not self._task.done():
            told = [
                {"what": what, "done": done, "total": total}
                for what, (done, total) in self.loading.items()
            ]
            return {"ready": False, "loading": told}
        error = None if self._task.cancelled() else self._task.exception()
        return {"ready": True} if error is None else {"ready": False, "error": scrub(str(error))}

    async def close(self) -> None:
        """Close the tools, or cancel their opening."""
        self._closing = True
        if self._task is None:
            return
        await asyncio.wait({self._task})
        if not self._task.cancelled() and self._task.exception() is None:
            await asyncio.to_thread(self._task.result().close)

    def _note(self, label: str, done: int, total: int) -> None:
        if self._closing:
            raise CancelledError  # otherwise a download would delay shutdown
        self.loading = {**self.loading, label: (done, total)}
