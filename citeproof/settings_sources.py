"""Reads settings from their three sources, and reports which source an error is in."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from citeproof.errors import SettingsError
from citeproof.paths import is_file

FILE = "citeproof.toml"
PREFIX = "CITEPROOF_"
_SHORT = {"llm": "model", "entailment": "model", "embedding": "model", "retriever": "source"}
"""Section → key that a plain string sets; for each role, it sets the model."""
_WITH_PROVIDER = re.compile(
    r"(anthropic|azure_ai|azure_openai|bedrock|bedrock_converse|cohere|deepseek|fireworks"
    r"|google_genai|google_vertexai|groq|huggingface|mistralai|nvidia|ollama|openai|openrouter"
    r"|perplexity|together|vllm|xai):."
)
_ASTRAY = {
    "checkpointer": "a database that would get your password and the questions",
    "host": "a server that would get the documents and the questions",
    "source": "which gets the questions, and may be a program",
    "vllm_args": "arguments of a program",
    "address": "machines that would get your keys and documents",
}
"""Key → why the file of a folder may only set it once the file is trusted."""
_HERE = {"checkpointer": "sqlite", "source": "index"}
"""Key → its value that names nothing elsewhere."""
_SECRETS = re.compile(
    r"(?<=://)[^/\s]+(?=@)|(?<=[?&])(?P<name>[\w-]*(?:passw(?:or)?d|key|token|secret)=)[^&#\s'\"]+",
    re.IGNORECASE,
)
"""User names and passwords in addresses, and values of parameters that hold a secret."""
_FIX = "See citeproof.settings for what each key means."

_S = TypeVar("_S", bound=BaseModel)
Key = tuple[str, ...]


@dataclass
class _Source:
    name: str
    trees: Sequence[Any] = ()
    """What it holds: tables within tables."""
    environment: bool = False
    values: dict[Key, Any] = field(default_factory=dict)
    """Keys, such as `("llm", "seed")` → value."""

    def spell(self, *keys: str) -> str:
        """A key as written in this source."""
        return PREFIX + "__".join(keys).upper() if self.environment else ".".join(keys)


def load(
    cls: type[_S], roles: Sequence[str], file: Path | str | None, arguments: Mapping[str, Any]
) -> _S:
    """Read settings; see `Settings.load`.

    Args:
        cls: The settings, a model of sections.
        roles: Allowed names in its section `roles`; each is a section like `llm`.
        file: A TOML file.
        arguments: Sections, or dotted keys.
    """
    known = _known_fields(cls, roles)
    read = [_file(file), _environment(), _arguments(arguments)]
    sections: dict[Key, dict[str, Any]] = {}
    for source in read:
        for tree in source.trees:
            for key, value in _settings(known, source, (), tree):
                source.values[key] = _deepen(source.values.get(key), value)
        own: dict[Key, dict[str, Any]] = {}
        for key, value in source.values.items():
            own.setdefault(key[:-1], {})[key[-1]] = value
        for place, values in own.items():
            sections[place] = _merge(sections.get(place, {}), values)
    merged = sections.pop((), {})
    if file is None:
        _refuse_stranger((), merged, read)
    llm = sections.get(("llm",), {})
    for (section, *role), values in sections.items():
        whole = _merge(llm, values) if role else values
        if file is None:
            _refuse_stranger((section, *role), whole, read)
        if role:
            merged.setdefault(section, {})[role[0]] = whole
        else:
            merged[section] = whole
    try:
        return cls.model_validate(merged, context="load")
    except ValidationError as error:
        failures = error.errors(include_url=False, include_context=False)
    # Raised outside the `except` block, since pydantic's error repeats the input, which may hold an
    # API key.
    told = dict.fromkeys(_explain(failure, read) for failure in failures)
    raise SettingsError("; ".join(told), fix=_FIX)


def refusal(
    cls: type[BaseModel], roles: Sequence[str], values: Any, failures: Sequence[Any]
) -> SettingsError:
    """The error for `Settings(…)` with invalid values.

    Args:
        cls: The settings, a model of sections.
        roles: Allowed names in its section `roles`.
        values: The arguments of `Settings(…)`.
        failures: The errors that pydantic found.
    """
    try:
        if isinstance(values, Mapping):
            dict(_settings(_known_fields(cls, roles), _Source("the arguments"), (), values))
    except SettingsError as error:  # more helpful: names the nearest key, or explains the section
        return error
    short = [failure["loc"][0] for failure in failures if failure["loc"][1:] == ()]
    fix = f"Settings.load({short[0]}=…) accepts short forms too." if short else _FIX
    return SettingsError("; ".join(_explain(failure, []) for failure in failures), fix=fix)


def unknown_name_error(
    what: str, word: str, known: Iterable[str], source: str = "", more: Iterable[str] = ()
) -> SettingsError:
    """The error for an unknown name, with the nearest known name.

    Args:
        what: The kind of thing that is missing, such as `setting`.
        word: The unknown name.
        known: The known names, listed if none is near.
        source: Where the name was found.
        more: Further known names, which are too many to be listed.
    """
    names = list(known)
    near = difflib.get_close_matches(word, [*names, *more], n=1, cutoff=0.5)
    return SettingsError(
        f"There is no {what}" + (f" (from {source})" if source else ""),
        fix=f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}.",
    )


def hide_credentials(text: str) -> str:
    """The text without user names, passwords and keys in addresses."""
    return _SECRETS.sub(lambda found: f"{found['name'] or ''}…", text)


def _file(file: Path | str | None) -> _Source:
    path = Path(FILE if file is None else file)
    if file is None and not is_file(path):
        return _Source(FILE)
    try:
        return _Source(str(path), [tomllib.loads(path.read_text(encoding="utf-8-sig"))])
    except FileNotFoundError:
        fix = "Check the path, or leave it out."
        raise SettingsError(f"There is no settings file {path}", fix=fix) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML", why=str(error)) from None
    except OSError as error:
        raise SettingsError(f"{path} can't be read", why=error.strerror or str(error)) from error


def _environment() -> _Source:
    trees = []
    # Sorted, so CITEPROOF_LLM__MODEL overrides CITEPROOF_LLM.
    for name in sorted(os.environ):
        value: Any = os.environ[name]
        if not name.upper().startswith(PREFIX) or not value:
            continue
        if value.lstrip().startswith("{"):
            try:
                value = json.loads(value)
            except json.JSONDecodeError as error:
                # The error object contains the text, which may hold an API key.
                why = f"{error.msg} at column {error.colno}"
                raise SettingsError(f"{name} is not valid JSON", why=why) from None
        trees.append(_nest(name[len(PREFIX) :].lower().split("__"), value))
    return _Source("the environment", trees, environment=True)


def _arguments(arguments: Mapping[str, Any]) -> _Source:
    given = [key for key in sorted(arguments) if arguments[key] is not None]
    return _Source("the arguments", [_nest(key.split("."), arguments[key]) for key in given])


def _nest(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _deepen(old: Any, new: Any) -> Any:
    """Override a value by another of the same source; tables are merged."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return {**old, **{key: _deepen(old.get(key), value) for key, value in new.items()}}


