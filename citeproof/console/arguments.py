"""Turns command-line arguments into settings and parameters of a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citeproof.errors import SettingsError
from citeproof.settings import Settings


def read_arguments(
    config: Path | None,
    sets: Sequence[str] | None = None,
    *,
    llm: str | None = None,
    store: Path | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> tuple[Settings, dict[str, Any]]:
    """Load the settings (from file, environment, then these arguments) and a method's parameters.

    `sets` are `key=value` items. A key with a dot, or a section's name, is a setting, which
    overrides `defaults`; any other is a parameter.
    """
    known: dict[str, Any] = {"llm.model": llm, **(defaults or {})}
    parameters: dict[str, Any] = {}
    for item in sets or ():
        key, equals, value = item.partition("=")
        key = key.strip()
        if not key or not equals:
            raise SettingsError(
                f"--set {key or item} sets nothing",
                why="it is not of the form key=value",
                fix="Write it like --set llm.model=openai:gpt-4o or --set max_trials=3.",
            )
        is_setting = "." in key or key in Settings.model_fields
        (known if is_setting else parameters)[key] = value.strip()
    if store is not None:
        known |= {"chroma.path": store, "chroma.in_memory": False, "chroma.host": "none"}
    return Settings.load(config, **known), parameters
