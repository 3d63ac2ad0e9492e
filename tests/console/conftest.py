from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from rich.console import Console

from citeproof.settings import Settings
from citeproof.tools.entailment import Entailment


@pytest.fixture
def verify_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[Entailment], list[Settings]]:
    """Make commands open this entailment model; the list fills with the settings they have."""

    def use(model: Entailment) -> list[Settings]:
        opened: list[Settings] = []

        @contextmanager
        def verifier(settings: Settings, console: Console) -> Iterator[Entailment]:
            opened.append(settings)
            yield model

        for place in ("verifier", "evaluate"):
            monkeypatch.setattr(f"citeproof.console.{place}.open_verifier", verifier)
        return opened

    return use