def _known_fields(cls: type[BaseModel], roles: Sequence[str]) -> dict[Key, FieldInfo]:
    """All settings by their keys."""
    known: dict[Key, FieldInfo] = {}
    for key, info in cls.model_fields.items():
        is_role = key == "roles"
        model = cls.model_fields["llm" if is_role else key].annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            for place in [(key, role) for role in roles] if is_role else [(key,)]:
                known |= {(*place, name): own for name, own in model.model_fields.items()}
        else:
            known[key,] = info
    return known


def _settings(
    known: Mapping[Key, FieldInfo], source: _Source, place: Key, value: Any
) -> Iterator[tuple[Key, Any]]:
    """The settings in a table, or a single value; short forms are expanded.

    Raises:
        SettingsError: A setting is unknown, or a value is given for a section.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True)
    if (info := known.get(place)) is not None:
        may_be_empty = NoneType in get_args(info.annotation)
        is_none = isinstance(value, str) and value.lower() == "none"
        yield place, None if may_be_empty and is_none else value
        return
    below = [key for key in known if key[: len(place)] == place]
    if not below:
        spelled, above = source.spell(*place), place[:-1]
        beside = (key for key in known if key[: len(above)] == above)
        names = dict.fromkeys(source.spell(*key[: len(place)]) for key in beside)
        # CITEPROOF_LLM_MODEL looks like a top-level key, but means CITEPROOF_LLM__MODEL.
        more = () if above else (source.spell(*key) for key in known if len(key) == 2)
        kind = "role" if above == ("roles",) else "setting"
        raise unknown_name_error(f"{kind} {spelled}", spelled, names, source.name, more)
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _settings(known, source, (*place, str(name)), inner)
    elif isinstance(value, str) and (place[0] in _SHORT or len(place) == 2):
        yield (*place, _SHORT.get(place[0], "model")), value
    else:
        raise SettingsError(
            f"{source.spell(*place)} (from {source.name}) is a section, "
            f"not a value of type {type(value).__name__}",
            fix=f"Set the keys inside it, such as {source.spell(*below[0])}.",
        )


def _merge(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Override a section by another; API keys and base URLs stay with the server they belong to."""
    merged = {**base, **more}
    if "base_url" not in more:
        model = more.get("model")
        if isinstance(model, str) and (model == "local" or _WITH_PROVIDER.match(model)):
            merged.pop("base_url", None)
    if "api_key" not in more and (before := _place(base)) and before != _place(merged):
        merged.pop("api_key", None)
    return merged


