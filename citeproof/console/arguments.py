"""Turns the command line's arguments into settings, and parameters of a method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from citeproof.errors import SettingsError
from citeproof.settings import Settings


def read_settings(
    config: Path | None,
    *,
    llm: str | None = None,
    store: Path | None = None,
    more: dict[str, str] | None = None,
) -> Settings:
    """The settings in force: file, environment, then these arguments.

    Raises:
        SettingsError: A setting is unknown or not allowed.
    """
    given: dict[str, Any] = {"llm.model": llm, **(more or {})}
    if store is not None:
        given |= {"chroma.path": store, "chroma.in_memory": False, "chroma.host": "none"}
    return Settings.load(config, **given)


def split_sets(items: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Settings, and the method's parameters, from `key=value` items.

    A key with a dot, or one that is a section's name, is a setting.

    Raises:
        SettingsError: An item is not of that form.
    """
    known: dict[str, str] = {}
    parameters: dict[str, str] = {}
    for item in items:
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
    return known, parameters
