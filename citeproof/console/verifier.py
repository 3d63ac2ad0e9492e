"""Opens the entailment model for a command, with progress on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console

from citeproof.console.opening import show_downloads, tell_lines
from citeproof.models.merged import ENTAILMENT
from citeproof.settings import Settings
from citeproof.tools.entailment import Entailment
from citeproof.tools.entailment.opening import open_entailment
from citeproof.tools.llm.chat_models import judge_label
from citeproof.tools.llm.model import LLM
from citeproof.tools.llm.opening import open_llm


@contextmanager
def open_verifier(settings: Settings, console: Console) -> Iterator[Entailment]:
    """Open the entailment model that the settings name, for the block.

    A judging language model is opened when it is first needed, and closed at the end.
    """
    chosen = settings.entailment
    with ExitStack() as closing:

        def judge() -> LLM:
            own, tell = settings.for_role("judge"), tell_lines(console)
            llm = open_llm(own, settings.models, role="judge", progress=tell)
            closing.callback(llm.close)
            return llm

        with show_downloads(console, "opening models…") as progress:
            named = judge_label(settings)
            entailment = open_entailment(chosen, judge, settings.models, progress, judge_name=named)
            if chosen.embedded:
                ENTAILMENT.make_folder(settings.models, progress)  # early, because it may download
        yield entailment