def _refuse_stranger(place: Key, section: Mapping[str, Any], read: Sequence[_Source]) -> None:
    """Reject a project's file that sends keys or data elsewhere, or chooses a program to run.

    The file comes with the folder, which may be untrusted.

    Raises:
        SettingsError: The user has neither named the file nor trusted it.
    """

    def origin(name: str) -> _Source | None:
        places = [place, ("llm",)]
        found = (s for p in places for s in reversed(read) if s.values.get((*p, name)) is not None)
        return next(found, None)

    own, environment = read[0], read[1]
    known = dict(_ASTRAY)
    if section.get("api_key") is not None and origin("api_key") is environment:
        key = environment.spell(*place, "api_key")
        known["base_url"] = f"a server that would get the key in {key}"
    stated = (name for name in known if section.get(name) not in (None, "", _HERE.get(name)))
    name = next((name for name in stated if origin(name) is own), None)
    if name is None:
        return
    from citeproof.trust import is_trusted

    if not is_trusted(Path(FILE)):
        raise SettingsError(
            f"{FILE} of this folder sets {own.spell(*place, name)}, {known[name]}",
            why="the file comes with the folder, and you have not trusted it",
            fix=f"Look at it. If it is yours, run `citeproof trust` once, or name it each time: "
            f"--config {FILE}.",
        )


def _place(section: Mapping[str, Any]) -> str:
    """The receiver of requests: a server or a provider; empty if neither is set."""
    return str(section.get("base_url") or str(section.get("model") or "").partition(":")[0])


def _explain(failure: Any, read: Sequence[_Source]) -> str:
    path = tuple(str(part) for part in failure["loc"])
    places = [path]
    if path[0] == "roles" and len(path) > 2:  # a role's other keys come from `llm`
        places.append(("llm", *path[2:]))
    blamed = (
        f"{source.spell(*place)}{{}} (from {source.name})"
        for place in places
        for source in reversed(read)
        if source.values.get(place) is not None
    )
    value, reason = failure["input"], str(failure["msg"]).removeprefix("Value error, ")
    secret = "api_key" in path or isinstance(value, SecretStr | dict | list)
    shown = "" if secret else f" = {hide_credentials(repr(value))[:80]}"
    name = next(blamed, f"{'.'.join(path)}{{}}").replace("{}", shown, 1)
    return f"{name} is not allowed: {reason[:1].lower()}{reason[1:]}"
