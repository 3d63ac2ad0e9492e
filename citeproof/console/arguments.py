"""What the command line's arguments mean: settings, and parameters of a method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citeproof.errors import SettingsError

if TYPE_CHECKING:
    from citeproof.settings import Settings

__all__ = ["ABOUT", "METHODS", "build", "pairs", "settings", "sketch"]

METHODS = {"vtg": "build_vtg", "calm": "build_calm", "llatrieval": "build_llatrieval"}
"""Method → its builder in `citeproof`."""
ABOUT = {
    "vtg": (
        "writes claim by claim, proves each, finds new evidence where the proof fails",
        "4 to 7 calls a claim, most of them short",
    ),
    "calm": (
        "a second model answers again from the cited passages; disagreement starts a correction",
        "2 to 7 calls, whole answers",
    ),
    "llatrieval": (
        "selects, verifies and updates the passages until they suffice, then answers",
        "a call for each passage read, and 3 a round",
    ),
}
"""Method → what it does, and what it costs."""


def settings(
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
    from citeproof.settings import Settings

    given: dict[str, Any] = {"llm.model": llm, **(more or {})}
    if store is not None:
        given |= {"chroma.path": store, "chroma.in_memory": False, "chroma.host": "none"}
    return Settings.load(config, **given)


def pairs(items: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Settings, and the method's parameters, from `key=value` items.

    A key with a dot, or one that is a section's name, is a setting.

    Raises:
        SettingsError: An item is not of that form.
    """
    from citeproof.settings import Settings

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


def build(method: str, tools: Any, parameters: dict[str, Any]) -> Any:
    """The compiled graph of a method.

    Raises:
        SettingsError: There is no such method, or it has no such parameter.
    """
    import citeproof

    if method not in METHODS:
        raise SettingsError(
            f"There is no method {method!r}", fix=f"Known: {', '.join(sorted(METHODS))}."
        )
    return getattr(citeproof, METHODS[method])(tools, **parameters)


def sketch(method: str, parameters: dict[str, Any] | None = None) -> Any:
    """The graph of a method over a model that says nothing: to look at, or to check parameters.

    Raises:
        SettingsError: There is no such method, or it has no such parameter.
    """
    from langchain_core.language_models import FakeListChatModel

    from citeproof.tools.toolbox import Toolbox

    return build(method, Toolbox(FakeListChatModel(responses=[""])), parameters or {})
