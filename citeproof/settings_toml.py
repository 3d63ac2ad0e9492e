"""Settings as a TOML file that could be loaded again, but for its secrets."""

from __future__ import annotations

import json
from typing import Any

from citeproof.settings import Settings
from citeproof.settings_sources import hide_credentials

_HIDDEN = "(hidden)"


def as_toml(settings: Settings) -> str:
    """Every setting, also those left at their defaults; keys and passwords are hidden."""
    lines: list[str] = []
    for section, values in settings.model_dump(mode="json").items():
        if section == "roles":
            for role, own in values.items():
                lines += _table(f"roles.{role}", own)
        elif isinstance(values, dict):
            lines += _table(section, values)
        else:  # a key outside of all sections goes before them
            lines.insert(0, f"{_line(section, values)}\n")
    return "\n".join(lines).strip() + "\n"


def _table(name: str, values: dict[str, Any]) -> list[str]:
    return [f"[{name}]", *(_line(key, value) for key, value in values.items()), ""]


def _line(key: str, value: object) -> str:
    if key == "api_key":
        return f"# {key} is not set" if value is None else f"# {key} is set {_HIDDEN}"
    if value is None:
        value = "none"  # left out, it would be the default, or that of `[llm]` in a role
    if isinstance(value, str):
        value = hide_credentials(value)
    # JSON writes strings, numbers and truth values as TOML does.
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"
