"""Opens the entailment model for a command, before the reader's eyes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.text import Text

from citeproof.console.opening import show_downloads
from citeproof.models.entailment import entailment_folder
from citeproof.models.progress import Progress, announce
from citeproof.settings import Settings
from citeproof.text import plain
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.opening import open_entailment
from citeproof.tools.llm.chat_models import judge_label
from citeproof.tools.llm.model import LLM, open_llm

__all__ = ["open_verifier"]


@contextmanager
def open_verifier(settings: Settings, console: Console) -> Iterator[Entailment]:
    """The entailment model that the settings name, inside the block.

    The language model that judges is opened when it is first needed, and closed at the end.

    Raises:
        SettingsError: The settings do not fit together.
        MissingExtraError: The back end needs an extra that is not installed.
        ModelError: A model cannot be had.
    """
    chosen = settings.entailment
    with ExitStack() as closing:

        def judge() -> LLM:
            llm = open_llm(
                settings.for_role("judge"), settings.models, role="judge", progress=_lines(console)
            )
            closing.callback(llm.close)
            return llm

        with show_downloads(console, "opening models…") as progress:
            entailment = open_entailment(
                chosen,
                judge,
                settings.models,
                progress,
                judge_name=judge_label(settings),
            )
            if chosen.embedded:
                entailment_folder(settings.models, progress)  # now: it may be a download
        yield entailment


def _lines(console: Console) -> Progress:
    """Tells each download and start in a line, which goes well with any bar that is there."""
    told: set[str] = set()

    def tell(label: str, done: int, total: int) -> None:
        if label not in told:
            told.add(label)
            console.print(Text(plain(announce(label, total))), soft_wrap=True)

    return tell
