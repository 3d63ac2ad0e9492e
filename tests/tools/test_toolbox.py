"""What the settings name is opened side by side, and given up together."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from citeproof.errors import SettingsError
from citeproof.models.merged import MergedModel
from citeproof.models.progress import Progress
from citeproof.settings import (
    ChromaSettings,
    LLMSettings,
    ModelSettings,
    RetrieverSettings,
    Settings,
)
from citeproof.tools import toolbox
from citeproof.tools.toolbox import Toolbox


def test_an_error_does_not_wait_for_a_download(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = threading.Event()
    failed: list[float] = []

    def download(own: MergedModel, settings: ModelSettings, progress: Progress) -> None:
        begun.set()
        for step in range(200):
            progress("entailment model", step, 200)
            time.sleep(0.05)

    def open_llm(*args: object, **kwargs: object) -> None:
        assert begun.wait(120)
        failed.append(time.monotonic())
        raise SettingsError("no key")

    monkeypatch.setattr(MergedModel, "make_folder", download)
    monkeypatch.setattr(toolbox, "open_llm", open_llm)
    settings = Settings(
        llm=LLMSettings(model="openai:m"),
        chroma=ChromaSettings(path=tmp_path),
        retriever=RetrieverSettings(kind="bm25"),
    )
    told: list[int] = []
    with pytest.raises(SettingsError, match="no key"):
        Toolbox.from_settings(settings, progress=lambda label, done, total: told.append(done))
    assert time.monotonic() - failed[0] < 5
    assert told[0] == 0
