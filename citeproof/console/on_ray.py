"""`--on ray`: Ray actors hold the models of a command and share its work."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
    redirect_stdout,
)
from typing import Any, TextIO, TypeVar, cast

from rich.console import Console
from rich.text import Text

from citeproof.actors import Actors
from citeproof.console.verifier import open_verifier
from citeproof.memory.index import Index
from citeproof.memory.searched import open_index
from citeproof.settings import Settings
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.cache import CachedEntailment
from citeproof.tools.retrieval.remote_embeddings import open_embedder
from citeproof.tools.spread import SpreadEmbeddings, SpreadEntailment

Tools = TypeVar("Tools")


@contextmanager
def verifier_on_ray(settings: Settings, console: Console) -> Iterator[Entailment]:
    """Open the entailment model in actors; its scores are cached in this process."""
    chosen = settings.entailment
    alone = settings.model_copy(update={"entailment": chosen.model_copy(update={"cache": None})})
    with start_actors(
        lambda: open_verifier(alone, Console(quiet=True)), settings, console
    ) as actors:
        with console.status("opening models…"):
            model = SpreadEntailment(actors)
        yield CachedEntailment(model, file=chosen.cache)


@contextmanager
def index_on_ray(settings: Settings, console: Console, *, rebuild: bool = False) -> Iterator[Index]:
    """Open the index for changes; only this process writes it, actors read, cut and embed."""
    with start_actors(lambda: nullcontext(open_embedder(settings)), settings, console) as actors:
        with console.status("opening models…"):
            embeddings = SpreadEmbeddings(actors)
        given = embeddings if embeddings.name else None
        with closing(open_index(settings, given, rebuild=rebuild, actors=actors)) as index:
            yield index


def keep_apart() -> AbstractContextManager[Any]:
    """Send Ray's messages about its own processes to standard error.

    `log_to_driver=False` silences only what actors print. When an actor dies, a thread of Ray's
    prints that to standard output whatever the settings (tried with Ray 2.60).
    """
    return redirect_stdout(cast(TextIO, _Output(sys.stdout)))


class _Output:
    """Standard output; sends what Ray's threads write to standard error."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        is_of_ray = threading.current_thread().name.startswith("ray_")
        return (sys.stderr if is_of_ray else self._stream).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def start_actors(
    open_tools: Callable[[], AbstractContextManager[Tools]],
    settings: Settings,
    console: Console,
) -> Iterator[Actors[Tools]]:
    """Start actors, which open the tools, for the duration of the block."""
    where = settings.ray.address or "this machine"
    with keep_apart(), ExitStack() as opened:
        with console.status(Text(f"starting Ray actors on {where}…", style="dim")):
            actors = opened.enter_context(Actors(open_tools, settings.ray))
        yield actors
