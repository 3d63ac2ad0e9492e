"""Writes settings as a TOML file that can be loaded again, except for its secrets."""

from __future__ import annotations

import json
from typing import Any

from citeproof.settings import Settings
from citeproof.settings_sources import hide_credentials

_HIDDEN = "(hidden)"


def as_toml(settings: Settings) -> str:
    """All settings as TOML, including defaults; API keys and passwords are hidden."""
    lines: list[str] = []
    for section, values in settings.model_dump(mode="json").items():
        if section == "roles":
            for role, own in values.items():
                lines += _table(f"roles.{role}", own)
        elif isinstance(values, dict):
            lines += _table(section, values)
        else:  # a key outside all sections goes before them
            lines.insert(0, f"{_line(section, values)}\n")
    return "\n".join(lines).strip() + "\n"


def _table(name: str, values: dict[str, Any]) -> list[str]:
    return [f"[{name}]", *(_line(key, value) for key, value in values.items()), ""]


def _line(key: str, value: object) -> str:
    if key == "api_key":
        return f"# {key} is not set" if value is None else f"# {key} is set {_HIDDEN}"
    if value is None:
        value = "none"  # if left out, the default would apply, or in a role the value of `[llm]`
    if isinstance(value, str):
        value = hide_credentials(value)
    # JSON writes strings, numbers and booleans as TOML does.
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"
